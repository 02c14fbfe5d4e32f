//! Numbers that stand for a missing value: 99, 9999, -1.
//!
//! A set of up to three codes is at an end of the numbers, away from all others: the gap to the
//! nearest of them is at least a quarter of their range and three times the largest gap between
//! them. Rarer values between the codes belong to the set. Or it is all that is below 0. One of the
//! codes is repeated: in 20 rows, or in five and 0.5 % of the rows.
//!
//! Choice: next to a code there are at least two other numbers, next to one below 0 three: of 0 and
//! 1, or of -1, 0 and 1, none is a code. A repeated 0 that is away from the others counts as a
//! code, because zeros fill gaps in measurements. If both ends are away from each other with
//! nothing between, the codes are the end of fewer rows.

/// Codes of a set.
const CODES: usize = 3;

/// Codes of a set with the rarer values next to them.
const CODES_AND_NEIGHBOURS: usize = 6;

/// Codes that may mean missing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MissingCodes {
    /// The codes, ascending.
    pub(crate) codes: Vec<f64>,
    /// Rows with one of them.
    pub(crate) rows: u64,
    /// The nearest other number.
    pub(crate) nearest: f64,
}

/// The sets of codes for missing among numbers: at most one below and one above all others.
pub(crate) fn missing_codes(numbers: impl Iterator<Item = f64>) -> Vec<MissingCodes> {
    let mut numbers: Vec<f64> = numbers.filter(|x| x.is_finite()).collect();
    numbers.sort_unstable_by(f64::total_cmp);
    let n = numbers.len() as u64;
    let mut values: Vec<(f64, u64)> = Vec::new();
    for x in numbers {
        match values.last_mut() {
            Some((value, rows)) if *value == x => *rows += 1,
            _ => values.push((x, 1)),
        }
    }
    let is_repeated = |rows: u64| rows >= 20 || (rows >= 5 && rows * 200 >= n);
    let mut found = Vec::new();
    // Below: what is negative, or away from the others.
    let n_negative = values.partition_point(|(x, _)| *x < 0.0);
    let negative = values.split_at(n_negative);
    let is_code = |(_, rows): &&(f64, u64)| is_repeated(*rows);
    let below = match negative {
        (codes, others) if (1..=CODES).contains(&codes.len()) && others.len() >= 3 => {
            codes.iter().any(|code| is_code(&code)).then_some(codes.len())
        }
        _ => None,
    };
    let below = below.or_else(|| {
        let mirrored: Vec<(f64, u64)> = values.iter().rev().map(|(x, n)| (-x, *n)).collect();
        let k = codes_above(&mirrored, &is_repeated)?;
        let (lower, upper) = values.split_at(k);
        let is_rarer = || n_rows(lower) < n_rows(upper);
        let leaves_others = |above: usize| above < upper.len();
        let above = codes_above(&values, &is_repeated);
        above.is_none_or(|above| leaves_others(above) || is_rarer()).then_some(k)
    });
    if let Some(k) = below {
        let (codes, others) = values.split_at(k);
        found.push(set(codes, others[0].0));
        values = others.to_vec();
    }
    if let Some(k) = codes_above(&values, &is_repeated) {
        let (others, codes) = values.split_at(values.len() - k);
        found.push(set(codes, others[others.len() - 1].0));
    }
    found
}

fn set(codes: &[(f64, u64)], nearest: f64) -> MissingCodes {
    let rows = n_rows(codes);
    MissingCodes { codes: codes.iter().map(|(code, _)| *code).collect(), rows, nearest }
}

fn n_rows(values: &[(f64, u64)]) -> u64 {
    values.iter().map(|(_, rows)| rows).sum()
}

