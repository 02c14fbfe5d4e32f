//! What each unit adds to a value, and how two values are correlated because some units are in
//! both.

use crate::metric::evidence::units::UnitKind;

/// What the units of one kind add.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitInfluence {
    /// The person, or the kind of rows.
    pub(crate) key: u64,
    /// What one of them adds for each unit of weight.
    pub(crate) adds: f64,
    /// The sum of the squares of their weights.
    pub(crate) squares: f64,
    /// How many they are.
    pub(crate) n: u64,
}

/// What all units add, ascending by key; together it is 0, up to rounding.
#[derive(Debug, Clone)]
pub(crate) struct Influence {
    pub(crate) units: Vec<UnitInfluence>,
    /// The same sum of squares if nothing cancelled: a sum far below it is rounding.
    pub(crate) scale: f64,
}

impl Influence {
    /// What each kind of units adds to a value with these derivatives by the cells.
    pub(crate) fn of_kinds(kinds: &[UnitKind], gradient: &[f64]) -> Self {
        let mut all = Influence { units: Vec::new(), scale: 0.0 };
        for UnitKind { key, cells, sums } in kinds {
            let terms = || cells.iter().map(|&(cell, n)| gradient[cell] * n as f64);
            let most: f64 = terms().map(f64::abs).sum();
            let (adds, squares) = (terms().sum(), sums.squares());
            all.scale += most * most * squares;
            all.units.push(UnitInfluence { key: *key, adds, squares, n: sums.people() });
        }
        all
    }

    /// The sum over units of the squares.
    pub(crate) fn squares(&self) -> f64 {
        self.units.iter().map(|of| of.adds * of.adds * of.squares).sum()
    }

    /// The influences on a multiple of the value.
    pub(crate) fn times(mut self, factor: f64) -> Influence {
        self.units.iter_mut().for_each(|unit| unit.adds *= factor);
        Influence { scale: factor * factor * self.scale, ..self }
    }

    /// The influences on this value plus a multiple of another; units of both occur once.
    pub(crate) fn plus(&self, times: f64, other: &Influence) -> Influence {
        let (mut units, mut theirs) = (Vec::new(), other.units.iter().peekable());
        let scaled = |of: &UnitInfluence| UnitInfluence { adds: times * of.adds, ..*of };
        for mine in &self.units {
            while let Some(their) = theirs.next_if(|their| their.key < mine.key) {
                units.push(scaled(their));
            }
            let their = theirs.next_if(|their| their.key == mine.key);
            let adds = mine.adds + their.map_or(0.0, |their| times * their.adds);
            units.push(UnitInfluence { adds, ..*mine });
        }
        units.extend(theirs.map(scaled));
        Influence { units, scale: self.scale + times * times * other.scale }
    }

    /// The correlation of two values, shrunk towards 0 where few units are in both: with m such
    /// units it is multiplied by m / (m + 5).
    pub(crate) fn correlation(&self, other: &Influence) -> f64 {
        let (mut both, mut products, mut theirs) = (0, 0.0, other.units.iter().peekable());
        for mine in &self.units {
            while theirs.next_if(|their| their.key < mine.key).is_some() {}
            if let Some(their) = theirs.next_if(|their| their.key == mine.key) {
                both += mine.n;
                products += mine.adds * their.adds * mine.squares;
            }
        }
        if both == 0 {
            return 0.0;
        }
        let (own, others) = (self.squares(), other.squares());
        if own <= 1e-24 * self.scale || others <= 1e-24 * other.scale {
            return 0.0;
        }
        let both = both as f64;
        (products / (own * others).sqrt()).clamp(-1.0, 1.0) * both / (both + 5.0)
    }
}
