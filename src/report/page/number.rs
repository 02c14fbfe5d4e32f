//! Numbers as pages print them, counts in groups of three. The annex has three significant digits
//! and a narrow no-break space before the sign of per cent; the brief, in which people come before
//! shares and shares before points, has as many decimals as the interval allows.

use serde::{Deserialize, Serialize};

use crate::metric::MetricUnit;
use crate::metric::rate::clause_of_code;
use crate::report::read::tally::WeightedCount;
use crate::text::without_zeros;

/// U+202F, between the digits of large numbers and before the per cent sign.
const THIN: char = '\u{202f}';

/// How the value of a metric is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NumberFormat {
    /// A share, printed in per cent.
    Share,
    /// A difference of shares, printed in percentage points with its sign.
    Points,
    /// A distance of shares, printed in percentage points without a sign.
    Distance,
    /// A plain number.
    Plain,
    /// A plain number with its sign.
    Signed,
    /// A number with its sign in the unit of a feature, which may be a tiny one.
    FeatureUnit,
}

/// Decimals up to which the ends of an interval are distinguished; beyond they are powers of ten.
const MOST_DECIMALS: usize = 8;

/// A difference of shares or scores below this is only rounding: zero.
pub(crate) const ROUNDING: f64 = 1e-12;

impl NumberFormat {
    /// How values in a unit are printed.
    pub(crate) fn of(unit: MetricUnit) -> Self {
        match unit {
            MetricUnit::Share => NumberFormat::Share,
            MetricUnit::Points => NumberFormat::Points,
            MetricUnit::Distance => NumberFormat::Distance,
            MetricUnit::Signed => NumberFormat::Signed,
            MetricUnit::Times | MetricUnit::Count | MetricUnit::Number => NumberFormat::Plain,
        }
    }

    /// The factor of a number, and its unit.
    pub(crate) fn unit(self) -> (f64, &'static str) {
        match self {
            NumberFormat::Share => (100.0, " %"),
            NumberFormat::Points | NumberFormat::Distance => (100.0, " points"),
            NumberFormat::Plain | NumberFormat::Signed | NumberFormat::FeatureUnit => (1.0, ""),
        }
    }

    fn scale(self) -> f64 {
        self.unit().0
    }

    fn signed(self) -> bool {
        matches!(self, NumberFormat::Points | NumberFormat::Signed | NumberFormat::FeatureUnit)
    }

    /// How the difference of two values of this kind is printed: of shares and of gaps of shares in
    /// points.
    pub(crate) fn of_change(self) -> Self {
        match self {
            NumberFormat::Share | NumberFormat::Points | NumberFormat::Distance => {
                NumberFormat::Points
            }
            NumberFormat::Plain | NumberFormat::Signed => NumberFormat::Signed,
            NumberFormat::FeatureUnit => NumberFormat::FeatureUnit,
        }
    }

    /// A number as it is printed: scaled, and 0 where a difference is only rounding.
    fn scaled(self, value: f64) -> f64 {
        let left =
            matches!(self, NumberFormat::Points | NumberFormat::Distance | NumberFormat::Signed)
                && value.abs() < ROUNDING;
        if left { 0.0 } else { value * self.scale() }
    }

    /// How far a scaled number is from the ends of its scale, so that it is not printed as an end.
    fn distance_to_end(self, x: f64) -> f64 {
        if self == NumberFormat::Share { x.abs().min((100.0 - x).abs()) } else { x.abs() }
    }

    /// Decimals of a scaled value: three significant digits; for a share below 100 per cent as many
    /// as distinguish it from 100.
    fn decimals(self, x: f64) -> Option<usize> {
        decimals(x).map(|least| {
            if self == NumberFormat::Share && x < 100.0 {
                telling_decimals(self.distance_to_end(x), least, MOST_DECIMALS)
            } else {
                least
            }
        })
    }

