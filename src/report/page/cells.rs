//! Cells of tables that several sections print.

use crate::report::page::number::{self, NumberFormat};
use crate::report::page::{PageCell, terms};
use crate::report::read::panel::ReportedValue;

/// A value with counts and interval as a cell.
pub(crate) fn cell(measure: Option<&ReportedValue>, kind: NumberFormat) -> PageCell {
    let Some(measure) = measure else { return "\u{2013}".into() };
    let Some(value) = measure.value else {
        return PageCell {
            main: "undefined".into(),
            small: vec![terms::why(measure).into()],
            ..PageCell::default()
        };
    };
    let mut small = Vec::new();
    if let Some((part, whole)) = measure.counts {
        small.push(format!("{} of {}", number::count(part), number::count(whole)).into());
    }
    if let Some((lo, hi)) = measure.interval {
        small.push(kind.interval(value, lo, hi).into());
    }
    if measure.small {
        small.push("few cases".into());
    }
    PageCell { main: kind.value(value).into(), small, ..PageCell::default() }
}

/// What is below the values of a table that shows these: counts, intervals and their level, if
/// there are any.
pub(crate) fn level_in_words<'a>(measures: impl IntoIterator<Item = &'a ReportedValue>) -> String {
    let (mut levels, mut weighted, mut counted) = (Vec::new(), false, false);
    for measure in measures.into_iter().filter(|m| m.value.is_some()) {
        weighted |= measure.weights.is_some();
        counted |= measure.counts.is_some();
        levels.extend(measure.level.filter(|_| measure.interval.is_some()));
    }
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let interval = match levels.as_slice() {
        [] => String::new(),
        [level] => format!("its {} interval", number::level(*level)),
        _ => "its interval".to_owned(),
    };
    match (counted, weighted) {
        (_, true) if interval.is_empty() => {
            "; shares are weighted, with the number of cases below each share".to_owned()
        }
        (_, true) => format!(
            "; shares are weighted, with the number of cases and {interval} below each value"
        ),
        (true, _) if interval.is_empty() => "; below each share its counts".to_owned(),
        (true, _) => format!("; below each value its counts and {interval}"),
        (false, _) if interval.is_empty() => String::new(),
        (false, _) => format!("; below each value {interval}"),
    }
}
