//! People who switched, where the job asks for them: what changed for each, and what the model said
//! before and after.

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::ModelWords;
use crate::num::short_number::short_text;
use crate::report::brief::harm::ranked;
use crate::report::brief::hero::HeroFinding;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::SwitchSide;
use crate::report::page::PageSection;
use crate::report::page::words::{level, short};
use crate::report::read::grouped::grouped;
use crate::report::read::panel::ResultKey;
use crate::table::{CfExampleRow, SharedText};
use crate::text::fact;

/// Features of a card that changed, and of any kind.
const CHANGED_AT_MOST: usize = 10;
const LINES_AT_MOST: usize = 6;

/// The people in the rows of features of a model, set and attribute, in the order in which they
/// were drawn: the table is sorted by groups first.
fn people<'a>(rows: impl Iterator<Item = &'a CfExampleRow>) -> Vec<(i64, Vec<&'a CfExampleRow>)> {
    let mut people = grouped(rows.map(|row| (row.example, row)));
    people.sort_by_key(|(number, _)| *number);
    people
}

/// The people of the finding that heads the page, else of the model, set and attribute that harm
/// most among those that have cases, else of the first that have any.
fn shown<'a>(
    inputs: &BriefInputs<'a>,
    finding: &HeroFinding<'a>,
) -> Vec<(i64, Vec<&'a CfExampleRow>)> {
    let of = |key: &ResultKey| {
        let rows = inputs.audit.cases.iter();
        people(rows.filter(|of| key.is_about([&of.model, &of.counterfactual, &of.sensitive])))
    };
    let keys = inputs
        .drawn_result(finding)
        .into_iter()
        .chain(ranked(inputs.results))
        .map(|result| &result.key);
    let first = inputs.audit.cases.first().map(|case| {
        let is_alike = |of: &&CfExampleRow| audited(of) == audited(case);
        people(inputs.audit.cases.iter().filter(is_alike))
    });
    keys.map(of).find(|people| !people.is_empty()).or(first).unwrap_or_default()
}

/// Model, set and attribute of a case.
fn audited(case: &CfExampleRow) -> [&SharedText; 3] {
    [&case.model, &case.counterfactual, &case.sensitive]
}

/// The section; none where the job shows no cases.
pub(super) fn section<'a>(
    inputs: &BriefInputs<'a>,
    finding: &HeroFinding<'a>,
) -> Option<PageSection> {
    let people = shown(inputs, finding);
    let first = *people.first()?.1.first()?;
    let cards = people.iter().zip(1..);
    let cards = cards.filter_map(|((_, features), number)| {
        Some(card(inputs, number, features.first()?, features))
    });
    let facts = context! {
        n => people.len(), model => fact(&inputs.voice.called_model(&first.model)),
        set => fact(&inputs.voice.called_set(&first.counterfactual)),
        cards => cards.collect::<Value>(),
    };
    Some(PageSection::of_facts("cases", "cases.html", facts))
}

/// The side of a switch from one decision to the other; either of a switch between classes.
fn side(inputs: &BriefInputs<'_>, case: &CfExampleRow) -> SwitchSide {
    match (inputs.audit.manifest.favourable_is_positive(), case.decision_cf) {
        (_, None) => SwitchSide::Either,
        (Some(positive), Some(after)) if positive == after => SwitchSide::Gained,
        (None, Some(true)) => SwitchSide::Gained,
        _ => SwitchSide::Lost,
    }
}

/// The card of a person; `case` is any of the rows of features.
fn card(
    inputs: &BriefInputs<'_>,
    number: usize,
    case: &CfExampleRow,
    features: &[&CfExampleRow],
) -> Value {
    let group = |name: &str| fact(&inputs.voice.called_group(&case.sensitive, name));
    let (lines, rest) = lines(inputs, features);
    context! {
        number, from => group(&case.from_group), to => group(&case.to_group),
        side => fact(&side(inputs, case)), track => track(inputs, case), lines, rest,
        classes => [&case.class, &case.class_cf].map(ToString::to_string),
    }
}

/// Where both scores and the cut-off are, with their texts, and on which side of the cut-off the
/// favourable decision is; none where there are no scores.
fn track(inputs: &BriefInputs<'_>, case: &CfExampleRow) -> Option<Value> {
    let manifest = &inputs.audit.manifest;
    let (model, before, after) = (manifest.model(&case.model)?, case.score?, case.score_cf?);
    let scale = model.score_scale();
    let cut_off = model.cut_off().filter(|at| scale.contains(*at));
    let scores = [Some(before), Some(after), cut_off];
    let texts = score_texts(model, &scores);
    let marks =
        scores.iter().flatten().zip(&texts).map(|(score, text)| (scale.share(*score), text));
    let side = match (manifest.favourable_is_positive() != Some(false), scale.turned) {
        (true, false) => "from",
        (true, true) => "up_to",
        (false, false) => "below",
        (false, true) => "above",
    };
    Some(context!(marks => fact(&marks.collect::<Vec<_>>()), side))
}

