//! AUC: how often a positive person scores above a negative one.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};
use crate::metric::value::scores::influence::{added, n_units};

/// A variance up to this is that of scores that do not vary, but for rounding.
const NO_VARIANCE: f64 = 1e-30;

/// As [`NO_VARIANCE`], for a difference.
pub(super) const NO_VARIANCE_OF_GAP: f64 = 1e-18;

/// The AUC of some positives over some negatives.
#[derive(Debug, Clone)]
pub(super) struct AucEstimate {
    /// The share of pairs that are ordered right; ties are half.
    pub(super) value: f64,
    positives: RankedSide,
    negatives: RankedSide,
}

/// The positives, or the negatives.
#[derive(Debug, Clone)]
struct RankedSide {
    rows: Vec<RankedScore>,
    /// For each row the share of the other side that it is ordered right against, minus the AUC.
    deviations: Vec<f64>,
    n: f64,
    weight: f64,
}

impl RankedSide {
    /// `wins` are twice the units of the other side that each is ordered right against.
    fn new(rows: Vec<RankedScore>, wins: &[u64], others: u64, value: f64) -> Self {
        let below = 2.0 * others as f64;
        RankedSide {
            deviations: wins.iter().map(|&wins| wins as f64 / below - value).collect(),
            n: rows.iter().map(|row| row.n as f64).sum(),
            weight: units(&rows) as f64,
            rows,
        }
    }

    fn each(&self) -> impl Iterator<Item = (&RankedScore, f64)> {
        self.rows.iter().zip(self.deviations.iter().copied())
    }

    /// What the rows add to the AUC.
    fn influences(&self) -> impl Iterator<Item = UnitTerm> {
        self.each().map(|(row, deviation)| added(row, deviation / self.weight))
    }

    /// The share of this side in DeLong's variance; none of one row.
    fn delong(&self) -> Option<f64> {
        let squares: f64 = self.each().map(|(row, d)| row.n as f64 * d * d).sum();
        (self.n >= 2.0).then(|| squares / (self.n - 1.0) / self.n)
    }

    /// What the rows add, such that the squares sum to DeLong's variance; none of one row.
    fn delong_influences(&self) -> Option<impl Iterator<Item = UnitTerm>> {
        let scale = (self.n * (self.n - 1.0)).sqrt();
        let each = move |(row, d): (&RankedScore, f64)| added(row, d / scale);
        (self.n >= 2.0).then(|| self.each().map(each))
    }

    fn units(&self, by_person: bool) -> u64 {
        n_units(self.rows.iter(), by_person)
    }
}

fn units(rows: &[RankedScore]) -> u64 {
    rows.iter().map(|row| row.weight).sum()
}

/// For each row twice the units of weight of others below it, plus those that are equal. Both
/// ascend.
fn twice_below(rows: &[RankedScore], others: &[RankedScore]) -> Vec<u64> {
    let (mut at, mut below, mut found) = (0, 0, Vec::with_capacity(rows.len()));
    for ties in rows.chunk_by(|a, b| a.place == b.place) {
        let place = ties[0].place;
        while let Some(other) = others.get(at).filter(|other| other.place < place) {
            below += other.weight;
            at += 1;
        }
        let equal = others[at..].iter().take_while(|other| other.place == place);
        let equal: u64 = equal.map(|other| other.weight).sum();
        found.extend(ties.iter().map(|_| 2 * below + equal));
    }
    found
}

impl AucEstimate {
    /// The AUC of positives and negatives, both ascending; none without positives or without
    /// negatives.
    pub(super) fn new(positives: Vec<RankedScore>, negatives: Vec<RankedScore>) -> Option<Self> {
        let (above, below) = (units(&positives), units(&negatives));
        if above == 0 || below == 0 {
            return None;
        }
        let wins = twice_below(&positives, &negatives);
        let losses = twice_below(&negatives, &positives);
        // Whole numbers: the value is rounded once.
        let all = positives.iter().zip(&wins);
        let all: u128 = all.map(|(row, wins)| u128::from(row.weight) * u128::from(*wins)).sum();
        let value = all as f64 / (2 * u128::from(above) * u128::from(below)) as f64;
        let kept: Vec<u64> = losses.iter().map(|losses| 2 * above - losses).collect();
        Some(AucEstimate {
            value,
            positives: RankedSide::new(positives, &wins, below, value),
            negatives: RankedSide::new(negatives, &kept, above, value),
        })
    }

    fn sides(&self) -> [&RankedSide; 2] {
        [&self.positives, &self.negatives]
    }

    /// Positives or negatives, whichever are fewer: persons, or rows.
    pub(super) fn fewest(&self, by_person: bool) -> u64 {
        self.sides().map(|side| side.units(by_person)).into_iter().min().unwrap_or(0)
    }

    /// What each row adds.
    pub(super) fn influences(&self) -> impl Iterator<Item = UnitTerm> {
        self.sides().into_iter().flat_map(RankedSide::influences)
    }

    /// What each row adds, where each is a person without a weight, such that the squares sum to
    /// DeLong's variance; none where a side has one row.
    pub(super) fn delong_influences(&self) -> Option<Vec<UnitTerm>> {
        let both = [&self.positives, &self.negatives].map(RankedSide::delong_influences);
        let [Some(positives), Some(negatives)] = both else { return None };
        Some(positives.chain(negatives).collect())
    }

    /// DeLong's variance, for the normal quantile; none where a side has one row.
    fn delong(&self) -> Option<Spread> {
        let variance = self.positives.delong()? + self.negatives.delong()?;
        Some(Spread { variance, df: f64::INFINITY })
    }

    /// What persons or rows add; none where a side has only one of them, which says nothing about
    /// others.
    fn terms(&self, by_person: bool) -> Option<GroupTerms> {
        (self.fewest(by_person) >= 2)
            .then(|| GroupTerms::new(self.influences().collect(), by_person))
    }

    /// The variance where each row is a person without a weight, else that of influences; none
    /// where the value is 0 or 1 or does not vary.
    pub(super) fn spread(&self, plain: bool, by_person: bool) -> Option<Spread> {
        let found = if plain { self.delong() } else { self.terms(by_person)?.spread };
        found.filter(|of| of.variance > NO_VARIANCE && self.value > 0.0 && self.value < 1.0)
    }

    /// The variance of this minus another; none where it does not vary.
    pub(super) fn spread_of_gap(
        &self,
        other: &Self,
        plain: bool,
        by_person: bool,
    ) -> Option<Spread> {
        let found = if plain {
            let variance = self.delong()?.variance + other.delong()?.variance;
            Some(Spread { variance, df: f64::INFINITY })
        } else {
            self.terms(by_person)?.gap(&other.terms(by_person)?)
        };
        found.filter(|of| of.variance > NO_VARIANCE_OF_GAP)
    }
}
