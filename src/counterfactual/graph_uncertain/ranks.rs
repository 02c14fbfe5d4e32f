//! Maps a value of one cell of people to the value with the same rank in another cell.
//!
//! Choice: a distribution is its distinct values with weights. The position of a value is linear
//! through one knot per distinct value. `tie` gives the place of the knot in its block of equal
//! values: 1/2 is the middle (the midrank), and a uniform number moves the right share of the
//! block. Outside of the values the image of the end moves by the excess, so that noise is kept.

/// The distinct values of a cell, ascending, with the sums of their weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RankTable {
    values: Vec<f64>,
    /// The cumulative weight at each value.
    ends: Vec<f64>,
}

impl RankTable {
    /// The ranks of values with whole weights above 0, in any order.
    pub(crate) fn new(mut sample: Vec<(f64, u32)>) -> Self {
        sample.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut table = RankTable::default();
        let mut end = 0.0;
        for (value, weight) in sample {
            end += f64::from(weight);
            if table.values.last() == Some(&value) {
                table.ends.pop();
            } else {
                table.values.push(value);
            }
            table.ends.push(end);
        }
        table
    }

    /// The bytes that it takes.
    pub(crate) fn memory(&self) -> usize {
        16 * self.values.len()
    }

    fn weight(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }

    /// The weight before value `j`.
    fn start(&self, j: usize) -> f64 {
        if j == 0 { 0.0 } else { self.ends[j - 1] }
    }

    /// The position of value `j`.
    fn knot(&self, j: usize, tie: f64) -> f64 {
        let start = self.start(j);
        start + 0.5 + tie * (self.ends[j] - start - 1.0)
    }

    /// The value at a position.
    fn at(&self, position: f64) -> f64 {
        // The first value whose block ends at the position or later.
        let j = self.ends.partition_point(|end| end - 0.5 < position).min(self.ends.len() - 1);
        let first = self.start(j) + 0.5;
        if j == 0 || position >= first {
            return self.values[j];
        }
        let last = self.ends[j - 1] - 0.5;
        let part = (position - last) / (first - last);
        self.values[j - 1] + part * (self.values[j] - self.values[j - 1])
    }

    /// The value of `to` at the rank that `value` has here; both hold values.
    pub(crate) fn image(&self, to: &RankTable, value: f64, tie: f64) -> f64 {
        let of_position = |position: f64| to.at(position * to.weight() / self.weight());
        let (first, last) = (self.values[0], self.values[self.values.len() - 1]);
        if value <= first {
            return of_position(self.knot(0, tie)) + (value - first);
        }
        if value >= last {
            return of_position(self.knot(self.values.len() - 1, tie)) + (value - last);
        }
        let j = self.values.partition_point(|&x| x <= value) - 1;
        let (low, high) = (self.knot(j, tie), self.knot(j + 1, tie));
        let part = (value - self.values[j]) / (self.values[j + 1] - self.values[j]);
        of_position(low + part * (high - low))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::RankTable;
    use crate::causal::tests::frame::{expected, near};
    use crate::tests::json;

    #[test]
    fn ranks_agree() {
        let micro = json(expected("extensions/micro.json"));
        let number = |x: &Json| x.as_f64().unwrap();
        let table = |json: &Json| {
            let lists: Vec<Vec<f64>> = json
                .as_array()
                .unwrap()
                .iter()
                .map(|list| list.as_array().unwrap().iter().map(number).collect())
                .collect();
            // Equal values in two parts: the table joins them.
            let pairs = lists[0].iter().zip(&lists[1]);
            let sample = pairs.flat_map(|(&value, &n)| {
                let n = n as u32;
                if n > 1 { vec![(value, 1), (value, n - 1)] } else { vec![(value, n)] }
            });
            RankTable::new(sample.rev().collect())
        };
        for case in micro["ranks"].as_array().unwrap() {
            let (from, to) = (table(&case["from"]), table(&case["to"]));
            for image in case["images"].as_array().unwrap() {
                let found = from.image(&to, number(&image[0]), number(&image[1]));
                near(found, number(&image[2]), 1e-9, "image");
            }
        }
    }
}
