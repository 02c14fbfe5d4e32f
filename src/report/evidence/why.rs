//! *Why*: who switches more often than the others, and through which features; the sentences are in
//! `why.html`, and those that the reading path shares in `pattern.html`.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::harm::side_of;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{PlotPoint, PlotScale};
use crate::report::page::PageSection;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};
use crate::table::{SharedText, has_flag};
use crate::text::fact;

/// Blocks on the page; the table has all.
const BLOCKS_AT_MOST: usize = 6;
/// Features drawn of a block; the others become one line.
const FEATURES_AT_MOST: usize = 6;

/// The people that a block asks about, and what is a switch; the rate where a metric by label is
/// asked for.
pub(super) fn question(inputs: &BriefInputs<'_>, row: &SwitchPatternRow) -> Value {
    let (voice, metric) = (inputs.voice, row.metric.as_str());
    let some = |name: &SharedText| Some(name.clone()).filter(|name| !name.is_empty());
    let group = |name| Some(voice.called_group(&row.sensitive, &some(name)?));
    let set = some(&row.counterfactual).map(|set| voice.called_set(&set));
    context! {
        model => fact(&voice.called_model(&row.model)), set => fact(&set), metric,
        arm => row.arm.as_str(), side => fact(&side_of(metric)),
        rate => fact(&voice.by_label(metric)), from => fact(&group(&row.from_group)),
        to => fact(&group(&row.to_group)),
    }
}

/// What a feature adds to the switches.
fn added(row: &SwitchFeatureRow) -> Option<PlotPoint> {
    Some(PlotPoint::new(row.decision?, row.decision_lo.zip(row.decision_hi)))
}

/// A feature through which people switch, with the attribute where it is its entry.
pub(super) fn feature(inputs: &BriefInputs<'_>, row: &SwitchFeatureRow) -> Value {
    let is_entry = row.feature == row.sensitive;
    let entry = is_entry.then(|| inputs.voice.called_attribute(&row.sensitive));
    context!(row => fact(row), entry => fact(&entry), point => fact(&added(row)))
}

/// What each feature adds to the switches of a block, of the direction with the most people; none
/// where too few are explained.
pub(super) fn features<'a>(inputs: &BriefInputs<'a>, why: &str) -> Vec<&'a SwitchFeatureRow> {
    let own = || {
        let rows = inputs.audit.switch_features.iter();
        rows.filter(|row| row.why == *why && row.people == "switched" && row.n > 0)
    };
    let is_small = |row: &&SwitchFeatureRow| has_flag(&row.flags, "small_denominator");
    let most = own().rev().max_by_key(|row| row.of);
    let Some(most) = most.filter(|row| !is_small(row)) else { return Vec::new() };
    let direction = |row: &SwitchFeatureRow| (row.from_group.clone(), row.to_group.clone());
    let mut found: Vec<&SwitchFeatureRow> =
        own().filter(|row| row.moved > 0 && direction(row) == direction(most)).collect();
    let adds = |row: &SwitchFeatureRow| row.decision.unwrap_or(0.0);
    found.sort_by(|a, b| adds(b).total_cmp(&adds(a)));
    found
}

/// The first feature, and the one that alone would undo most switches.
fn through(
    inputs: &BriefInputs<'_>,
    everybody: &SwitchPatternRow,
    features: &[&SwitchFeatureRow],
) -> Option<Value> {
    let first = *features.first()?;
    first.decision.filter(|share| *share > 0.0)?;
    let most = features.iter().max_by_key(|row| (row.undone, row.feature == first.feature))?;
    let undone = PlotPoint::new(most.undone_rate?, most.undone_lo.zip(most.undone_hi));
    let called = |group: &str| inputs.voice.called_group(&first.sensitive, group);
    let direction = [called(&first.from_group), called(&first.to_group)];
    let direction = Some(direction).filter(|_| everybody.to_group.is_empty());
    let [first_facts, most_facts] = [first, most].map(|row| feature(inputs, row));
    Some(context! {
        first => first_facts, most => most_facts,
        is_first => most.feature == first.feature, undone => fact(&undone),
        direction => fact(&direction),
    })
}

