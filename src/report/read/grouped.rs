//! Groups rows that have a key in common.

use std::hash::Hash;

use indexmap::IndexMap;

/// Rows by what they have in common, in the order in which it first appears.
pub(crate) fn grouped<K: Hash + Eq, T>(rows: impl IntoIterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut found: IndexMap<K, Vec<T>> = IndexMap::new();
    rows.into_iter().for_each(|(key, row)| found.entry(key).or_default().push(row));
    found.into_iter().collect()
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