    /// The lowest and the highest of these values, once if they read the same; none without values.
    pub(crate) fn span(self, values: impl Iterator<Item = f64>) -> Option<String> {
        let all = values.map(|value| (value, value));
        let (low, high) = all.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))?;
        let [low, high] = [low, high].map(|end| self.value(end));
        Some(if low == high { low } else { format!("{low} to {high}") })
    }

    /// The value with its unit: `13.1 %`, `+12.4 points`, `0.0588`.
    pub(crate) fn value(self, value: f64) -> String {
        let x = self.scaled(value);
        let digits = match self.decimals(x) {
            Some(decimals) if self == NumberFormat::Share && x > 99.0 && x < 100.0 => {
                fixed(x, decimals)
            }
            _ => three_digits(x),
        };
        let digits = sign(self.signed(), x, &digits);
        match self {
            NumberFormat::Share => format!("{digits}{THIN}%"),
            _ => self.with_points(digits, ' '),
        }
    }

    /// A number behind which points are called so.
    fn with_points(self, digits: String, space: char) -> String {
        match self {
            NumberFormat::Points | NumberFormat::Distance => {
                let is_one = digits.trim_start_matches(['+', '\u{2212}']) == "1";
                format!("{digits}{space}{}", if is_one { "point" } else { "points" })
            }
            _ => digits,
        }
    }

    /// Both ends of the interval of `value`, with as many decimals as the value: `8.2 to 20.2`.
    /// Where an end would look as if it were 0 or 100 per cent and is not, both get as many more as
    /// show it, up to three: `0.03 to 1.20`; up to eight where both are on one side of 0 of a
    /// difference, so that none reads as 0: `-0.04500 to -0.00004`. Where both would read as the
    /// same number and are not, or as if both were 0, they get as many as distinguish them:
    /// `-0.0001 to +0.0001`, `99.9996 to 100`.
    pub(crate) fn interval(self, value: f64, lo: f64, hi: f64) -> String {
        let percent = self.scale() > 1.0;
        let of_value = match self.decimals(self.scaled(value)) {
            Some(decimals) if percent => decimals.max(1),
            Some(decimals) => decimals,
            None if percent => 1,
            None => 3,
        };
        let ends = [lo, hi].map(|x| self.scaled(x));
        let is_clear = self.signed() && (ends[0] > 0.0 || ends[1] < 0.0);
        let most = if is_clear { MOST_DECIMALS } else { 3 };
        let decimals = ends.iter().fold(of_value, |decimals, x| {
            telling_decimals(self.distance_to_end(*x), decimals, most)
        });
        let end = |x: f64, digits: &dyn Fn(f64) -> String| {
            let whole = x == 0.0 || (self == NumberFormat::Share && x == 100.0);
            sign(self.signed(), x, &if whole { format!("{x:.0}") } else { digits(x) })
        };
        let both = |digits: &dyn Fn(f64) -> String| ends.map(|x| end(x, digits));
        let plain = both(&|x| if x.abs() < 1000.0 { fixed(x, decimals) } else { three_digits(x) });
        // The number that is read: `100.0` is `100`, and `+0.0` is `0`.
        let read = |end: &str| {
            let whole = end.split_once('.').filter(|(_, rest)| rest.bytes().all(|b| b == b'0'));
            let number = whole.map_or(end, |(whole, _)| whole);
            if number.trim_start_matches(['+', '\u{2212}']) == "0" { "0" } else { number }
                .to_owned()
        };
        let is_empty = |ends: &[String; 2]| read(&ends[0]) == read(&ends[1]);
        let told = if is_clear && plain.iter().any(|end| read(end) == "0") {
            both(&|x| three_digits(x))
        } else if ends[0] == ends[1] || !is_empty(&plain) {
            plain
        } else {
            let least = if ends[0].abs() < 1000.0 { decimals } else { 0 };
            let finer = (least..=MOST_DECIMALS)
                .map(|decimals| both(&|x| grouped_in(&fixed(x, decimals))))
                .find(|ends| !is_empty(ends));
            finer.unwrap_or_else(|| both(&|x| three_digits(x)))
        };
        format!("{} to {}", told[0], told[1])
    }
}

