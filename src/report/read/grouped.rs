//! Groups rows that have a key in common.

/// Rows by what they have in common, in the order in which it first appears.
pub(crate) fn grouped<K: PartialEq, T>(rows: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut found: Vec<(K, Vec<T>)> = Vec::new();
    for (key, row) in rows {
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, rows)) => rows.push(row),
            None => found.push((key, vec![row])),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn what_comes_first_stays_first() {
        let found = grouped([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(found, [("b", vec![1, 3]), ("a", vec![2])]);
    }
}
