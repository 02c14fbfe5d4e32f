//! The smallest and the largest of some numbers.

use serde::{Deserialize, Serialize};

use crate::num::additive::Additive;

/// The smallest and the largest of numbers, of which there is at least one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ValueRange(pub f64, pub f64);

impl ValueRange {
    /// The range of numbers; none without numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut range = None;
        numbers.into_iter().for_each(|x| range.absorb(&Some(ValueRange(x, x))));
        range
    }
}

impl Additive for ValueRange {
    fn absorb(&mut self, other: &Self) {
        *self = ValueRange(self.0.min(other.0), self.1.max(other.1));
    }
}

#[cfg(test)]
mod tests {
    use super::ValueRange;

    #[test]
    fn ends() {
        assert_eq!(ValueRange::of([]), None);
        assert_eq!(ValueRange::of([2.0, -1.0, 5.0, 0.0]), Some(ValueRange(-1.0, 5.0)));
    }
}
