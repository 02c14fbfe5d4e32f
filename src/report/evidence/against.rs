//! Against the last version: what changed for whom.

use crate::metric::catalog::ccm::HARM;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{AxisUnit, KeyShape, PlotScale, SwitchSide, axis, dumbbell_row};
use crate::report::page::PageBlock;
use crate::report::page::brief::BriefSection;
use crate::report::page::digits::{ends_text, value_text};
use crate::report::page::number::NumberFormat;
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::{RichText, short};
use crate::report::section::against::MODELS_AS_GIVEN;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 12;

/// A value before and after.
struct VersionChange {
    label: String,
    before: f64,
    after: f64,
    interval: Option<(f64, f64)>,
    clear: bool,
    reading: String,
}

fn changes(inputs: &BriefInputs<'_>, glossary: &mut PageGlossary<'_>) -> Vec<VersionChange> {
    let voice = inputs.voice;
    let mut found = Vec::new();
    for row in inputs.audit.changes.iter() {
        let plain = [&row.key.arm, &row.key.slice, &row.class].iter().all(|text| text.is_empty());
        let metric = row.metric.as_str();
        let share = matches!(terms::kind(metric, row.key.scope.as_str()), NumberFormat::Share);
        let wanted = HARM.contains(&metric) && row.key.scope.as_str() == "direction"
            || metric == "sr" && row.key.scope.as_str() == "total"
            || metric == "acc" && row.key.scope.as_str() == "total";
        if !(plain && share && wanted && row.status.as_str() == "compared") {
            continue;
        }
        let (Some(before), Some(after)) = (row.old_value, row.new_value) else {
            continue;
        };
        let attribute = row.key.sensitive.as_str();
        let pair = (row.key.from_group.as_str(), row.key.to_group.as_str());
        let what = if metric == HARM[0] {
            voice.switch_label(SwitchSide::Gained, attribute, pair)
        } else if metric == HARM[1] {
            voice.switch_label(SwitchSide::Lost, attribute, pair)
        } else {
            voice.measured(metric).unwrap_or_else(|| glossary.show(metric).name)
        };
        let set = row.key.counterfactual.as_str();
        let set =
            if set.is_empty() { String::new() } else { format!(", {}", voice.set_label(set)) };
        let change = VersionChange {
            label: format!("{what}: {}{set}", short(row.key.model.as_str())),
            before,
            after,
            interval: row.lo.zip(row.hi),
            clear: row.clear == 1,
            reading: row.reading.as_str().to_owned(),
        };
        // Accuracy is the same for every attribute.
        if found.iter().all(|other: &VersionChange| other.label != change.label) {
            found.push(change);
        }
    }
    let order = |change: &VersionChange| match (change.clear, change.reading.as_str()) {
        (true, "worse") => 0,
        (true, _) => 1,
        (false, _) => 2,
    };
    found.sort_by(|a, b| {
        let size = |c: &VersionChange| (c.after - c.before).abs();
        order(a).cmp(&order(b)).then(size(b).total_cmp(&size(a)))
    });
    found
}

/// The section; none without an earlier run.
pub(super) fn section(
    inputs: &BriefInputs<'_>,
    glossary: &mut PageGlossary<'_>,
) -> Option<BriefSection> {
    let baseline = inputs.audit.manifest.baseline.as_ref()?;
    let found = changes(inputs, glossary);
    let version = baseline.version.as_deref().map_or_else(
        || format!("run {}", baseline.run),
        |version| format!("version {version} (run {})", baseline.run),
    );
    let worse = found.iter().filter(|c| c.clear && c.reading == "worse").count();
    let better = found.iter().filter(|c| c.clear && c.reading == "better").count();
    let lead = if found.is_empty() {
        format!("No value can be compared with {version}.")
    } else {
        format!(
            "Since {version}: {worse} of {} values are clearly worse, {better} clearly better.",
            found.len()
        )
    };
    let mut blocks: Vec<PageBlock> = vec![BriefBlock::Lead(RichText::new().quote(lead)).into()];
    let shown = &found[..found.len().min(ROWS_AT_MOST)];
    if !shown.is_empty() {
        let scale = PlotScale::from_zero(shown.iter().flat_map(|c| [c.before, c.after]), 1.0);
        let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        for change in shown {
            let kind = NumberFormat::Points;
            let difference = change.after - change.before;
            let value = value_text(kind, difference, change.interval);
            let ends = change.interval.map_or_else(String::new, |ends| ends_text(kind, ends));
            let title = format!("{}: change {value}, {ends}", change.label);
            let word = if change.clear { change.reading.as_str() } else { "may be chance" };
            lines.push(PlotLine::Row(Box::new(PlotRow {
                label: RichText::new().quote(&change.label),
                people: word.to_owned().into(),
                drawing: dumbbell_row(scale, (change.before, change.after), change.clear, &title),
                value: value.replace("\u{a0}points", "").replace("\u{a0}point", ""),
                href: inputs.href("against"),
                ends,
                ..PlotRow::default()
            })));
        }
        let keys = RichText::new()
            .key(KeyShape::Ring, "before")
            .key(KeyShape::Dot, "now")
            .text(
                "Changes in points. Thick: clearly different from zero. With many comparisons a \
                 few are clear by chance. ",
            )
            .text(MODELS_AS_GIVEN);
        blocks.push(PageBlock::Note(keys));
        let label = "Values before and now".to_owned();
        let bodies = vec![PlotBody { block: false, lines }];
        blocks.push(BriefBlock::Plots(PlotTable { label, class: "", bodies }).into());
    }
    let note = RichText::from("Differences between the jobs, and all values: ");
    let note = inputs.link(note, "Against the last version", "against");
    blocks.push(PageBlock::Note(note.text(".")));
    Some(BriefSection {
        id: "against",
        title: "What changed since the last version?".into(),
        short: "Against the last version",
        blocks,
    })
}
