//! Against the last version: what changed for whom. Facts only; the sentences are in
//! `changes.html`.

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::metric::catalog::ccm::HARM;
use crate::report::brief::harm::side_of;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{PlotScale, SwitchSide};
use crate::report::page::PageSection;
use crate::report::page::number::NumberFormat;
use crate::report::page::terms;
use crate::report::page::words::short;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 12;

/// A value before and after.
#[derive(Serialize)]
struct VersionChange {
    label: String,
    before: f64,
    after: f64,
    interval: Option<(f64, f64)>,
    clear: bool,
    reading: String,
}

fn changes(inputs: &BriefInputs<'_>) -> Vec<VersionChange> {
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
        let what = match side_of(metric) {
            SwitchSide::Either => voice.measured(metric).unwrap_or_else(|| terms::name(metric)),
            side => voice.switch_label(side, attribute, pair),
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
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let baseline = inputs.audit.manifest.baseline.as_ref()?;
    let found = changes(inputs);
    let clearly = |reading: &str| found.iter().filter(|c| c.clear && c.reading == reading).count();
    let shown = &found[..found.len().min(ROWS_AT_MOST)];
    let scale = PlotScale::from_zero(shown.iter().flat_map(|c| [c.before, c.after]), 1.0);
    let facts = context! {
        run => &baseline.run, version => &baseline.version, all => found.len(),
        worse => clearly("worse"), better => clearly("better"),
        scale => Value::from(Serde(&scale)), shown => Value::from(Serde(shown)),
    };
    Some(PageSection::untitled("against", "changes.html", facts))
}
