//! Who switches more often than the others, and through what: the traits that were confirmed and
//! what each feature adds, two sentences and a picture for each block of the job.

use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{
    AxisUnit, KeyShape, PlotPoint, PlotScale, SwitchSide, axis, forest_row,
};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::{ends_text, value_text};
use crate::report::page::number::{NumberFormat, count, count_of};
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::{RichText, capital, short};
use crate::table::has_flag;
use crate::table::why::{SwitchFeatureRow, SwitchPatternRow};

/// Blocks that are shown; the others are in the table.
const BLOCKS_AT_MOST: usize = 6;

/// Features of a block that are drawn.
const FEATURES_AT_MOST: usize = 6;

/// What a block tells, of its second half.
struct ToldBlock<'a> {
    everybody: &'a SwitchPatternRow,
    /// People in the half that was searched.
    searched: i64,
    told: Vec<&'a SwitchPatternRow>,
    confirmed: usize,
    carried: usize,
    /// What each feature adds for those who switch, the most first; of several directions the one
    /// with the most people.
    features: Vec<&'a SwitchFeatureRow>,
}

/// The features of those who switch, of the direction with the most of them; none of so few people
/// that nothing can be said.
pub(super) fn features<'a>(inputs: &BriefInputs<'a>, why: &str) -> Vec<&'a SwitchFeatureRow> {
    let own = || {
        let rows = inputs.audit.switch_features.iter();
        rows.filter(|row| row.why == *why && row.people == "switched" && row.n > 0)
    };
    // Of equal directions the first.
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

fn blocks<'a>(inputs: &BriefInputs<'a>) -> Vec<ToldBlock<'a>> {
    let rows = &inputs.audit.patterns;
    let second = || rows.iter().filter(|row| row.half.as_str() == "second");
    let block = |everybody: &'a SwitchPatternRow| {
        let own = || second().filter(|row| row.why == everybody.why && !row.pattern.is_empty());
        let mut told: Vec<&SwitchPatternRow> = own().filter(|row| row.told.is_some()).collect();
        told.sort_by_key(|row| row.told);
        let first =
            rows.iter().filter(|row| row.half.as_str() == "first" && row.why == everybody.why);
        ToldBlock {
            everybody,
            searched: first.filter(|row| row.pattern.is_empty()).map(|row| row.n).sum(),
            told,
            confirmed: own().filter(|row| row.confirmed == Some(1)).count(),
            carried: own().count(),
            features: features(inputs, everybody.why.as_str()),
        }
    };
    second().filter(|row| row.pattern.is_empty()).map(block).collect()
}

fn side(row: &SwitchPatternRow) -> SwitchSide {
    match row.metric.as_str() {
        "denied_by_group" => SwitchSide::Gained,
        "favoured_by_group" => SwitchSide::Lost,
        _ => SwitchSide::Either,
    }
}

/// `refused women`, `people`.
pub(super) fn people(inputs: &BriefInputs<'_>, row: &SwitchPatternRow) -> String {
    let (attribute, group) = (row.sensitive.as_str(), row.from_group.as_str());
    let of_group = |rest: &str| match group {
        "" => format!("people{rest}"),
        _ => format!("{}{rest}", inputs.voice.people(attribute, group)),
    };
    match row.metric.as_str() {
        "denied_by_group" | "favoured_by_group" if !group.is_empty() => {
            inputs.voice.switchable(side(row), attribute, group)
        }
        "denied_by_group" => of_group(" with the unfavourable decision"),
        "favoured_by_group" => of_group(" with the favourable decision"),
        "nsr" => of_group(" predicted positive"),
        "psr" => of_group(" predicted negative"),
        metric => match inputs.voice.among(metric) {
            Some(among) => of_group(&format!(" {among}")),
            None => of_group(""),
        },
    }
}

/// `would be granted the loan as men`, `are wrongly refused`.
pub(super) fn switch(inputs: &BriefInputs<'_>, row: &SwitchPatternRow) -> String {
    if let Some(done) = inputs.voice.done(row.metric.as_str()) {
        return format!("are {done}");
    }
    let would = match row.metric.as_str() {
        "nsr" => "would be predicted negative".to_owned(),
        "psr" => "would be predicted positive".to_owned(),
        _ => inputs.voice.would(side(row)),
    };
    match row.to_group.as_str() {
        "" => format!("{would} as another group"),
        to => format!("{would} {}", inputs.voice.as_group(row.sensitive.as_str(), to)),
    }
}