/// Decimals, not fewer than `least`, with which a distance does not look like none; `least` where
/// `most` do not show it either.
fn telling_decimals(distance: f64, least: usize, most: usize) -> usize {
    let shows = |decimals: &usize| {
        format!("{distance:.decimals$}").bytes().any(|b| matches!(b, b'1'..=b'9'))
    };
    if distance == 0.0 { least } else { (least..=most).find(shows).unwrap_or(least) }
}

fn sign(signed: bool, value: f64, digits: &str) -> String {
    if signed && value > 0.0 { format!("+{digits}") } else { digits.to_owned() }
}

fn fixed(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let zero = digits.bytes().all(|b| matches!(b, b'0' | b'.'));
    if value < 0.0 && !zero { format!("\u{2212}{digits}") } else { digits }
}

/// Decimals of a share or a difference of shares of the brief, in points, by its interval: half a
/// width of 1 point or more with an upper end of 3 or more gives none, from 0.1 one, else two; one
/// without an interval.
fn allowed_decimals(interval: Option<(f64, f64)>) -> usize {
    let Some((lo, hi)) = interval else { return 1 };
    let half = (hi - lo).abs() * 50.0;
    match half {
        half if half >= 1.0 && lo.abs().max(hi.abs()) * 100.0 >= 3.0 => 0,
        half if half >= 0.1 => 1,
        _ => 2,
    }
}

/// Whether a number that is not zero would look like it.
fn looks_like_zero(value: f64, decimals: usize) -> bool {
    value != 0.0 && fixed(value, decimals) == fixed(0.0, decimals)
}

/// A number with this many decimals; what is not zero does not look like it.
fn at_least(value: f64, decimals: usize) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if looks_like_zero(value, decimals) => {
            format!("below {:.decimals$}", 0.1_f64.powi(decimals as i32))
        }
        value => fixed(value, decimals),
    }
}

/// Decimals beyond those of the interval that a number may take before it is printed as 0.
const MORE_DECIMALS: usize = 6;

/// As [`at_least`], but a number that is not zero has as many decimals as its first digit needs: of
/// a difference the sign counts, and an interval that leaves out zero must not be printed as one
/// that contains it.
fn to_first_digit(value: f64, decimals: usize) -> String {
    if !looks_like_zero(value, decimals) {
        return at_least(value, decimals);
    }
    // At its first digit, not before it: 0.0005 is not 0.001.
    let mut more = decimals..=decimals + MORE_DECIMALS;
    let first = |decimals: &usize| value.abs() * 10_f64.powi(*decimals as i32) >= 1.0 - 1e-9;
    more.find(first).map_or_else(|| "0".to_owned(), |decimals| at_least(value, decimals))
}

/// A value as the brief prints it, without its unit.
fn bare(kind: NumberFormat, value: f64, interval: Option<(f64, f64)>) -> String {
    let (x, decimals) = (value * kind.scale(), allowed_decimals(interval));
    let signed = |text: String| if text == "0" { text } else { sign(true, value, &text) };
    match kind {
        // Not everybody is not 100 per cent, and everybody is no more exact than that.
        NumberFormat::Share if value == 1.0 => "100".to_owned(),
        NumberFormat::Share if value < 1.0 && fixed(x, decimals) == fixed(100.0, decimals) => {
            format!("{:.2}", (value * 1e4).floor() / 100.0)
        }
        NumberFormat::Share | NumberFormat::Distance => at_least(x, decimals),
        NumberFormat::Points => signed(to_first_digit(x, decimals)),
        // `below` would drop the sign of a correlation.
        NumberFormat::Plain if value < 0.0 => to_first_digit(value, 2),
        NumberFormat::Plain => at_least(value, 2),
        NumberFormat::Signed | NumberFormat::FeatureUnit => signed(to_first_digit(value, 2)),
    }
}

/// A value of the brief with its unit: `46 %`, `+3.9 points`, `0.84`.
pub(crate) fn value_text(kind: NumberFormat, value: f64, interval: Option<(f64, f64)>) -> String {
    let text = bare(kind, value, interval);
    match kind {
        NumberFormat::Share => format!("{text}\u{a0}%"),
        _ => kind.with_points(text, '\u{a0}'),
    }
}

