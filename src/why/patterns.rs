//! Traits whose people switch more often than all other people.
//!
//! An *item* is a column with a level, a *pattern* a set of items with at most one item per column.
//! The search is that of subgroups in recourse ([`itemsets`](crate::num::itemsets)). A level that
//! all people have is not an item.
//!
//! People are divided into two halves by a hash. On the *first* half patterns are searched:
//! candidates are patterns whose rate exceeds that of all others with a Newcombe interval (95 %)
//! above 0. Of candidates with the same people only the one with the fewest items is kept, and
//! among these the one whose text comes first. A pattern *adds* something if its rate is higher
//! than that of the rest of each parent (the pattern without one item; all people, for a single
//! item) by Fisher's test. The first 50 by the lower end of the interval are selected.
//!
//! On the *second* half, which was not used for the selection, each pattern is compared with all
//! others by Fisher's test, with Holm's correction over all selected patterns. So if no trait has a
//! higher rate, the probability that any pattern is confirmed is at most 0.05. Quote the rates and
//! intervals of the second half: on the first half patterns were selected because their rates are
//! high.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::error::Result;
use crate::metric::interval::{ValueInterval, newcombe, wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::num::bits;
use crate::num::decimal::Decimal;
use crate::num::fisher::fisher_exact;
use crate::num::hash::FastMap;
use crate::num::itemsets::{FrequentSearch, ItemIndex, ItemRows, ItemSets, LeastCounts};
use crate::table::why::PatternTrait;
use crate::why::levels::PatternColumn;

/// Patterns that are carried over to the second half.
const CARRIED_AT_MOST: usize = 50;

/// Patterns that are reported.
const REPORTED_AT_MOST: usize = 3;

/// A test below this is significant, with room for rounding.
const SIGNIFICANT: f64 = 0.05 * (1.0 + 1e-9);

/// Level of the interval that makes a candidate.
const CANDIDATE_LEVEL: f64 = 0.95;

/// People that are searched, and patterns that are kept at once.
const MAX_PATTERNS: usize = 5_000_000;

/// The people of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternPeople {
    /// Their columns, in any order.
    pub columns: Vec<PatternColumn>,
    /// Whether each switches.
    pub switched: Vec<bool>,
    /// Whether each is of the second half.
    pub second: Vec<bool>,
}

/// How patterns are searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PatternSettings {
    /// Smallest share of the people in a pattern.
    pub support: Decimal,
    /// Largest number of items.
    pub longest: usize,
    /// People that a rate needs; twice as many are needed in a pattern.
    pub min_denominator: u64,
    /// Level of the intervals.
    pub level: f64,
}

/// Cases of people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PatternCounts {
    /// People.
    pub n: u64,
    /// The number of people who switch.
    pub k: u64,
}

impl PatternCounts {
    fn minus(self, other: Self) -> Self {
        PatternCounts { n: self.n - other.n, k: self.k - other.k }
    }

    fn rate(self) -> Rate {
        Rate { numerator: self.k, denominator: self.n, empty: Undefined::EmptyGroup }
    }

    /// Whether this rate is higher than the rate of others, and not by chance.
    fn exceeds(self, others: Self) -> bool {
        let cross = |a: Self, b: Self| u128::from(a.k) * u128::from(b.n);
        self.n > 0
            && others.n > 0
            && cross(self, others) > cross(others, self)
            && fisher_exact([self.k, others.k], [self.n, others.n]) <= SIGNIFICANT
    }
}

/// A pattern on one half.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatternHalf {
    /// The people of the pattern.
    pub own: PatternCounts,
    /// All others of the half.
    pub others: PatternCounts,
    /// Wilson's interval of the rate; none without people.
    pub rate: Option<ValueInterval>,
    /// Newcombe's interval of the excess over the others; none if either side has no people.
    pub excess: Option<ValueInterval>,
    /// Fisher's p against the others.
    pub p: f64,
}