/// A pattern as it is read: `income above 29.63, occupation = Sales`.
pub(super) fn traits(pattern: &str) -> String {
    let words = short(pattern).replace(" = above ", " above ").replace(" = up to ", " up to ");
    words.replace(" = (", " in (")
}

pub(super) fn rate_text(row: &SwitchPatternRow) -> String {
    let ends = row.lo.zip(row.hi);
    row.rate.map_or_else(String::new, |rate| value_text(NumberFormat::Share, rate, ends))
}

/// Which retrained models decide: ` (arm augment/all)`; nothing of the audited model.
fn arm(row: &SwitchPatternRow) -> String {
    match row.arm.as_str() {
        "" => String::new(),
        arm => format!(" (arm {})", short(arm)),
    }
}

/// `By the logistic model (entry only): with occupation = Sales, 58 % of refused women would be
/// granted the loan as men (87 of 150; 50 to 66), against 24 % of the others.`
fn first_sentence(inputs: &BriefInputs<'_>, block: &ToldBlock<'_>) -> String {
    let of = block.everybody;
    let who = people(inputs, of);
    let set = match of.counterfactual.as_str() {
        "" => String::new(),
        set => format!(" ({})", inputs.voice.set_label(set)),
    };
    let by = format!("By {}{}{set}: ", inputs.voice.model(of.model.as_str()), arm(of));
    let Some(row) = block.told.first() else {
        let found = match block.confirmed {
            0 => "no trait was confirmed with more switches",
            _ => {
                "no confirmed pattern clearly exceeds the shorter patterns that it is derived from"
            }
        };
        let rate = format!("{} of {} {}", count(of.k), count(of.n), switch(inputs, of));
        return format!("{by}{found} among {who}: {rate}.");
    };
    let ends = row.lo.zip(row.hi);
    let ends =
        ends.map_or_else(String::new, |ends| format!("; {}", ends_text(NumberFormat::Share, ends)));
    let others = row.k_others.zip(row.n_others).filter(|(_, n)| *n > 0);
    let others = others.map_or_else(String::new, |(k, n)| {
        let rate = k as f64 / n as f64;
        format!(
            ", against {} of the others",
            value_text(NumberFormat::Share, rate, row.lo.zip(row.hi))
        )
    });
    format!(
        "{by}with {}, {} of {who} {} ({} of {}{ends}){others}.",
        traits(row.pattern.as_str()),
        rate_text(row),
        switch(inputs, row),
        count(row.k),
        count(row.n)
    )
}

fn second_sentence(block: &ToldBlock<'_>) -> String {
    let (carried, confirmed) = (block.carried, block.confirmed);
    if carried == 0 {
        return "No trait stood out on the half of the people that was searched. The numbers are \
                those of the other half."
            .to_owned();
    }
    let which = if carried == 1 { "1 pattern was" } else { "" };
    let found =
        if which.is_empty() { format!("{carried} patterns were") } else { which.to_owned() };
    let kept = match confirmed {
        0 => "none was".to_owned(),
        1 => "1 was".to_owned(),
        n => format!("{n} were"),
    };
    format!(
        "{found} found on one half of the people, and {kept} confirmed on the other half. The \
         numbers are those of the other half."
    )
}

/// `occupation`, `the entry for sex`.
pub(super) fn feature_name(inputs: &BriefInputs<'_>, row: &SwitchFeatureRow) -> String {
    if row.feature == row.sensitive {
        format!("the entry for {}", inputs.voice.attribute(row.sensitive.as_str()))
    } else {
        short(row.feature.as_str()).into_owned()
    }
}