/// Why no feature is named although the block asks for features.
fn unexplained(inputs: &BriefInputs<'_>, why: &str) -> Option<&'static str> {
    let rows = || inputs.audit.switch_features.iter().filter(|row| row.why == *why);
    rows().next()?;
    let no_switch = |row: &SwitchFeatureRow| {
        ["nobody_counted", "nobody_switches"].iter().any(|flag| has_flag(&row.flags, flag))
    };
    let mut nobody = rows().filter(|row| row.n == 0);
    Some(if rows().all(|row| row.n == 0 && no_switch(row)) {
        "no_switch"
    } else if nobody.clone().any(|row| has_flag(&row.flags, "asks_at_most")) {
        "asks_at_most"
    } else if nobody.any(|row| !no_switch(row)) {
        "no_score"
    } else {
        "too_few"
    })
}

/// A block: the row of everybody on the half that was tested, and what explains its switches.
fn block<'a>(
    inputs: &BriefInputs<'a>,
    everybody: &'a SwitchPatternRow,
    explained: &[&SwitchFeatureRow],
) -> Value {
    let patterns = || inputs.audit.patterns.iter().filter(|row| row.why == everybody.why);
    let carried = || patterns().filter(|row| row.half == "second" && !row.pattern.is_empty());
    let mut rows: Vec<&'a SwitchPatternRow> = carried().filter(|row| row.told.is_some()).collect();
    rows.sort_by_key(|row| row.told);
    rows.push(everybody);
    let point = |row: &SwitchPatternRow| Some(PlotPoint::new(row.rate?, row.lo.zip(row.hi)));
    let told = |row: &'a SwitchPatternRow| Some((row, point(row)?, row.listed_traits()?));
    let rows: Vec<_> = rows.into_iter().filter_map(told).collect();
    let extent = rows.iter().flat_map(|(_, point, _)| point.extent());
    let drawn = &explained[..explained.len().min(FEATURES_AT_MOST)];
    let ends = drawn.iter().filter_map(|row| added(row)).flat_map(PlotPoint::extent);
    let rest = &explained[drawn.len()..];
    let without = Some(everybody.why.as_str()).filter(|_| explained.is_empty());
    context! {
        why => everybody.why.as_str(), carried => carried().count(),
        question => question(inputs, everybody), searched => everybody.n > 0
            && !rows.is_empty()
            && patterns().any(|row| row.half == "first" && row.pattern.is_empty() && row.n > 0),
        confirmed => carried().filter(|row| row.confirmed == Some(1)).count(),
        scale => fact(&PlotScale::from_zero(extent, 1.0)), rows => fact(&rows),
        through => through(inputs, everybody, explained),
        unexplained => without.and_then(|why| unexplained(inputs, why)),
        features => drawn.iter().map(|row| feature(inputs, row)).collect::<Value>(),
        feature_scale => fact(&PlotScale::around_zero(ends)), n_rest => rest.len(),
        rest => rest.iter().filter_map(|row| row.decision).sum::<f64>(),
    }
}

/// The section, where the job asks why.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let rows = inputs.audit.patterns.iter();
    let rows = rows.filter(|row| row.half == "second" && row.pattern.is_empty());
    let asked: Vec<(&SwitchPatternRow, Vec<&SwitchFeatureRow>)> =
        rows.map(|row| (row, features(inputs, &row.why))).collect();
    if asked.is_empty() {
        return None;
    }
    let flagged = |flag: &str| {
        let of_features = asked.iter().flat_map(|(_, features)| features).map(|row| &row.flags);
        let mut all = asked.iter().map(|(row, _)| &row.flags).chain(of_features);
        all.any(|flags| has_flag(flags, flag))
    };
    let shown = asked.iter().take(BLOCKS_AT_MOST);
    let facts = context! {
        explained => asked.iter().any(|(_, features)| !features.is_empty()),
        unweighted => flagged("unweighted"), missing_scores => flagged("missing_scores"),
        more => asked.len().saturating_sub(BLOCKS_AT_MOST),
        blocks => shown.map(|(row, features)| block(inputs, row, features)).collect::<Value>(),
    };
    Some(PageSection::of_facts("why", "why.html", facts))
}