/// The ends of an interval of the brief without their unit: `44 to 48`.
pub(crate) fn ends_text(kind: NumberFormat, (lo, hi): (f64, f64)) -> String {
    let decimals = allowed_decimals(Some((lo, hi)));
    let end = |v: f64| match kind {
        NumberFormat::Share | NumberFormat::Distance => to_first_digit(v * 100.0, decimals),
        NumberFormat::Plain => to_first_digit(v, 2),
        _ => bare(kind, v, Some((lo, hi))),
    };
    format!("{} to {}", end(lo), end(hi))
}

/// The power of ten of the first digit once the number is rounded to three digits; none for 0 and
/// what is not finite.
fn exponent(value: f64) -> Option<i32> {
    if value == 0.0 || !value.is_finite() {
        return None;
    }
    format!("{:.2e}", value.abs()).split_once('e')?.1.parse().ok()
}

/// Decimals that give three significant digits.
fn decimals(value: f64) -> Option<usize> {
    exponent(value).map(|e| usize::try_from((2 - e).clamp(0, 8)).unwrap_or(0))
}

/// Three significant digits: `13.1`, `0.0588`, `1 230`, `4.20 × 10⁻⁷`; 0, 1 and 100 are alone.
pub(crate) fn three_digits(value: f64) -> String {
    let Some(e) = exponent(value) else {
        return if value == 0.0 { "0" } else { clause_of_code("not_finite") }.to_owned();
    };
    if value.abs() == 100.0 || value.abs() == 1.0 {
        return fixed(value, 0);
    }
    match e {
        -4..=2 => fixed(value, usize::try_from(2 - e).unwrap_or(0)),
        3..=14 => {
            let unit = power_of_ten(e - 2);
            let rounded = (value.abs() / unit).round() * unit;
            format!(
                "{}{}",
                if value < 0.0 { "\u{2212}" } else { "" },
                grouped(&format!("{rounded:.0}"))
            )
        }
        _ => {
            let text = format!("{:.2e}", value.abs());
            let mantissa = text.split_once('e').map_or(text.as_str(), |(m, _)| m);
            format!("{}{mantissa}{}", if value < 0.0 { "\u{2212}" } else { "" }, times_ten_to(e))
        }
    }
}

/// A value on an axis of this width: with the digits that distinguish its thousandths, and no zeros
/// at the end.
pub(crate) fn on_axis(value: f64, width: f64) -> String {
    let Some(e) = exponent(width).filter(|_| value.abs() < 1e15) else {
        return three_digits(value);
    };
    match usize::try_from(2 - e) {
        // Far below 1 the significant digits would come after a row of zeros.
        Ok(6..=12) if value.abs() < 100.0 * width && value != 0.0 => {
            let mantissa = fixed(value / power_of_ten(e), 2);
            match without_zeros(&mantissa) {
                "0" => "0".to_owned(),
                mantissa => format!("{mantissa}{}", times_ten_to(e)),
            }
        }
        Ok(decimals @ 1..=12) => without_zeros(&fixed(value, decimals)).to_owned(),
        Ok(0) | Err(_) => {
            let unit = power_of_ten((e - 2).max(0));
            let rounded = (value.abs() / unit).round() * unit;
            format!(
                "{}{}",
                if value < 0.0 && rounded > 0.0 { "\u{2212}" } else { "" },
                grouped(&format!("{rounded:.0}"))
            )
        }
        Ok(_) => three_digits(value),
    }
}

/// Read rather than computed, so that it is the same number on every machine.
fn power_of_ten(e: i32) -> f64 {
    format!("1e{e}").parse().unwrap_or(1.0)
}

/// The power of ten of the first digit; 1 for 0 and what is not finite.
pub(crate) fn unit(value: f64) -> f64 {
    let e = format!("{value:e}").split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    power_of_ten(e)
}

/// ` × 10⁻⁷`, never broken over two lines.
fn times_ten_to(e: i32) -> String {
    let power: String = e.to_string().chars().map(superscript).collect();
    format!("{THIN}\u{d7}{THIN}10{power}")
}