/// `Of these switches, 45 % come about through occupation; 61 % would not happen if occupation
/// alone kept its value (87 of 142; 53 to 69).`
fn through_sentence(inputs: &BriefInputs<'_>, block: &ToldBlock<'_>) -> Option<String> {
    let first = block.features.first()?;
    let share = first.decision.filter(|share| *share > 0.0)?;
    let ends = first.decision_lo.zip(first.decision_hi);
    let name = feature_name(inputs, first);
    let direction = match block.everybody.to_group.as_str() {
        "" => {
            let (attribute, from) = (first.sensitive.as_str(), first.from_group.as_str());
            let to = inputs.voice.as_group(attribute, first.to_group.as_str());
            format!(" of {} {to}", inputs.voice.people(attribute, from))
        }
        _ => String::new(),
    };
    let most =
        block.features.iter().max_by_key(|row| (row.undone, row.feature == first.feature))?;
    let rate = most.undone_rate?;
    let undone_ends = most.undone_lo.zip(most.undone_hi);
    let interval = undone_ends
        .map_or_else(String::new, |ends| format!("; {}", ends_text(NumberFormat::Share, ends)));
    let kept =
        if most.feature == first.feature { "it".to_owned() } else { feature_name(inputs, most) };
    Some(format!(
        "Of the switches{direction}, {} come about through {name}; {} would not happen if {kept} \
         alone stayed the same ({} of {}{interval}).",
        value_text(NumberFormat::Share, share, ends),
        value_text(NumberFormat::Share, rate, undone_ends),
        count(most.undone.unwrap_or(0)),
        count(most.n)
    ))
}

/// Why no feature is named, where the job asks through what people switch; none where one is.
fn unexplained(inputs: &BriefInputs<'_>, block: &ToldBlock<'_>) -> Option<String> {
    let of = block.everybody;
    let rows = || inputs.audit.switch_features.iter().filter(|row| row.why == of.why);
    if !block.features.is_empty() || rows().next().is_none() {
        return None;
    }
    let nobody = || rows().filter(|row| row.n == 0);
    Some(if rows().all(|row| row.n == 0 && no_switch(row)) {
        "Nobody switches, so there is no switch to explain by features.".to_owned()
    } else if nobody().any(|row| has_flag(&row.flags, "asks_at_most")) {
        "Nobody could be explained by features: that would ask the model for more rows than \
         `asks_at_most` allows."
            .to_owned()
    } else if nobody().any(|row| !no_switch(row)) {
        "Nobody could be explained by features: mixtures of their features have no score."
            .to_owned()
    } else {
        "Too few people switch to say through which feature.".to_owned()
    })
}

/// Whether a row is about people among whom nobody switches.
fn no_switch(row: &SwitchFeatureRow) -> bool {
    ["nobody_counted", "nobody_switches"].iter().any(|flag| has_flag(&row.flags, flag))
}

/// The picture of what each feature adds: its own axis, a row for each.
fn feature_lines(inputs: &BriefInputs<'_>, block: &ToldBlock<'_>) -> Vec<PlotLine> {
    let Some(first) = block.features.first() else { return Vec::new() };
    let point = |row: &SwitchFeatureRow| {
        let interval = row.decision_lo.zip(row.decision_hi);
        Some(PlotPoint { value: row.decision?, interval, second: None })
    };
    let drawn = &block.features[..block.features.len().min(FEATURES_AT_MOST)];
    let extent = drawn.iter().filter_map(|row| point(row)).flat_map(PlotPoint::extent);
    let scale = PlotScale::around_zero(extent);
    let heading = RichText::new().text("Through what ").small(format!(
        "share of the switches; of {} explained, how many would not happen if it alone stayed the \
         same",
        count(first.n)
    ));
    let mut lines =
        vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None)), PlotLine::Sub(heading)];
    for row in drawn {
        let Some(point) = point(row) else { continue };
        let label = feature_name(inputs, row);
        let text = value_text(NumberFormat::Share, point.value, point.interval);
        let ends =
            point.interval.map_or_else(String::new, |ends| ends_text(NumberFormat::Share, ends));
        let title = match ends.as_str() {
            "" => format!("{label}: {text} of the switches"),
            ends => format!("{label}: {text} of the switches, interval {ends}"),
        };
        lines.push(PlotLine::Row(Box::new(PlotRow {
            people: count(row.undone.unwrap_or(0)).into(),
            drawing: forest_row(scale, point, SwitchSide::Either, None, None, &title),
            label: RichText::new().quote(label),
            value: text,
            ends,
            ..PlotRow::default()
        })));
    }
    let rest = &block.features[drawn.len()..];
    if !rest.is_empty() {
        let sum: f64 = rest.iter().filter_map(|row| row.decision).sum();
        lines.push(PlotLine::Fold(RichText::new().text(format!(
            "{} for {}.",
            count_of(rest.len() as i64, "further feature accounts", "further features account"),
            value_text(NumberFormat::Share, sum, None)
        ))));
    }
    lines
}