impl PatternHalf {
    fn new(own: PatternCounts, all: PatternCounts, z: f64) -> Self {
        let others = all.minus(own);
        PatternHalf {
            own,
            others,
            rate: wilson(own.rate(), z),
            excess: newcombe(own.rate(), others.rate(), z),
            p: fisher_exact([own.k, others.k], [own.n, others.n]),
        }
    }
}

/// A pattern that was carried over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CarriedPattern {
    /// `a = x, b = y`, columns by their bytes.
    pub text: String,
    /// Its traits.
    pub traits: Vec<PatternTrait>,
    /// Both halves.
    pub halves: [PatternHalf; 2],
    /// Holm's p on the second half.
    pub p_holm: f64,
    /// Whether it is confirmed.
    pub confirmed: bool,
    /// Whether it adds something on the second half too.
    pub adds: bool,
    /// The rank among the reported patterns, from 1.
    pub place: Option<usize>,
}

/// The result of the search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PatternFindings {
    /// Everybody, in both halves, with the interval of the rate.
    pub everybody: [(PatternCounts, Option<ValueInterval>); 2],
    /// People that a pattern needs.
    pub least: u64,
    /// Patterns with at least `least` people.
    pub frequent: usize,
    /// The number of patterns whose excess is above 0 on the first half.
    pub candidates: usize,
    /// The selected patterns, by rank.
    pub carried: Vec<CarriedPattern>,
}

/// A pattern on its way through the first half.
struct PatternCandidate {
    set: usize,
    /// Lower end of the excess in units of 1e-12.
    lower: i64,
    text: String,
}

/// The state of a search.
struct PatternSearch<'a> {
    items: &'a ItemIndex<'a, PatternColumn>,
    rows: &'a ItemRows,
    sets: &'a ItemSets,
    /// The place of each set by its items.
    places: FastMap<&'a [u32], usize>,
    /// The people who switch.
    switched: &'a [u64],
    border: usize,
    all: [PatternCounts; 2],
}

impl PatternSearch<'_> {
    fn counts(&self, bits_of: &[u64]) -> [PatternCounts; 2] {
        let part = |own: &[u64], switched: &[u64]| PatternCounts {
            n: u64::from(bits::count(own)),
            k: u64::from(bits::count_both(own, switched)),
        };
        let (first, second) = bits_of.split_at(self.border);
        let (of_first, of_second) = self.switched.split_at(self.border);
        [part(first, of_first), part(second, of_second)]
    }

    fn people(&self, items: &[u32]) -> Vec<u64> {
        let mut people = Vec::new();
        self.rows.rows_with_all(items, &mut people);
        people
    }

    fn text(&self, items: &[u32]) -> String {
        items.iter().map(|&item| self.items.text(item)).collect::<Vec<_>>().join(", ")
    }

    /// Whether a pattern has a higher rate than the rest of each parent on a half.
    fn adds(&self, set: usize, half: usize, counts: &[[PatternCounts; 2]]) -> bool {
        let (items, own) = (self.sets.items_of(set), counts[set][half]);
        if items.len() == 1 {
            return own.exceeds(self.all[half].minus(own));
        }
        (0..items.len()).all(|without| {
            let mut parent = items.to_vec();
            parent.remove(without);
            // A person who holds a pattern holds its parents, so these are frequent too.
            let of_parent =
                self.places.get(parent.as_slice()).map_or(own, |&place| counts[place][half]);
            own.exceeds(of_parent.minus(own))
        })
    }
}

