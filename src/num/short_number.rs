//! Numbers with few digits, for texts that people read.
//!
//! One rule for edges of quartiles, levels, values of cases and ranges: a number with few digits is
//! unchanged; a longer number is rounded up, with enough digits to stay below the next larger
//! number of the data. So `up to 29.63` describes the same people as `up to 29.626222841252297`.

/// A number with at most this many digits is unchanged.
const FEW: usize = 7;

/// A number that is shortened keeps at least this many digits.
const LEAST: usize = 4;

/// A number in fewer digits: rounded up, with at least four digits, and with enough digits to stay
/// below `next`, the next larger number of the data. None if the number is unchanged: it has few
/// digits or none after the point, or all of them are needed.
pub(crate) fn short_text(value: f64, next: Option<f64>) -> Option<String> {
    if !value.is_finite() || value.fract() == 0.0 {
        return None;
    }
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e')?;
    let all = mantissa.bytes().filter(u8::is_ascii_digit).count();
    if all <= FEW {
        return None;
    }
    let before_point = usize::try_from(exponent.parse::<i32>().ok()? + 1).unwrap_or(0);
    let fits = |up: &f64| next.is_none_or(|next| *up < next);
    let up =
        (LEAST.max(before_point)..all).find_map(|digits| rounded_up(value, digits).filter(fits))?;
    let text = format!("{up:?}");
    Some(text.strip_suffix(".0").unwrap_or(&text).to_owned())
}

/// The least number of this many digits that is not below `value`.
fn rounded_up(value: f64, digits: usize) -> Option<f64> {
    let behind = digits.checked_sub(1)?;
    let near = format!("{value:.behind$e}");
    let number: f64 = near.parse().ok()?;
    if number >= value {
        return Some(number);
    }
    let exponent = near.split_once('e')?.1.parse::<i32>().ok()?;
    let unit: f64 = format!("1e{}", exponent - i32::try_from(behind).ok()?).parse().ok()?;
    format!("{:.behind$e}", number + unit).parse().ok().filter(|up| *up >= value)
}

#[cfg(test)]
mod tests {
    use super::short_text;

    #[test]
    fn long_numbers_keep_the_digits_that_they_need() {
        for (value, next, text) in [
            (29.626_222_841_252_297, None, Some("29.63")),
            (29.626_222_841_252_297, Some(29.63), Some("29.627")),
            (29.626_222_841_252_297, Some(29.626_222_9), Some("29.62622285")),
            (29.621_222_841_252_297, None, Some("29.63")),
            (-65.612_903_225_806_45, None, Some("-65.61")),
            (-65.617_903_225_806_45, None, Some("-65.61")),
            (9.999_499_999_9, None, Some("10")),
            (1_234_567.25, None, Some("1234568")),
            (1_234_567.25, Some(1_234_568.0), Some("1234567.3")),
            (0.000_123_456_789, None, Some("0.0001235")),
            (1.234_567_89e-20, None, Some("1.235e-20")),
            // Few digits, or none behind the point.
            (11_233.98, None, None),
            (0.3, None, None),
            (1_234_567_890.0, None, None),
            (f64::NAN, None, None),
            (f64::INFINITY, None, None),
            // All of them are needed.
            (0.100_000_000_000_000_1, Some(0.100_000_000_000_000_12), None),
        ] {
            assert_eq!(short_text(value, next).as_deref(), text, "{value} {next:?}");
        }
    }

    #[test]
    fn a_short_number_lies_between_its_number_and_the_next() {
        for i in 0..2000_u32 {
            let value = (f64::from(i) - 1000.0).mul_add(0.137_731, 0.000_123_456_789);
            let next = value + 1e-7 * f64::from(1 + i % 97);
            let Some(text) = short_text(value, Some(next)) else { continue };
            let short: f64 = text.parse().unwrap();
            assert!(value <= short && short < next, "{value} {text} {next}");
        }
    }
}
