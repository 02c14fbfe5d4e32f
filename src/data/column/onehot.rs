//! One-hot groups: columns of 0 and 1 of which in almost every row exactly one is set.
//!
//! Columns whose names begin alike are tried first (`region_east`, `region_west`), then neighbours
//! in the file, then pairs. A column belongs to one group.

/// In at least this share of rows exactly one column of a group is set.
const EXACTLY_ONE: f64 = 0.99;

/// Smallest number of rows that tell.
const ROWS_AT_LEAST: usize = 20;

/// Largest number of neighbours that are tried together.
const LONGEST_RUN: usize = 60;

/// Largest number of columns among which pairs are tried.
const PAIRS_AMONG: usize = 100;

/// A column with its rows that are set, a bit each.
struct BitColumn {
    place: usize,
    bits: Vec<u64>,
}

/// A group: its name, and the positions of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneHotGroup {
    /// What the names of the columns have in common; empty where that is nothing.
    pub(crate) name: String,
    /// Positions among the columns, ascending.
    pub(crate) columns: Vec<usize>,
}

/// The one-hot groups among columns, each with a name and whether a row is set; none for columns
/// that hold other values.
pub(crate) fn onehot_groups(columns: &[(&str, Option<Vec<bool>>)]) -> Vec<OneHotGroup> {
    let n = columns.iter().flat_map(|(_, bits)| bits).map(Vec::len).next().unwrap_or(0);
    if n < ROWS_AT_LEAST {
        return Vec::new();
    }
    let packed = |bits: &Vec<bool>| -> Vec<u64> {
        let word = |bits: &[bool]| {
            bits.iter().rev().fold(0_u64, |word, &bit| (word << 1) | u64::from(bit))
        };
        bits.chunks(64).map(word).collect()
    };
    let candidates = columns.iter().enumerate();
    let mut free: Vec<BitColumn> = candidates
        .filter_map(|(place, (_, bits))| Some(BitColumn { place, bits: packed(bits.as_ref()?) }))
        .collect();
    let mut groups = Vec::new();
    let name = |place: usize| columns[place].0;
    // By the names, the longest common beginnings first.
    let mut heads: Vec<&str> =
        free.iter().flat_map(|column| heads_of(name(column.place))).collect();
    heads.sort_unstable_by_key(|head| (std::cmp::Reverse(head.len()), *head));
    heads.dedup();
    for head in heads {
        let is_mine = |column: &&BitColumn| name(column.place).starts_with(head);
        let mine: Vec<&BitColumn> = free.iter().filter(is_mine).collect();
        if is_group(&mine, n) {
            let places: Vec<usize> = mine.iter().map(|column| column.place).collect();
            take(&mut groups, &mut free, columns, &places);
        }
    }
    // Neighbours.
    let mut start = 0;
    while start < free.len() {
        let longest = free.len().min(start + LONGEST_RUN);
        let end = (start + 2..=longest).find(|&end| {
            let run: Vec<&BitColumn> = free[start..end].iter().collect();
            is_group(&run, n)
        });
        match end {
            Some(end) => {
                let places = free[start..end].iter().map(|column| column.place).collect::<Vec<_>>();
                take(&mut groups, &mut free, columns, &places);
            }
            None => start += 1,
        }
    }
    if free.len() <= PAIRS_AMONG {
        let pair = |free: &[BitColumn]| {
            let pairs = (0..free.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
            let mut pairs = pairs.filter(|&(j, i)| is_group(&[&free[j], &free[i]], n));
            pairs.next().map(|(j, i)| vec![free[j].place, free[i].place])
        };
        while let Some(places) = pair(&free) {
            take(&mut groups, &mut free, columns, &places);
        }
    }
    groups.sort_by_key(|group: &OneHotGroup| group.columns[0]);
    groups
}

/// The beginnings of a name up to each sign that is no letter or digit, with it.
fn heads_of(name: &str) -> impl Iterator<Item = &str> {
    let ends = name.char_indices().filter(|(at, c)| *at > 0 && !c.is_alphanumeric());
    ends.map(|(at, c)| &name[..at + c.len_utf8()])
}

/// Moves columns into a group.
fn take(
    groups: &mut Vec<OneHotGroup>,
    free: &mut Vec<BitColumn>,
    columns: &[(&str, Option<Vec<bool>>)],
    places: &[usize],
) {
    free.retain(|column| !places.contains(&column.place));
    let first = columns[places[0]].0;
    let is_common = |end: &usize| {
        let head = &first[..*end];
        places.iter().all(|&place| columns[place].0.starts_with(head))
    };
    let ends = first.char_indices().map(|(at, _)| at).filter(is_common);
    let common = ends.max().map_or("", |end| &first[..end]);
    let name = common.trim_end_matches(|c: char| !c.is_alphanumeric());
    groups.push(OneHotGroup { name: name.to_owned(), columns: places.to_vec() });
}

/// Whether in almost every row exactly one of two or more columns is set.
fn is_group(columns: &[&BitColumn], n: usize) -> bool {
    if columns.len() < 2 {
        return false;
    }
    let mut exactly_one = 0;
    for word in 0..columns[0].bits.len() {
        let (mut once, mut twice) = (0_u64, 0_u64);
        for column in columns {
            twice |= once & column.bits[word];
            once |= column.bits[word];
        }
        exactly_one += (once & !twice).count_ones() as usize;
    }
    exactly_one as f64 >= EXACTLY_ONE * n as f64
}

#[cfg(test)]
mod tests {
    use super::onehot_groups;

    /// Whether row `i` of 200 is set.
    fn column(is_set: impl Fn(usize) -> bool) -> Option<Vec<bool>> {
        Some((0..200).map(is_set).collect())
    }

    #[test]
    fn groups_are_found_by_names_neighbours_and_pairs() {
        let columns = [
            ("female", column(|i| i % 2 == 0)),
            ("region_east", column(|i| i % 3 == 0)),
            ("age", None),
            ("region_west", column(|i| i % 3 == 1 && i != 1)),
            ("owner", column(|i| i % 5 == 0)),
            ("region_north", column(|i| i % 3 == 2)),
            ("male", column(|i| i % 2 == 1)),
            ("x", column(|i| i % 7 < 3)),
            ("y", column(|i| i % 7 == 3 || i % 7 == 4)),
            ("z", column(|i| i % 7 > 4)),
            // Set together in too many rows.
            ("tall", column(|i| i % 4 < 2)),
            ("small", column(|i| i % 4 >= 2 || i < 5)),
        ];
        let groups = onehot_groups(&columns);
        let found: Vec<(&str, &[usize])> =
            groups.iter().map(|group| (group.name.as_str(), group.columns.as_slice())).collect();
        let expected: [(&str, &[usize]); 3] =
            [("", &[0, 6]), ("region", &[1, 3, 5]), ("", &[7, 8, 9])];
        assert_eq!(found, expected);
    }

    #[test]
    fn few_rows_tell_nothing() {
        let few = |bit: bool| Some(vec![bit; 10]);
        assert!(onehot_groups(&[("a", few(true)), ("b", few(false))]).is_empty());
        assert!(onehot_groups(&[]).is_empty());
    }
}
