//! One-hot groups: columns of 0 and 1 where almost every row has exactly one of them set.
//!
//! Columns whose names begin alike are tried first (`region_east`, `region_west`), then neighbours
//! in the file, then pairs. A column belongs to one group.

use crate::data::column::roles::ROWS_AT_LEAST;

/// The least share of rows in which exactly one column of a group is set.
const EXACTLY_ONE: f64 = 0.99;

/// Largest number of neighbours that are tried together.
const LONGEST_RUN: usize = 60;

/// Largest number of columns among which pairs are tried.
const PAIRS_AMONG: usize = 100;

/// A group: its name, and the positions of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneHotGroup {
    /// What the names of the columns have in common; empty where that is nothing.
    pub(crate) name: String,
    /// Positions among the columns, ascending.
    pub(crate) columns: Vec<usize>,
}

impl OneHotGroup {
    /// A name for the group at a position among all groups: what its columns have in common, if
    /// that is free.
    pub(crate) fn free_name(&self, at: usize, is_free: impl Fn(&str) -> bool) -> String {
        let own = [self.name.clone(), format!("{}_group", self.name)];
        let own = own.into_iter().filter(|_| !self.name.is_empty());
        let numbered = (at + 1..).map(|number| format!("onehot_{number}"));
        own.chain(numbered).find(|name| is_free(name)).unwrap_or_default()
    }
}

/// The one-hot groups among columns, each with a name and whether a row is set; none for columns
/// that hold other values.
pub(crate) fn onehot_groups(columns: &[(&str, Option<Vec<bool>>)]) -> Vec<OneHotGroup> {
    let n = columns.iter().flat_map(|(_, bits)| bits).map(Vec::len).next().unwrap_or(0);
    let packed = |bits: &Vec<bool>| -> Vec<u64> {
        let word = |bits: &[bool]| {
            bits.iter().rev().fold(0_u64, |word, &bit| (word << 1) | u64::from(bit))
        };
        bits.chunks(64).map(word).collect()
    };
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let bits: Vec<Vec<u64>> =
        columns.iter().map(|(_, bits)| bits.as_ref().map(packed).unwrap_or_default()).collect();
    let free = (0..columns.len()).filter(|&place| columns[place].1.is_some()).collect();
    let is_group = |places: &[usize]| is_almost_group(&bits, places, n);
    find_groups(&names, free, n as u64, is_group)
}

/// The one-hot groups among columns with these names, of which the `free` ones hold bits, in this
/// number of rows; `is_group` says whether two or more columns are a group.
pub(crate) fn find_groups(
    names: &[&str],
    mut free: Vec<usize>,
    rows: u64,
    is_group: impl Fn(&[usize]) -> bool,
) -> Vec<OneHotGroup> {
    if rows < ROWS_AT_LEAST as u64 {
        return Vec::new();
    }
    let is_group = |places: &[usize]| places.len() > 1 && is_group(places);
    let mut groups = Vec::new();
    // By the names, the longest common beginnings first.
    let mut heads: Vec<&str> = free.iter().flat_map(|&place| heads_of(names[place])).collect();
    heads.sort_unstable_by_key(|head| (std::cmp::Reverse(head.len()), *head));
    heads.dedup();
    for head in heads {
        let is_mine = |place: &usize| names[*place].starts_with(head);
        let mine: Vec<usize> = free.iter().copied().filter(is_mine).collect();
        if is_group(&mine) {
            take(&mut groups, &mut free, names, &mine);
        }
    }
    // Neighbours.
    let mut start = 0;
    while start < free.len() {
        let longest = free.len().min(start + LONGEST_RUN);
        match (start + 2..=longest).find(|&end| is_group(&free[start..end])) {
            Some(end) => {
                let places = free[start..end].to_vec();
                take(&mut groups, &mut free, names, &places);
            }
            None => start += 1,
        }
    }
    if free.len() <= PAIRS_AMONG {
        let pair = |free: &[usize]| {
            let pairs = (0..free.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
            pairs.map(|(j, i)| [free[j], free[i]]).find(|pair| is_group(pair))
        };
        while let Some(places) = pair(&free) {
            take(&mut groups, &mut free, names, &places);
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
fn take(groups: &mut Vec<OneHotGroup>, free: &mut Vec<usize>, names: &[&str], places: &[usize]) {
    free.retain(|place| !places.contains(place));
    let first = names[places[0]];
    let is_common = |end: &usize| {
        let head = &first[..*end];
        places.iter().all(|&place| names[place].starts_with(head))
    };
    let ends = first.char_indices().map(|(at, _)| at).filter(is_common);
    let common = ends.max().map_or("", |end| &first[..end]);
    let name = common.trim_end_matches(|c: char| !c.is_alphanumeric());
    groups.push(OneHotGroup { name: name.to_owned(), columns: places.to_vec() });
}

/// Whether in almost every of `n` rows exactly one of some columns is set.
fn is_almost_group(bits: &[Vec<u64>], places: &[usize], n: usize) -> bool {
    let exactly_one: usize = (0..n.div_ceil(64))
        .map(|word| {
            let (once, twice) = places.iter().fold((0_u64, 0_u64), |(once, twice), &place| {
                let set = bits[place][word];
                (once | set, twice | once & set)
            });
            (once & !twice).count_ones() as usize
        })
        .sum();
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
