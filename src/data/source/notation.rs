//! How a text file writes numbers (the decimal sign, and the sign between thousands), and whether a
//! column of fields holds integers, numbers or text ([`FieldClass`]).
//!
//! A number in another notation is rewritten to the plain one (`4.583,58` to `4583.58`) and then
//! read like any number. Reading is strict: signs between thousands are between groups of three
//! digits, in all places or in none, so a value of the wrong notation is text and never another
//! number.

use std::borrow::Cow;

use crate::data::canonical::canonical_text;
use crate::data::column::declared::without_percent;
use crate::data::values::{ValueClass, is_code, parse_infinity, parse_number};

/// Signs that may be between thousands. A blank represents every kind of blank.
const THOUSANDS: [char; 5] = ['.', ',', '\'', '\u{2019}', ' '];

/// The notation of the numbers in a text file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberNotation {
    /// The sign before the fraction, `.` or `,`.
    pub(crate) decimal: char,
    /// The sign between thousands, if there is one.
    pub(crate) thousands: Option<char>,
}

impl Default for NumberNotation {
    fn default() -> Self {
        NumberNotation { decimal: '.', thousands: None }
    }
}

impl NumberNotation {
    /// Every notation other than the plain one that is looked for in a file, the most common first.
    pub(crate) const OTHERS: [NumberNotation; 7] = [
        NumberNotation { decimal: ',', thousands: None },
        NumberNotation { decimal: ',', thousands: Some('.') },
        NumberNotation { decimal: ',', thousands: Some(' ') },
        NumberNotation { decimal: '.', thousands: Some(',') },
        NumberNotation { decimal: '.', thousands: Some('\'') },
        NumberNotation { decimal: '.', thousands: Some(' ') },
        NumberNotation { decimal: ',', thousands: Some('\'') },
    ];

    /// The notation with these signs; `None` where they are not allowed or equal.
    pub(crate) fn new(decimal: char, thousands: Option<char>) -> Option<Self> {
        let known = matches!(decimal, '.' | ',')
            && thousands.is_none_or(|sign| THOUSANDS.contains(&sign) && sign != decimal);
        known.then_some(NumberNotation { decimal, thousands })
    }

    /// The integer that a field holds; `None` where it holds anything else.
    pub(crate) fn integer(self, field: &str) -> Option<i64> {
        self.plain(field)?.trim_matches([' ', '\t']).parse().ok()
    }

    /// The finite number that a field holds; `None` where it holds anything else.
    pub(crate) fn number(self, field: &str) -> Option<f64> {
        parse_number(&self.plain(field)?)
    }

    /// Whether a field has digits after a leading zero, so that it is a code and no number.
    pub(crate) fn is_code(self, field: &str) -> bool {
        self.plain(field).is_some_and(|plain| is_code(&plain))
    }

    /// The number that a field holds, or the infinity in words.
    pub(crate) fn float(self, field: &str) -> Option<f64> {
        self.number(field).or_else(|| parse_infinity(field.trim()))
    }

    /// The canonical text of a field.
    pub(crate) fn canonical(self, field: &str) -> Cow<'_, str> {
        if self == NumberNotation::default() {
            return canonical_text(field);
        }
        match self.plain(field).filter(|plain| parse_number(plain).is_some()) {
            Some(plain) => Cow::Owned(canonical_text(&plain).into_owned()),
            None => canonical_text(field),
        }
    }

    /// The number of a field in plain notation; a field that holds none as it stands.
    pub(crate) fn plain_number(self, field: &str) -> Cow<'_, str> {
        let bare = without_percent(field);
        match self.plain(bare).filter(|plain| parse_number(plain).is_some()) {
            Some(plain) => Cow::Owned(plain.into_owned()),
            None => Cow::Borrowed(field),
        }
    }

    /// The field with a decimal point and nothing between thousands; `None` where signs are at
    /// places where this notation has none.
    fn plain(self, field: &str) -> Option<Cow<'_, str>> {
        if self == NumberNotation::default() {
            return Some(Cow::Borrowed(field));
        }
        let text = field.trim();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let sign = &text[..text.len() - digits.len()];
        let (whole, fraction) = match digits.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (digits, None),
        };
        // A power of ten may follow, but only in plain notation: `1,5e3` is read, `1.500e3` not.
        let may_follow = |c: char| c.is_ascii_digit() || matches!(c, 'e' | 'E' | '+' | '-');
        if fraction.is_some_and(|fraction| !fraction.chars().all(may_follow)) {
            return None;
        }
        let whole = self.without_thousands(whole)?;
        Some(Cow::Owned(match fraction {
            Some(fraction) => format!("{sign}{whole}.{fraction}"),
            None => format!("{sign}{whole}"),
        }))
    }

    /// The whole part of a number without the signs between its thousands.
    fn without_thousands(self, whole: &str) -> Option<String> {
        let is_sign = |c: char| match self.thousands {
            Some(' ') => c.is_whitespace(),
            Some('\'' | '\u{2019}') => matches!(c, '\'' | '\u{2019}'),
            sign => sign == Some(c),
        };
        let mut groups = whole.split(is_sign);
        let head = groups.next()?;
        let mut rest = groups.peekable();
        if rest.peek().is_none() {
            // `.` is the plain decimal sign: if it is not that of the file it is not part of a
            // number.
            return (!head.contains(['.', ','])).then(|| head.to_owned());
        }
        let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let mut plain = head.to_owned();
        if !(1..=3).contains(&head.len()) || !is_digits(head) {
            return None;
        }
        for group in rest {
            if group.len() != 3 || !is_digits(group) {
                return None;
            }
            plain.push_str(group);
        }
        Some(plain)
    }
}