fn superscript(digit: char) -> char {
    match digit {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        _ => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * THIN.len_utf8());
    for (i, digit) in digits.chars().enumerate() {
        // Four digits read better without a gap.
        if i > 0 && digits.len() > 4 && (digits.len() - i).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// Words with their counts of five digits and more in groups of three; names in backticks stay as
/// they are.
pub(crate) fn grouped_in(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let shown =
        parts.map(|(i, part)| if i % 2 == 1 { part.to_owned() } else { grouped_counts(part) });
    shown.collect::<Vec<_>>().join("`")
}

/// As [`grouped_in`], without the backticks, for sentences in which no word is marked.
pub(crate) fn grouped_unmarked(text: &str) -> String {
    grouped_in(text).replace('`', "")
}

fn grouped_counts(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, digits) = rest.split_at(start);
        let (digits, after) =
            digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
        // Not the decimals of a number, nor a part of a name.
        let alone = !before.ends_with(|c: char| c.is_alphanumeric() || ".,-_/".contains(c))
            && !after.starts_with(|c: char| c.is_alphanumeric() || "-_/".contains(c));
        shown.push_str(before);
        shown.push_str(&if alone { grouped(digits) } else { digits.to_owned() });
        rest = after;
    }
    shown + rest
}

/// A count: `122`, `1234`, `16 281`.
pub(crate) fn count(n: i64) -> String {
    let digits = grouped(&n.unsigned_abs().to_string());
    if n < 0 { format!("\u{2212}{digits}") } else { digits }
}

/// A part of a whole: `16 of 122`.
pub(crate) fn of(part: i64, whole: i64) -> String {
    format!("{} of {}", count(part), count(whole))
}