/// How many of the largest values are codes that are away from all others.
fn codes_above(values: &[(f64, u64)], is_repeated: &dyn Fn(u64) -> bool) -> Option<usize> {
    let most = CODES_AND_NEIGHBOURS.min(values.len().saturating_sub(2));
    (1..=most).find(|&k| {
        let (others, codes) = values.split_at(values.len() - k);
        let n_repeated = codes.iter().filter(|(_, rows)| is_repeated(*rows)).count();
        let (lowest, highest) = (others[0].0, others[others.len() - 1].0);
        let gap = codes[0].0 - highest;
        let inside = others.windows(2).map(|two| two[1].0 - two[0].0).fold(0.0, f64::max);
        (1..=CODES).contains(&n_repeated) && 4.0 * gap >= highest - lowest && gap >= 3.0 * inside
    })
}

#[cfg(test)]
mod tests {
    use super::missing_codes;

    /// Each number this many times.
    fn codes(of: &[(f64, usize)]) -> Vec<Vec<f64>> {
        let numbers = of.iter().flat_map(|&(x, n)| std::iter::repeat_n(x, n));
        missing_codes(numbers).into_iter().map(|set| set.codes).collect()
    }

    /// Whole numbers from one to another, each this many times.
    fn run(from: i32, to: i32, n: usize) -> Vec<(f64, usize)> {
        (from..=to).map(|x| (f64::from(x), n)).collect()
    }

    fn with(mut numbers: Vec<(f64, usize)>, codes: &[(f64, usize)]) -> Vec<(f64, usize)> {
        numbers.extend(codes);
        numbers
    }

    #[test]
    fn codes_of_thirteen_patterns_are_found() {
        for (numbers, expected) in [
            (with(run(0, 3, 300), &[(98.0, 80)]), vec![98.0]),
            (with(run(0, 5, 200), &[(98.0, 42), (99.0, 41)]), vec![98.0, 99.0]),
            (with(run(0, 3, 300), &[(96.0, 3), (98.0, 41)]), vec![96.0, 98.0]),
            (with(run(18, 94, 18), &[(8888.0, 100)]), vec![8888.0]),
            (with(run(0, 4, 300), &[(-9.0, 50), (-8.0, 35)]), vec![-9.0, -8.0]),
            (with(run(300, 849, 2), &[(1111.0, 95)]), vec![1111.0]),
            (with(run(18, 94, 18), &[(9_999_999.0, 96)]), vec![9_999_999.0]),
            (with(run(0, 4, 300), &[(99.0, 97)]), vec![99.0]),
            (with(run(1, 98, 12), &[(-1.0, 65)]), vec![-1.0]),
            (with(run(0, 1, 500), &[(9.0, 30)]), vec![9.0]),
            (with(run(1, 3, 300), &[(7.0, 20), (8.0, 20), (9.0, 20)]), vec![7.0, 8.0, 9.0]),
            // Most people may lack the value.
            (with(run(0, 27, 10), &[(999.0, 5000)]), vec![999.0]),
            (with(run(20, 60, 20), &[(-999.0, 40)]), vec![-999.0]),
        ] {
            assert_eq!(codes(&numbers), [expected], "{numbers:?}");
        }
        let both = with(run(0, 40, 20), &[(-1.0, 30), (999.0, 30)]);
        assert_eq!(codes(&both), [vec![-1.0], vec![999.0]]);
        // The rarer one of two ends that are away from each other.
        let low = with(run(1, 3, 20), &[(7.0, 300), (8.0, 300), (9.0, 300)]);
        assert_eq!(codes(&low), [vec![1.0, 2.0, 3.0]]);
    }

    #[test]
    fn numbers_that_are_no_codes() {
        for numbers in [
            run(0, 1, 500),
            run(-1, 1, 300),
            run(0, 4, 300),
            run(18, 90, 10),
            vec![(1.0, 200), (2.0, 200), (4.0, 200), (8.0, 200)],
            // A few very rich people are no code.
            with(run(0, 100, 10), &[(5000.0, 1), (9000.0, 1)]),
            vec![(0.0, 500)],
            vec![],
        ] {
            assert_eq!(codes(&numbers), Vec::<Vec<f64>>::new(), "{numbers:?}");
        }
    }
}