/// The form of a number in national notation: `4.583,58`, `4,583.58`, `4 583,58`, `12.5`, `7`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numeral {
    /// The sign before the fraction; `None` without a fraction. `1.234` has a fraction.
    pub(crate) decimal_sign: Option<char>,
    /// Whether a sign separates the thousands.
    pub(crate) grouped: bool,
}

impl Numeral {
    /// The form of a text; `None` if it is not a number in any such notation.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_digit = |c: char| c.is_ascii_digit();
        let written_out = digits.starts_with(is_digit)
            && digits.ends_with(is_digit)
            && !digits.contains(['e', 'E', '+', '-']);
        let others = NumberNotation::OTHERS.into_iter().filter(|_| written_out);
        let mut all = [NumberNotation::default()].into_iter().chain(others);
        let NumberNotation { decimal, thousands } = all.find(|of| of.number(text).is_some())?;
        let decimal_sign = text.contains(decimal).then_some(decimal);
        Some(Numeral { decimal_sign, grouped: thousands.is_some() })
    }
}

/// The narrowest class of a column of a text file: integers, else numbers, else text.
///
/// `007` is a code: as a number it would equal `7`. So is an integer beyond 64 bits in a column of
/// integers, which floats would round; among numbers with decimals it is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FieldClass {
    class: ValueClass,
    /// Whether an integer does not fit 64 bits.
    has_long: bool,
}

impl FieldClass {
    /// The class of a column without a value.
    pub(crate) const EMPTY: FieldClass = FieldClass { class: ValueClass::Empty, has_long: false };

    /// Widens the class to one that holds a field as well.
    pub(crate) fn add(&mut self, field: &str, notation: NumberNotation) {
        self.class = match self.class {
            ValueClass::Text | ValueClass::Bool => ValueClass::Text,
            _ if notation.is_code(field) => ValueClass::Text,
            before if notation.integer(field).is_some() => before.max_number(ValueClass::Int),
            before if notation.number(field).is_some() => {
                let is_long = |c: char| c.is_ascii_digit() || c == '-' || c == '+';
                let plain = notation.plain(field).unwrap_or_default();
                if plain.trim().chars().all(is_long) {
                    self.has_long = true;
                    before.max_number(ValueClass::Int)
                } else {
                    ValueClass::Float
                }
            }
            _ if parse_infinity(field.trim()).is_some() => ValueClass::Float,
            _ => ValueClass::Text,
        };
    }

    /// Whether every field is a number, of any length.
    pub(crate) fn is_number(self) -> bool {
        self.class.is_number()
    }