/// Scores as people read them: as many decimals as fit the width of the scale, and more if
/// different ones would look equal.
fn score_texts(model: &ModelWords, scores: &[Option<f64>]) -> Vec<String> {
    let width = model.score_scale().width();
    let least = match width {
        width if width >= 100.0 => 0,
        width if width >= 10.0 => 1,
        _ => 2,
    };
    let texts = |decimals: usize| -> Vec<String> {
        let text = |score: &Option<f64>| {
            score.map_or_else(String::new, |score| {
                format!("{score:.decimals$}").replace('-', "\u{2212}")
            })
        };
        scores.iter().map(text).collect()
    };
    let is_told = |texts: &Vec<String>| {
        (1..scores.len()).all(|i| (0..i).all(|j| texts[i] != texts[j] || scores[i] == scores[j]))
    };
    (least..12).map(texts).find(is_told).unwrap_or_else(|| texts(12))
}

/// What changed first, then what did not, as far as there is room, and what is left out.
fn lines(inputs: &BriefInputs<'_>, features: &[&CfExampleRow]) -> (Value, Value) {
    let (mut changed, same): (Vec<&CfExampleRow>, Vec<&CfExampleRow>) =
        features.iter().copied().partition(|feature| feature.changed);
    changed.sort_by_key(|feature| !is_entry(inputs, feature));
    let n_changed = changed.len().min(CHANGED_AT_MOST);
    let n_same = same.len().min(LINES_AT_MOST.saturating_sub(n_changed));
    let left = (changed.len() - n_changed, same.len() - n_same);
    let shown = changed.into_iter().take(n_changed).chain(same.into_iter().take(n_same));
    let line = |row: &CfExampleRow| {
        let is_entry = row.feature == row.sensitive;
        let entry = is_entry.then(|| fact(&inputs.voice.called_attribute(&row.sensitive)));
        let [before, after] = values(inputs, row);
        context!(name => row.feature.as_str(), entry, changed => row.changed, before, after)
    };
    let (changed, same) = left;
    (shown.map(line).collect(), context!(changed, same))
}

/// Whether a feature is the attribute itself, or a column that is set along with it.
fn is_entry(inputs: &BriefInputs<'_>, row: &CfExampleRow) -> bool {
    let set = inputs.voice.set(&row.counterfactual);
    let written = set.and_then(|set| set.written.get(row.sensitive.as_str()));
    row.feature == row.sensitive || written.into_iter().flatten().any(|of| row.feature == of.column)
}

/// Both values, none where one is missing: codes by their names, numbers with few digits that still
/// distinguish them.
fn values(inputs: &BriefInputs<'_>, row: &CfExampleRow) -> [Option<String>; 2] {
    let names = inputs.audit.manifest.names.get(row.feature.as_str());
    let numbers = [&row.value, &row.value_cf]
        .map(|value| value.as_deref().and_then(|value| value.parse::<f64>().ok()));
    let number = |value: f64, other: Option<f64>| {
        short_text(value, other.filter(|other| *other > value && row.changed))
    };
    let texts = [
        numbers[0].and_then(|value| number(value, numbers[1])),
        numbers[1].and_then(|value| number(value, numbers[0])),
    ];
    let shown = |value: &Option<SharedText>, short_one: &Option<String>| {
        let code = value.as_deref()?;
        let name = names.and_then(|names| names.get(code)).map(|name| short(name));
        let name = name.unwrap_or_else(|| level(short_one.as_deref().unwrap_or(code)));
        Some(name.into_owned())
    };
    [shown(&row.value, &texts[0]), shown(&row.value_cf, &texts[1])]
}

#[cfg(test)]
mod tests {
    use super::{people, score_texts};
    use crate::folder::manifest::ModelWords;
    use crate::table::CfExampleRow;
    use crate::tests::TextRow;

    #[test]
    fn people_stand_in_the_order_in_which_they_were_drawn() {
        let row = |to: &str, example: i64, feature: &str| {
            CfExampleRow::of(&format!("to_group={to}, example={example}, feature={feature}"))
        };
        let rows = [row("a", 1, "age"), row("a", 1, "job"), row("b", 0, "age"), row("b", 2, "age")];
        let people = people(rows.iter());
        let told: Vec<_> = people.iter().map(|(_, of)| (&*of[0].to_group, of.len())).collect();
        assert_eq!(told, [("b", 1), ("a", 2), ("b", 1)]);
    }

    #[test]
    fn scores_have_the_digits_that_tell_them_apart() {
        let texts = |scores: [f64; 3]| score_texts(&ModelWords::default(), &scores.map(Some));
        assert_eq!(texts([0.617, 0.409, 0.5]), ["0.62", "0.41", "0.50"]);
        assert_eq!(texts([0.4996, 0.5003, 0.5]), ["0.4996", "0.5003", "0.5000"]);
        assert_eq!(texts([0.5, 0.409, 0.5]), ["0.50", "0.41", "0.50"]);
        assert_eq!(score_texts(&ModelWords::default(), &[Some(0.5), None]), ["0.50", ""]);
    }
}