/// Holm's p-values.
pub(super) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let (mut adjusted, mut largest) = (vec![1.0; p.len()], 0.0_f64);
    for (i, &at) in order.iter().enumerate() {
        largest = largest.max(((p.len() - i) as f64 * p[at]).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

/// Finds the patterns of people, and confirms them.
///
/// # Errors
/// There are more patterns than may be kept.
pub(crate) fn find_patterns(
    people: &PatternPeople,
    settings: &PatternSettings,
) -> Result<PatternFindings> {
    let z = z_of_level(settings.level);
    with_search(people, settings, |search, counts, least| {
        let (n_candidates, carried) = carry_over(search, counts);
        let everybody = search.all.map(|counts| (counts, wilson(counts.rate(), z)));
        let carried = confirm(search, counts, &carried, (z, settings.min_denominator));
        PatternFindings {
            everybody,
            least,
            frequent: search.sets.len(),
            candidates: n_candidates,
            carried,
        }
    })
}

/// Passes on all frequent patterns of people: the search, their counts on both halves, and how many
/// people a pattern needs.
fn with_search<T>(
    people: &PatternPeople,
    settings: &PatternSettings,
    then: impl FnOnce(&PatternSearch<'_>, &[[PatternCounts; 2]], u64) -> T,
) -> Result<T> {
    let n = people.switched.len() as u64;
    let by_support = u64::try_from(settings.support.ceil_of(n)).unwrap_or(u64::MAX);
    let least = by_support.max(2 * settings.min_denominator);
    // The rows of the second half start at a new word.
    let of_half = |second: bool| {
        (0_u32..)
            .zip(&people.second)
            .filter(move |(_, half)| **half == second)
            .map(|(row, _)| Some(row))
    };
    let mut rows: Vec<Option<u32>> = of_half(false).collect();
    rows.resize(rows.len().next_multiple_of(64), None);
    let border = rows.len() / 64;
    rows.extend(of_half(true));
    let mut switched = vec![0; rows.len().div_ceil(64)];
    let switches = |row: &Option<u32>| row.is_some_and(|row| people.switched[row as usize]);
    rows.iter()
        .enumerate()
        .filter(|(_, row)| switches(row))
        .for_each(|(i, _)| bits::set(&mut switched, i));

    let items = ItemIndex::new(&people.columns);
    let least_count = LeastCounts::Together(u32::try_from(least).unwrap_or(u32::MAX));
    let item_rows = ItemRows::new(&items, &rows, border * 64, least_count);
    let is_of_some =
        |item: &u32| item_rows.rows_with(*item).is_some_and(|set| u64::from(bits::count(set)) < n);
    let frequent: Vec<u32> = item_rows.frequent().into_iter().filter(is_of_some).collect();
    let search = FrequentSearch {
        items: &items,
        rows: &item_rows,
        border,
        least: least_count,
        max_items: settings.longest.max(1),
        max_results: MAX_PATTERNS,
        within: None,
    };
    let sets = search.sets(&frequent, "patterns")?;
    let total = |half: bool| {
        let own = || people.second.iter().zip(&people.switched).filter(move |(s, _)| **s == half);
        PatternCounts { n: own().count() as u64, k: own().filter(|(_, k)| **k).count() as u64 }
    };
    let all = [total(false), total(true)];
    let search = PatternSearch {
        items: &items,
        rows: &item_rows,
        sets: &sets,
        places: (0..sets.len()).map(|set| (sets.items_of(set), set)).collect(),
        switched: &switched,
        border,
        all,
    };
    let counts: Vec<[PatternCounts; 2]> = (0..sets.len())
        .into_par_iter()
        .map(|set| search.counts(&search.people(sets.items_of(set))))
        .collect();
    Ok(then(&search, &counts, least))
}

/// The text of every frequent pattern, its counts on both halves and the lower end of the interval
/// of its excess on the first half.
#[cfg(test)]
pub(super) fn frequent_patterns(
    people: &PatternPeople,
    settings: &PatternSettings,
) -> Vec<(String, [PatternCounts; 2], Option<f64>)> {
    let z = z_of_level(CANDIDATE_LEVEL);
    let all = with_search(people, settings, |search, counts, _| {
        let of_set = |set: usize| {
            let own = counts[set];
            let lower = newcombe(own[0].rate(), search.all[0].minus(own[0]).rate(), z);
            (search.text(search.sets.items_of(set)), own, lower.map(|interval| interval.lo))
        };
        (0..search.sets.len()).map(of_set).collect()
    });
    all.unwrap_or_default()
}

/// The number of candidates of the first half, and the sets that are carried over, by rank.
fn carry_over(
    search: &PatternSearch<'_>,
    counts: &[[PatternCounts; 2]],
) -> (usize, Vec<PatternCandidate>) {
    let z = z_of_level(CANDIDATE_LEVEL);
    let candidate = |set: usize| {
        let (own, others) = (counts[set][0], search.all[0].minus(counts[set][0]));
        let lower = newcombe(own.rate(), others.rate(), z)?.lo;
        (lower > 0.0).then(|| PatternCandidate {
            set,
            lower: (lower * 1e12).round() as i64,
            text: search.text(search.sets.items_of(set)),
        })
    };
    let mut candidates: Vec<PatternCandidate> =
        (0..search.sets.len()).into_par_iter().filter_map(candidate).collect();
    let items = |c: &PatternCandidate| search.sets.items_of(c.set).len();
    let shorter = |a: &PatternCandidate, b: &PatternCandidate| {
        items(a).cmp(&items(b)).then_with(|| a.text.as_bytes().cmp(b.text.as_bytes()))
    };
    // The first of those with the same people.
    let mut of_people: FastMap<Vec<u64>, usize> = FastMap::default();
    for (i, candidate) in candidates.iter().enumerate() {
        let people = search.people(search.sets.items_of(candidate.set));
        let best = of_people.entry(people).or_insert(i);
        if shorter(candidate, &candidates[*best]) == Ordering::Less {
            *best = i;
        }
    }
    let mut stays = vec![false; candidates.len()];
    of_people.into_values().for_each(|i| stays[i] = true);
    let n = candidates.len();
    let mut stays = stays.into_iter();
    candidates.retain(|_| stays.next() == Some(true));
    candidates.sort_by(|a, b| {
        let n_people = |c: &PatternCandidate| counts[c.set][0].n;
        b.lower.cmp(&a.lower).then(n_people(b).cmp(&n_people(a))).then_with(|| shorter(a, b))
    });
    candidates.retain(|candidate| search.adds(candidate.set, 0, counts));
    candidates.truncate(CARRIED_AT_MOST);
    (n, candidates)
}

/// Tests the selected patterns on the second half.
fn confirm(
    search: &PatternSearch<'_>,
    counts: &[[PatternCounts; 2]],
    carried: &[PatternCandidate],
    (z, min_denominator): (f64, u64),
) -> Vec<CarriedPattern> {
    let halves: Vec<[PatternHalf; 2]> = carried
        .iter()
        .map(|c| [0, 1].map(|half| PatternHalf::new(counts[c.set][half], search.all[half], z)))
        .collect();
    let p: Vec<f64> = halves.iter().map(|[_, second]| second.p).collect();
    let adjusted = holm(&p);
    let mut reported_people: Vec<u64> = vec![0; search.switched.len()];
    let mut n_reported = 0;
    let mut patterns = Vec::with_capacity(carried.len());
    for ((candidate, halves), p_holm) in carried.iter().zip(halves).zip(adjusted) {
        let items = search.sets.items_of(candidate.set);
        let second = &halves[1];
        let higher = u128::from(second.own.k) * u128::from(second.others.n)
            > u128::from(second.others.k) * u128::from(second.own.n);
        let confirmed = p_holm <= SIGNIFICANT && higher && second.own.n >= min_denominator;
        let adds = search.adds(candidate.set, 1, counts);
        let mut place = None;
        if confirmed && adds && n_reported < REPORTED_AT_MOST {
            let own = search.people(items);
            let both: Vec<u64> = own.iter().zip(&reported_people).map(|(a, b)| a | b).collect();
            let outside = |people: &[u64]| search.all[1].minus(search.counts(people)[1]);
            let new = search.counts(&both)[1].minus(search.counts(&reported_people)[1]);
            if new.exceeds(outside(&both)) {
                n_reported += 1;
                place = Some(n_reported);
                reported_people = both;
            }
        }
        let of_item =
            |&item: &u32| search.items.column(item).trait_of(search.items.level(item) as usize);
        patterns.push(CarriedPattern {
            text: candidate.text.clone(),
            traits: items.iter().map(of_item).collect(),
            halves,
            p_holm,
            confirmed,
            adds,
            place,
        });
    }
    patterns
}
