//! Against the last version: what changed for whom. Facts only; the sentences are in
//! `changes.html`.

use minijinja::context;

use crate::metric::catalog::ccm::HARM;
use crate::report::brief::harm::side_of;
use crate::report::brief::inputs::BriefInputs;
use crate::report::draw::plot::{PlotScale, SwitchSide};
use crate::report::page::PageSection;
use crate::report::page::number::NumberFormat;
use crate::report::page::terms;
use crate::report::page::words::short;
use crate::table::ChangeRow;
use crate::text::fact;

/// Rows on the page; the others are in the annex.
const ROWS_AT_MOST: usize = 12;

/// The changes that concern people, with what each is of, the clearly worse ones first.
fn changes<'a>(inputs: &BriefInputs<'a>) -> Vec<(String, &'a ChangeRow)> {
    let voice = inputs.voice;
    let mut found: Vec<(String, &ChangeRow)> = Vec::new();
    for row in inputs.audit.changes.iter() {
        let plain = [&row.key.arm, &row.key.slice, &row.class].iter().all(|text| text.is_empty());
        let metric = row.metric.as_str();
        let share = matches!(terms::kind(metric, row.key.scope.as_str()), NumberFormat::Share);
        let wanted = HARM.contains(&metric) && row.key.scope.as_str() == "direction"
            || metric == "sr" && row.key.scope.as_str() == "total"
            || metric == "acc" && row.key.scope.as_str() == "total"
            || ["acc", "pprev", "tpr"].contains(&metric) && row.key.scope.as_str() == "group";
        let has_both = row.old_value.is_some() && row.new_value.is_some();
        if !(plain && share && wanted && has_both && row.status.as_str() == "compared") {
            continue;
        }
        let attribute = row.key.sensitive.as_str();
        let pair = (row.key.from_group.as_str(), row.key.to_group.as_str());
        let what = match side_of(metric) {
            SwitchSide::Either => {
                let measured = voice.measured(metric).unwrap_or_else(|| terms::name(metric));
                match row.key.scope.as_str() {
                    "group" => format!("{measured}, {}", voice.people(attribute, pair.0)),
                    _ => measured,
                }
            }
            side => voice.switch_label(side, attribute, pair),
        };
        let set = row.key.counterfactual.as_str();
        let set =
            if set.is_empty() { String::new() } else { format!(", {}", voice.set_label(set)) };
        let label = format!("{what}: {}{set}", short(row.key.model.as_str()));
        // Accuracy is the same for every attribute.
        if found.iter().all(|(other, _)| *other != label) {
            found.push((label, row));
        }
    }
    let order = |row: &ChangeRow| match (row.clear == 1, row.reading.as_str()) {
        (true, "worse") => 0,
        (true, _) => 1,
        (false, _) => 2,
    };
    let size = |row: &ChangeRow| {
        row.new_value.zip(row.old_value).map_or(0.0, |(new, old)| (new - old).abs())
    };
    found.sort_by(|(_, a), (_, b)| order(a).cmp(&order(b)).then(size(b).total_cmp(&size(a))));
    found
}

/// The section; none without an earlier run.
pub(super) fn section(inputs: &BriefInputs<'_>) -> Option<PageSection> {
    let baseline = inputs.audit.manifest.baseline.as_ref()?;
    let found = changes(inputs);
    let clearly = |reading: &str| {
        found.iter().filter(|(_, row)| row.clear == 1 && row.reading == *reading).count()
    };
    let shown = &found[..found.len().min(ROWS_AT_MOST)];
    let values = shown.iter().flat_map(|(_, row)| [row.old_value, row.new_value]).flatten();
    let scale = PlotScale::from_zero(values, 1.0);
    let facts = context! {
        run => &baseline.run, version => &baseline.version, all => found.len(),
        worse => clearly("worse"), better => clearly("better"),
        moved => clearly("higher") + clearly("lower"),
        clear => inputs.audit.changes.iter().filter(|row| row.clear == 1).count(),
        compared => inputs.audit.changes.iter().filter(|row| row.difference.is_some()).count(),
        scale => fact(&scale), shown => fact(shown),
    };
    Some(PageSection::of_facts("against", "changes.html", facts))
}