    /// The class of the column.
    pub(crate) fn class(self) -> ValueClass {
        match self.class {
            ValueClass::Int if self.has_long => ValueClass::Text,
            class => class,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FieldClass, NumberNotation, Numeral};
    use crate::data::values::ValueClass;

    #[test]
    fn numerals_of_several_countries() {
        let check = |text: &str, expected: Option<(Option<char>, bool)>| {
            assert_eq!(Numeral::of(text).map(|n| (n.decimal_sign, n.grouped)), expected, "{text}");
        };
        check("7", Some((None, false)));
        check("-12.5", Some((Some('.'), false)));
        check("1.5e-3", Some((Some('.'), false)));
        check("4583,58", Some((Some(','), false)));
        check("-4.583,58", Some((Some(','), true)));
        check("1.234.567", Some((None, true)));
        check("1.234.567,5", Some((Some(','), true)));
        check("4,583.58", Some((Some('.'), true)));
        check("4 583,58", Some((Some(','), true)));
        check("4'583.58", Some((Some('.'), true)));
        for no in [
            "",
            "-",
            ",",
            "5,",
            ",5",
            "31.12.2020",
            "1.23,4.5",
            "12,34.5",
            "1234.567,5",
            "1,234,567,8",
            "x5",
            "5 x",
            "192.168.0.1",
        ] {
            check(no, None);
        }
    }

    #[test]
    fn a_column_has_the_narrowest_class_in_any_order_of_its_fields() {
        let long = "10000000000000000001";
        for (fields, class) in [
            (vec!["1", " 2", "-3"], ValueClass::Int),
            (vec!["1", "1.5", "2"], ValueClass::Float),
            (vec!["1", "inf", "-Infinity"], ValueClass::Float),
            (vec!["1", "007"], ValueClass::Text),
            (vec!["1", "x", "1.5"], ValueClass::Text),
            (vec!["1", long], ValueClass::Text),
            (vec!["1.5", long, "1"], ValueClass::Float),
        ] {
            for turn in 0..fields.len() {
                let mut found = FieldClass::EMPTY;
                let mut turned = fields.clone();
                turned.rotate_left(turn);
                turned.iter().for_each(|field| found.add(field, NumberNotation::default()));
                assert_eq!(found.class(), class, "{turned:?}");
            }
        }
    }

    fn number(decimal: char, thousands: Option<char>, field: &str) -> Option<f64> {
        NumberNotation::new(decimal, thousands).unwrap().number(field)
    }

    #[test]
    fn numbers_of_several_countries_are_read() {
        for (decimal, thousands, field, value) in [
            (',', None, "4583,58", 4583.58),
            (',', None, " -0,5 ", -0.5),
            (',', Some('.'), "4.583,58", 4583.58),
            (',', Some('.'), "-1.234.567", -1_234_567.0),
            (',', Some('.'), "27.912", 27_912.0),
            (',', Some('.'), "4583,58", 4583.58),
            (',', Some(' '), "4\u{202f}583,58", 4583.58),
            (',', Some(' '), "1 234\u{a0}567", 1_234_567.0),
            ('.', Some(','), "4,583.58", 4583.58),
            ('.', Some('\''), "4\u{2019}583.58", 4583.58),
            (',', None, "1,5e3", 1500.0),
        ] {
            assert_eq!(number(decimal, thousands, field), Some(value), "{field}");
        }
        let german = NumberNotation::new(',', Some('.')).unwrap();
        assert_eq!(german.integer("1.234"), Some(1234));
        assert_eq!(german.integer("1,0"), None);
        assert!(german.is_code("007") && !german.is_code("0,7"));
    }

    /// What is not a number of the notation must not become another number.
    #[test]
    fn a_value_of_another_notation_is_no_number() {
        for (decimal, thousands, field) in [
            (',', None, "4.583,58"),
            (',', None, "12.5"),
            (',', Some('.'), "12.5"),
            (',', Some('.'), "1234.567"),
            (',', Some('.'), "12.34,5"),
            (',', Some('.'), "1,234,567"),
            (',', Some('.'), ".123"),
            (',', Some('.'), "1..234"),
            ('.', Some(','), "12,5"),
            ('.', Some(','), "4.583,58"),
            (',', Some('.'), "31.12.2020"),
            (',', Some(' '), "1 2"),
            (',', Some('.'), "k.A."),
            (',', None, "1,2,3"),
            (',', Some('.'), "1.500e3"),
            (',', Some('.'), ""),
            ('.', None, "4,5"),
        ] {
            assert_eq!(number(decimal, thousands, field), None, "{field}");
        }
        for (decimal, thousands) in
            [('.', Some('.')), (',', Some(',')), (';', None), ('.', Some('-')), ('.', Some('1'))]
        {
            assert_eq!(NumberNotation::new(decimal, thousands), None);
        }
    }
}
