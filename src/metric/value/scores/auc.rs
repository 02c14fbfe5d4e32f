//! AUC: the probability that a positive person has a higher score than a negative one.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};
use crate::metric::value::scores::influence::{added, n_units};

/// A variance up to this is a rounding error: the scores do not vary.
const NO_VARIANCE: f64 = 1e-30;

/// As [`NO_VARIANCE`], for a difference.
pub(super) const NO_VARIANCE_OF_GAP: f64 = 1e-18;

/// The AUC of some positives over some negatives.
#[derive(Debug, Clone)]
pub(super) struct AucEstimate {
    /// The share of pairs in the right order; ties count as half.
    pub(super) value: f64,
    positives: RankedSide,
    negatives: RankedSide,
}

/// The positives, or the negatives.
#[derive(Debug, Clone)]
struct RankedSide {
    rows: Vec<RankedScore>,
    /// For each row the share of the other side with which it is in the right order, minus the AUC.
    deviations: Vec<f64>,
    n: f64,
    weight: f64,
}

impl RankedSide {
    /// `wins` are twice the units of the other side with which each row is in the right order.
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

    /// The influences of the rows on the AUC.
    fn influences(&self) -> impl Iterator<Item = UnitTerm> {
        self.each().map(|(row, deviation)| added(row, deviation / self.weight))
    }

    /// The share of this side in DeLong's variance; none if it has one row.
    fn delong(&self) -> Option<f64> {
        let squares: f64 = self.each().map(|(row, d)| row.n as f64 * d * d).sum();
        (self.n >= 2.0).then(|| squares / (self.n - 1.0) / self.n)
    }

    /// The influences of the rows, scaled so that their squares sum to DeLong's variance; none if
    /// the side has one row.
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

/// For each row twice the units of weight of `others` below it, plus the units of equal ones. Both
/// lists ascend.
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
        // Whole numbers: the value is rounded only once.
        let won = positives.iter().zip(&wins);
        let won: u128 = won.map(|(row, wins)| u128::from(row.weight) * u128::from(*wins)).sum();
        let value = won as f64 / (2 * u128::from(above) * u128::from(below)) as f64;
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

    /// The smaller number of positives and negatives: persons, or rows.
    pub(super) fn fewest(&self, by_person: bool) -> u64 {
        self.sides().map(|side| side.units(by_person)).into_iter().min().unwrap_or(0)
    }

    /// The influences of the rows.
    pub(super) fn influences(&self) -> impl Iterator<Item = UnitTerm> {
        self.sides().into_iter().flat_map(RankedSide::influences)
    }

    /// The influences of the rows, if each is a person without a weight, scaled so that their
    /// squares sum to DeLong's variance; none if a side has one row.
    pub(super) fn delong_influences(&self) -> Option<Vec<UnitTerm>> {
        let sides = [&self.positives, &self.negatives].map(RankedSide::delong_influences);
        let [Some(positives), Some(negatives)] = sides else { return None };
        Some(positives.chain(negatives).collect())
    }

    /// DeLong's variance, for the normal quantile; none if a side has one row.
    fn delong(&self) -> Option<Spread> {
        let variance = self.positives.delong()? + self.negatives.delong()?;
        Some(Spread { variance, df: f64::INFINITY })
    }

    /// The influences of persons or rows; none if a side has only one of them.
    fn terms(&self, by_person: bool) -> Option<GroupTerms> {
        (self.fewest(by_person) >= 2)
            .then(|| GroupTerms::new(self.influences().collect(), by_person))
    }

    /// DeLong's variance if each row is a person without a weight, else that of the influences;
    /// none if the value is 0 or 1 or does not vary.
    pub(super) fn spread(&self, plain: bool, by_person: bool) -> Option<Spread> {
        let found = if plain { self.delong() } else { self.terms(by_person)?.spread };
        found.filter(|spread| spread.variance > NO_VARIANCE && self.value > 0.0 && self.value < 1.0)
    }

    /// The variance of this AUC minus another; none if it does not vary.
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
        found.filter(|spread| spread.variance > NO_VARIANCE_OF_GAP)
    }
}