fn line(inputs: &BriefInputs<'_>, row: &SwitchPatternRow, scale: PlotScale) -> Option<PlotLine> {
    let value = row.rate?;
    let interval = row.lo.zip(row.hi);
    let label = match row.pattern.as_str() {
        "" => format!("all {}, this half", people(inputs, row)),
        pattern => traits(pattern),
    };
    let point = PlotPoint { value, interval, second: None };
    let text = rate_text(row);
    let ends = interval.map_or_else(String::new, |ends| ends_text(NumberFormat::Share, ends));
    let title = format!("{label}: {text}, interval {ends}");
    Some(PlotLine::Row(Box::new(PlotRow {
        people: format!("{} of {}", count(row.k), count(row.n)).into(),
        drawing: forest_row(scale, point, side(row), None, None, &title),
        label: RichText::new().quote(label),
        value: text,
        ends,
        ..PlotRow::default()
    })))
}

/// The section; none where the job does not ask why.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<BriefSection> {
    let found = blocks(inputs);
    if found.is_empty() {
        return None;
    }
    let mut page: Vec<PageBlock> = Vec::new();
    for block in found.iter().take(BLOCKS_AT_MOST) {
        let of = block.everybody;
        if of.n == 0 || block.searched == 0 {
            let nobody = format!(
                "Nothing was looked at: too few people count among {} to search one half of them \
                 and test the other.",
                people(inputs, of)
            );
            page.push(BriefBlock::Lead(RichText::new().quote(nobody)).into());
            continue;
        }
        page.push(BriefBlock::Lead(RichText::new().quote(first_sentence(inputs, block))).into());
        let through = through_sentence(inputs, block).or_else(|| unexplained(inputs, block));
        let second = through.clone().unwrap_or_else(|| second_sentence(block));
        page.push(PageBlock::Text(RichText::new().quote(second)));
        let rows: Vec<&SwitchPatternRow> =
            block.told.iter().copied().chain([block.everybody]).collect();
        let extent = rows.iter().flat_map(|row| [row.rate, row.hi].into_iter().flatten());
        let scale = PlotScale::from_zero(extent, 1.0);
        let set = if of.counterfactual.is_empty() {
            String::new()
        } else {
            format!(", {}", inputs.voice.set_label(of.counterfactual.as_str()))
        };
        let heading = RichText::new().quote(capital(&people(inputs, of))).text(" ").small(format!(
            "{}; {}{}{set}",
            switch(inputs, of),
            short(of.model.as_str()),
            arm(of)
        ));
        let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        lines.push(PlotLine::Sub(heading));
        lines.extend(rows.into_iter().filter_map(|row| line(inputs, row, scale)));
        let mut bodies = vec![PlotBody { block: false, lines }];
        if through.is_some() {
            let lines = feature_lines(inputs, block);
            bodies.extend((!lines.is_empty()).then_some(PlotBody { block: true, lines }));
            let found = RichText::new().quote(second_sentence(block));
            bodies[0].lines.push(PlotLine::Fold(found));
        }
        let label = format!("Who switches, {}", short(of.why.as_str()));
        page.push(BriefBlock::Plots(PlotTable { label, class: "forest", bodies }).into());
    }
    let mut note = RichText::new().key(KeyShape::Interval, "share who switch, with its interval");
    note = note.text(" All tested patterns, on both halves, are in the table switch_patterns.");
    if found.iter().any(|block| !block.features.is_empty()) {
        note = note.text(
            " Shares of features are means of Shapley values, which add up to all switches; the \
             table switch_features has them for scores too, and for people who do not switch.",
        );
    }
    let flagged = |flag: &str| {
        let of_patterns = found.iter().map(|block| &block.everybody.flags);
        let of_features = found.iter().flat_map(|block| &block.features).map(|row| &row.flags);
        of_patterns.chain(of_features).any(|flags| has_flag(flags, flag))
    };
    if flagged("unweighted") {
        note = note.text(" Everybody counts once here: weights are not used.");
    }
    if flagged("missing_scores") {
        note = note.text(" People with a mixture of features that has no score are not explained.");
    }
    if found.len() > BLOCKS_AT_MOST {
        note = note.text(format!(" It also has {} more questions.", found.len() - BLOCKS_AT_MOST));
    }
    page.push(PageBlock::Note(note));
    Some(BriefSection {
        id: "why",
        title: "Who switches more often than the others?".into(),
        short: "Why",
        blocks: page,
    })
}
