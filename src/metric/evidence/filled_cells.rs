//! Long lists of sums of which few are not zero. In memory the list is empty or complete; a file
//! holds only the cells that are not zero, by their number.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::num::additive::Additive;

/// `N` sums, or none while nothing is counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FilledCells<T, const N: usize>(Vec<T>);

impl<T, const N: usize> Default for FilledCells<T, N> {
    fn default() -> Self {
        FilledCells(Vec::new())
    }
}

impl<T: Copy + Default, const N: usize> FilledCells<T, N> {
    /// All sums, for adding to them.
    #[inline]
    pub(crate) fn fill(&mut self) -> &mut [T] {
        self.0.resize(N, T::default());
        &mut self.0
    }

    /// All sums; empty while nothing is counted.
    pub(crate) fn all(&self) -> &[T] {
        &self.0
    }

    /// One of the sums.
    pub(crate) fn at(&self, cell: usize) -> T {
        self.0.get(cell).copied().unwrap_or_default()
    }
}

impl<T: Additive + Clone, const N: usize> Additive for FilledCells<T, N> {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

impl<T: Default + PartialEq + Serialize, const N: usize> Serialize for FilledCells<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let filled = || self.0.iter().enumerate().filter(|(_, sum)| **sum != T::default());
        (!self.0.is_empty()).then(|| filled().collect::<Vec<_>>()).serialize(serializer)
    }
}

impl<'de, T: Copy + Default + Deserialize<'de>, const N: usize> Deserialize<'de>
    for FilledCells<T, N>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let filled = Option::<Vec<(usize, T)>>::deserialize(deserializer)?;
        let mut cells = Self::default();
        if let Some(filled) = filled {
            let sums = cells.fill();
            for (cell, sum) in filled {
                let place = sums.get_mut(cell);
                *place.ok_or_else(|| D::Error::custom(format!("there is no cell {cell}")))? = sum;
            }
        }
        Ok(cells)
    }
}
