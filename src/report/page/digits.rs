//! Numbers of the brief: as many decimals as the interval allows. People come before shares, shares
//! before points.

use crate::report::page::number::{NumberFormat, count};

/// Between a number and its sign of per cent.
const SPACE: char = '\u{a0}';

/// Decimals of a share or a difference of shares, in points, by its interval: half a width of 1
/// point or more with an upper end of 3 or more gives none, from 0.1 one, else two; one without an
/// interval.
fn decimals(interval: Option<(f64, f64)>) -> usize {
    let Some((lo, hi)) = interval else { return 1 };
    let half = (hi - lo).abs() * 50.0;
    match half {
        half if half >= 1.0 && lo.abs().max(hi.abs()) * 100.0 >= 3.0 => 0,
        half if half >= 0.1 => 1,
        _ => 2,
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    match (is_zero, value == 0.0) {
        (true, true) => "0".to_owned(),
        // What is not zero does not look like it.
        (true, false) => {
            format!("below {}", format_args!("{:.decimals$}", 0.1_f64.powi(decimals as i32)))
        }
        (false, _) if value < 0.0 => format!("\u{2212}{text}"),
        (false, _) => text,
    }
}

fn signed(is_signed: bool, text: String) -> String {
    if is_signed && !text.starts_with("below") { format!("+{text}") } else { text }
}

/// Decimals beyond those of the interval that a number may take before it is printed as 0.
const MORE_DECIMALS: usize = 6;

/// As [`fixed`], but a number that is not zero has as many decimals as its first digit needs: of a
/// difference the sign counts, and an interval that leaves out zero must not seem to hold it.
fn told(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if !text.starts_with("below") {
        return text;
    }
    // At its first digit, not before it: 0.0005 is not 0.001.
    let mut more = decimals..=decimals + MORE_DECIMALS;
    let first = |decimals: &usize| value.abs() * 10_f64.powi(*decimals as i32) >= 1.0 - 1e-9;
    more.find(first).map_or_else(|| "0".to_owned(), |decimals| fixed(value, decimals))
}

/// A value as the brief prints it, without its unit.
fn bare(kind: NumberFormat, value: f64, interval: Option<(f64, f64)>) -> String {
    match kind {
        NumberFormat::Share => {
            let text = fixed(value * 100.0, decimals(interval));
            // Not everybody is not 100 per cent, and everybody is no more exact than that.
            match (text.starts_with("100"), value < 1.0) {
                (true, true) => format!("{:.2}", (value * 1e4).floor() / 100.0),
                (true, false) if value == 1.0 => "100".to_owned(),
                _ => text,
            }
        }
        NumberFormat::Points => {
            let text = told(value * 100.0, decimals(interval));
            signed(value > 0.0 && text != "0", text)
        }
        NumberFormat::Distance => fixed(value * 100.0, decimals(interval)),
        // `below` would drop the sign of a correlation.
        NumberFormat::Plain if value < 0.0 => told(value, 2),
        NumberFormat::Plain => fixed(value, 2),
        NumberFormat::Signed | NumberFormat::FeatureUnit => {
            let text = told(value, 2);
            signed(value > 0.0 && text != "0", text)
        }
    }
}

/// A value with its unit: `46 %`, `+3.9 points`, `0.84`.
pub(crate) fn value_text(kind: NumberFormat, value: f64, interval: Option<(f64, f64)>) -> String {
    let text = bare(kind, value, interval);
    match kind {
        NumberFormat::Share => format!("{text}{SPACE}%"),
        NumberFormat::Points | NumberFormat::Distance => {
            let one = text.trim_start_matches(['+', '\u{2212}']) == "1";
            format!("{text}{SPACE}{}", if one { "point" } else { "points" })
        }
        _ => text,
    }
}

/// The ends of an interval without their unit: `44 to 48`.
pub(crate) fn ends_text(kind: NumberFormat, (lo, hi): (f64, f64)) -> String {
    let end = |v: f64| match kind {
        NumberFormat::Share | NumberFormat::Distance => told(v * 100.0, decimals(Some((lo, hi)))),
        NumberFormat::Plain => told(v, 2),
        _ => bare(kind, v, Some((lo, hi))),
    };
    format!("{} to {}", end(lo), end(hi))
}

/// `410 of 1,335`, or of graphs, where the number on top is a mean, `about 117 of 373`.
pub(crate) fn counts_text(counts: Option<(i64, i64)>, value: f64, whole: i64) -> String {
    match counts {
        Some((part, whole)) => format!("{} of {}", count(part), count(whole)),
        None => {
            format!("about {} of {}", count((value * whole as f64).round() as i64), count(whole))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{counts_text, ends_text, value_text};
    use crate::report::page::number::NumberFormat;

    fn share(value: f64, lo: f64, hi: f64) -> String {
        let kind = NumberFormat::Share;
        let text =
            format!("{}; {}", value_text(kind, value, Some((lo, hi))), ends_text(kind, (lo, hi)));
        text.replace('\u{a0}', " ")
    }

    #[test]
    fn the_interval_decides_the_decimals() {
        assert_eq!(share(0.458, 0.439, 0.477), "46 %; 44 to 48");
        assert_eq!(share(0.053, 0.045, 0.062), "5.3 %; 4.5 to 6.2");
        assert_eq!(share(0.0004, 0.0001, 0.0011), "0.04 %; 0.01 to 0.11");
        assert_eq!(share(0.02, 0.01, 0.029), "2.0 %; 1.0 to 2.9");
        assert_eq!(share(0.0, 0.0, 0.0005), "0 %; 0 to 0.05");
        assert_eq!(share(0.999_99, 0.9998, 1.0), "99.99 %; 99.98 to 100.00");
        assert_eq!(share(1.0, 0.998, 1.0), "100 %; 99.8 to 100.0");
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

    #[test]
    fn means_over_graphs_are_about() {
        assert_eq!(counts_text(None, 0.3148, 373), "about 117 of 373");
        assert_eq!(counts_text(Some((410, 1335)), 0.3, 0), "410 of 1335");
    }
}