/// A count of things in memory.
pub(crate) fn size(n: usize) -> String {
    count(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A count with its noun: `1 action`, `5 actions`.
pub(crate) fn count_of(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A number of people: `1 person`, `122 people`.
pub(crate) fn people(n: i64) -> String {
    count_of(n, "person", "people")
}

/// A share of a whole in per cent, by weight and saying so where cases are `weighted`; none where
/// nothing can be shared out.
pub(crate) fn share(part: WeightedCount, whole: WeightedCount, weighted: bool) -> Option<String> {
    part.part_of(whole).map(|share| percent_text(share, weighted))
}

/// A share in per cent, with the word where it is one of weight: `13.1 %`, `weighted 13.4 %`.
pub(crate) fn percent_text(share: f64, weighted: bool) -> String {
    format!("{}{}", if weighted { "weighted " } else { "" }, NumberFormat::Share.value(share))
}

/// A level in per cent as the job writes it: `95 %`, `99.9 %`.
pub(crate) fn level(level: f64) -> String {
    format!("{}{THIN}%", (level * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace('\u{202f}', " ").replace('\u{2212}', "-")
    }

    #[test]
    fn values_that_read_the_same_are_one() {
        let span = |values: &[f64]| NumberFormat::Plain.span(values.iter().copied());
        assert_eq!(span(&[0.5, 0.25, 0.75]).as_deref(), Some("0.250 to 0.750"));
        assert_eq!(span(&[0.5, 0.500_000_1]).as_deref(), Some("0.500"));
        assert_eq!(span(&[]), None);
    }

    #[test]
    fn three_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (100.0, "100"),
            (13.114, "13.1"),
            (8.2, "8.20"),
            (9.996, "10.0"),
            (0.05876, "0.0588"),
            (999.6, "1000"),
            (16281.0, "16 300"),
            (-0.4321, "-0.432"),
            (4.2e-7, "4.20 × 10⁻⁷"),
            (-1e300, "-1.00 × 10³⁰⁰"),
        ] {
            assert_eq!(plain(&three_digits(value)), text);
        }
        assert_eq!(three_digits(f64::NAN), "not finite");
    }

    #[test]
    fn values_carry_their_unit_and_intervals_their_decimals() {
        assert_eq!(plain(&NumberFormat::Share.value(16.0 / 122.0)), "13.1 %");
        assert_eq!(
            plain(&NumberFormat::Share.interval(16.0 / 122.0, 0.0823, 0.2023)),
            "8.2 to 20.2"
        );
        assert_eq!(plain(&NumberFormat::Share.interval(0.0, 0.0, 0.0123)), "0 to 1.2");
        assert_eq!(plain(&NumberFormat::Share.interval(0.0, 0.0, 0.000_348)), "0 to 0.03");
        assert_eq!(plain(&NumberFormat::Share.interval(0.131, 0.000_348, 0.2023)), "0.03 to 20.23");
        assert_eq!(plain(&NumberFormat::Share.interval(1.0, 0.9712, 1.0)), "97.1 to 100");
        assert_eq!(plain(&NumberFormat::Share.interval(1.0, 0.99965, 1.0)), "99.97 to 100");
        assert_eq!(
            plain(&NumberFormat::Share.interval(0.000_491, 0.000_087, 0.002_778)),
            "0.0087 to 0.2778"
        );
        assert_eq!(plain(&NumberFormat::Points.value(0.124)), "+12.4 points");
        assert_eq!(NumberFormat::Distance.value(0.01), "1 point");
        assert_eq!(
            [0.01, -0.01, 0.021].map(|x| plain(&NumberFormat::Points.value(x))),
            ["+1 point", "-1 point", "+2.10 points"]
        );
        assert_eq!(plain(&NumberFormat::Points.interval(0.124, -0.027, 0.217)), "-2.7 to +21.7");
        assert_eq!(plain(&NumberFormat::Signed.value(-0.0421)), "-0.0421");
        assert_eq!(plain(&NumberFormat::Plain.interval(1.53, 0.9, 2.61)), "0.90 to 2.61");
        assert_eq!(plain(&NumberFormat::Share.interval(0.5, -1e-9, 2e300)), "0.0 to 2.00 × 10³⁰²");
    }

    /// Whatever the kind, an interval that holds more than one number does not look as if it held
    /// one.
    #[test]
    fn an_interval_that_is_not_empty_does_not_look_empty() {
        for (kind, value, lo, hi, text) in [
            (NumberFormat::Signed, 0.0, -0.000_101, 0.000_101, "-0.0001 to +0.0001"),
            (NumberFormat::Plain, 0.0, 0.0, 0.000_101, "0 to 0.0001"),
            (NumberFormat::Points, 0.0, -2e-7, 2e-7, "-0.00002 to +0.00002"),
            (NumberFormat::Plain, 0.123, 0.123_44, 0.123_46, "0.1234 to 0.1235"),
            (NumberFormat::Share, 0.5, 0.500_01, 0.500_03, "50.001 to 50.003"),
            (NumberFormat::Share, 1.0, 0.999_996, 1.0, "99.9996 to 100"),
            (NumberFormat::Share, 0.0, 0.0, 0.000_004, "0 to 0.0004"),
            (NumberFormat::Share, 0.999_997, 0.999_996, 1.0, "99.9996 to 100"),
            (NumberFormat::Plain, 1.0, 0.999_999_6, 1.0, "0.9999996 to 1.0000000"),
            (NumberFormat::Plain, 12_345.0, 12_341.0, 12_344.0, "12 341 to 12 344"),
            (NumberFormat::FeatureUnit, 2e-13, 1e-13, 3e-13, "+1.00 × 10⁻¹³ to +3.00 × 10⁻¹³"),
            // What leaves out 0 does not seem to touch it.
            (NumberFormat::Signed, -0.0225, -0.045, -0.000_041, "-0.04500 to -0.00004"),
            (NumberFormat::Points, 0.012, 0.000_004_1, 0.024, "+0.0004 to +2.4000"),
            (NumberFormat::Signed, -0.02, -0.04, -4.1e-12, "-0.0400 to -4.10 × 10⁻¹²"),
            (NumberFormat::Signed, -0.02, -0.04, 0.000_04, "-0.0400 to +0.0000"),
            // What is one number stays one.
            (NumberFormat::Share, 0.0, 0.0, 0.0, "0 to 0"),
            (NumberFormat::Share, 0.5, 0.5, 0.5, "50.0 to 50.0"),
            (NumberFormat::Signed, 0.0, -2e-17, 3e-17, "0 to 0"),
        ] {
            assert_eq!(plain(&kind.interval(value, lo, hi)), text);
        }
    }

    /// A share that is not all does not read as all, and its interval has its decimals.
    #[test]
    fn what_is_beside_the_end_of_the_scale_does_not_touch_it() {
        assert_eq!(plain(&NumberFormat::Share.value(0.9996)), "99.96 %");
        assert_eq!(plain(&NumberFormat::Share.interval(0.9996, 0.9972, 0.9999)), "99.72 to 99.99");
        assert_eq!(plain(&NumberFormat::Share.value(0.999_996)), "99.9996 %");
        assert_eq!(plain(&NumberFormat::Share.value(0.995)), "99.5 %");
        assert_eq!(plain(&NumberFormat::Share.value(1.0)), "100 %");
        assert_eq!(plain(&NumberFormat::Points.value(1.0)), "+100 points");
    }

    #[test]
    fn one_point_and_nothing_left_by_rounding() {
        assert_eq!(plain(&NumberFormat::Distance.value(0.01)), "1 point");
        assert_eq!(plain(&NumberFormat::Points.value(-0.01)), "-1 point");
        assert_eq!(plain(&NumberFormat::Points.value(0.0101)), "+1.01 points");
        for kind in [NumberFormat::Points, NumberFormat::Distance, NumberFormat::Signed] {
            assert_eq!(kind.value(-2.11e-19).trim_end_matches(" points"), "0");
        }
        assert_eq!(plain(&NumberFormat::Signed.interval(-2.11e-19, -3e-17, 0.012)), "0 to +0.012");
        // In its own unit a feature may move by as little.
        assert_eq!(plain(&NumberFormat::FeatureUnit.value(2e-13)), "+2.00 × 10⁻¹³");
        assert_eq!(
            [NumberFormat::Share, NumberFormat::Distance, NumberFormat::Plain]
                .map(NumberFormat::of_change),
            [NumberFormat::Points, NumberFormat::Points, NumberFormat::Signed]
        );
    }

    #[test]
    fn values_on_an_axis() {
        for (value, width, text) in [
            (17.0, 73.0, "17"),
            (20.66, 73.0, "20.7"),
            (1973.0, 25.0, "1973"),
            (99_999.0, 99_999.0, "100 000"),
            (41_234.0, 73_000.0, "41 200"),
            (123_456_789.0, 123_456_789.0, "123 000 000"),
            (-0.123_456, 0.01, "-0.1235"),
            (-0.000_01, 5.0, "0"),
            (3.0, 0.0, "3.00"),
            (1e300, 1e300, "1.00 × 10³⁰⁰"),
            (5e-20, 1e-19, "5.00 × 10⁻²⁰"),
            (-1.234e-7, 8e-7, "-1.23 × 10⁻⁷"),
            (3e-7, 8e-7, "3 × 10⁻⁷"),
            (0.0, 8e-7, "0"),
            (1_234_567.000_01, 1e-4, "1234567.00001"),
        ] {
            assert_eq!(plain(&on_axis(value, width)), text, "{value} on {width}");
        }
    }

    #[test]
    fn counts_and_levels() {
        assert_eq!([count_of(1, "action", "actions"), people(0)], ["1 action", "0 people"]);
        assert_eq!(plain(&count(1234)), "1234");
        assert_eq!(plain(&count(16281)), "16 281");
        assert_eq!(plain(&count(i64::MIN)), "-9 223 372 036 854 775 808");
        assert_eq!(
            plain(&grouped_in("paired: 16281 people, 1200 of them in run-123456 and 0.123456")),
            "paired: 16 281 people, 1200 of them in run-123456 and 0.123456"
        );
        // A group may be called by digits.
        assert_eq!(plain(&grouped_unmarked("`90210` has 90210 rows")), "90210 has 90 210 rows",);
        assert_eq!(
            plain(&grouped_in("`90210` has 90210 rows, `10115` none")),
            "`90210` has 90 210 rows, `10115` none"
        );
        assert_eq!(plain(&level(0.95)), "95 %");
        assert_eq!(plain(&level(0.999)), "99.9 %");
    }

    fn share_and_ends(value: f64, lo: f64, hi: f64) -> String {
        let kind = NumberFormat::Share;
        let text =
            format!("{}; {}", value_text(kind, value, Some((lo, hi))), ends_text(kind, (lo, hi)));
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn the_interval_decides_the_decimals() {
        assert_eq!(share_and_ends(0.458, 0.439, 0.477), "46 %; 44 to 48");
        assert_eq!(share_and_ends(0.053, 0.045, 0.062), "5.3 %; 4.5 to 6.2");
        assert_eq!(share_and_ends(0.0004, 0.0001, 0.0011), "0.04 %; 0.01 to 0.11");
        assert_eq!(share_and_ends(0.02, 0.01, 0.029), "2.0 %; 1.0 to 2.9");
        assert_eq!(share_and_ends(0.0, 0.0, 0.0005), "0 %; 0 to 0.05");
        assert_eq!(share_and_ends(0.999_99, 0.9998, 1.0), "99.99 %; 99.98 to 100.00");
        assert_eq!(share_and_ends(1.0, 0.998, 1.0), "100 %; 99.8 to 100.0");
    }

    #[test]
    fn other_kinds_keep_their_sign_and_unit() {
        let text = |kind, value, interval| value_text(kind, value, interval).replace('\u{a0}', " ");
        assert_eq!(text(NumberFormat::Points, 0.039, Some((0.027, 0.051))), "+4 points");
        assert_eq!(text(NumberFormat::Points, -0.01, Some((-0.02, 0.05))), "\u{2212}1 point");
        assert_eq!(text(NumberFormat::Plain, 0.8434, None), "0.84");
        assert_eq!(text(NumberFormat::Signed, 0.004, None), "+0.004");
        assert_eq!(text(NumberFormat::Plain, 0.004, None), "below 0.01");
        assert_eq!(text(NumberFormat::Points, -0.004, Some((-0.04, 0.03))), "\u{2212}0.4 points");
    }

    #[test]
    fn an_end_near_zero_keeps_its_sign_and_its_size() {
        let ends = |kind, ends| ends_text(kind, ends);
        let below = ends(NumberFormat::Points, (-0.11, -0.004));
        assert_eq!(below, "\u{2212}11 to \u{2212}0.4", "it leaves out 0");
        assert_eq!(ends(NumberFormat::Points, (0.0004, 0.10)), "+0.04 to +10");
        assert_eq!(ends(NumberFormat::Points, (-0.003, 0.0)), "\u{2212}0.3 to 0");
        assert_eq!(ends(NumberFormat::Share, (0.003, 0.10)), "0.3 to 10");
        assert_eq!(ends(NumberFormat::Plain, (0.004, 1.2)), "0.004 to 1.20");
        assert_eq!(ends(NumberFormat::Points, (-1e-12, 0.05)), "0 to +5");
        assert_eq!(ends(NumberFormat::Points, (-0.0035, 0.1202)), "\u{2212}0.4 to +12");
        assert_eq!(ends(NumberFormat::Points, (-0.12, -0.0035)), "\u{2212}12 to \u{2212}0.4");
        assert_eq!(ends(NumberFormat::Share, (0.000_005, 1.0)), "0.0005 to 100");
    }

    #[test]
    fn a_value_near_zero_keeps_its_sign() {
        let text = |kind, value, interval| value_text(kind, value, interval).replace('\u{a0}', " ");
        assert_eq!(text(NumberFormat::Points, -0.003, None), "\u{2212}0.3 points");
        let wide = Some((-0.12, 0.11));
        assert_eq!(text(NumberFormat::Points, -0.003, wide), "\u{2212}0.3 points");
        assert_eq!(text(NumberFormat::Plain, -0.3, None), "\u{2212}0.30");
        assert_eq!(text(NumberFormat::Plain, -0.004, None), "\u{2212}0.004");
    }
}
