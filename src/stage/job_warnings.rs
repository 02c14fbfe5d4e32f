//! Warnings about a job: what it asks for is no mistake, but may surprise a reader of its results.
//! `check` reports them before anything runs, and every run reports those that say what the numbers
//! depend on.

use crate::counterfactual::strategy::AcceptedOfSet;
use crate::data::source::list_words;
use crate::data::{FeatureKind, Layout};
use crate::job::check::{CheckedJob, path};
use crate::job::new::guess::{WANTED_WORDS, is_among, is_unwanted};
use crate::job::resolve::roles::FeatureObstacle;
use crate::job::{FavourableClass, GateBetween, GateBlock, GateDirection, GateLevel, Job};
use crate::metric::asked::GateScope;
use crate::metric::catalog::find;
use crate::metric::{GapTransform, Metric, MetricFamily};
use crate::param::{ColumnName, Finite, Name, Word};
use crate::table::{INFO, IssueRow, WARNING, whole};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Everything that `check` says about a job without looking at its data.
pub(crate) fn of_job(checked: &CheckedJob) -> Vec<IssueNote> {
    let (job, better) = (&checked.job, better_sides(&checked.job));
    // A limit on the better side has no other side to add.
    let is_sound = |note: &IssueNote| better.iter().all(|of| of.place != note.place);
    let one_sided: Vec<IssueNote> = one_sided(job).into_iter().filter(is_sound).collect();
    refits(checked)
        .into_iter()
        .chain(unweighted(job))
        .chain(other_side(job))
        .chain(unmeasured_moves(job))
        .chain(unexplained(job))
        .chain(unchecked(job, WARNING))
        .chain(unkept(job, WARNING))
        .chain(one_sided)
        .chain(better)
        .collect()
}

/// What every run also reports in the table `issues`. Only `check` warns that scores are not
/// checked: a night of cron must be silent.
pub(crate) fn of_run(job: &Job) -> Vec<IssueNote> {
    let said = unweighted(job).into_iter().chain(other_side(job)).chain(unexplained(job));
    said.chain(unchecked(job, INFO)).chain(unkept(job, INFO)).chain(better_sides(job)).collect()
}

/// The columns whose counterfactuals hold whole numbers because their values do, reported by every
/// run that moves columns.
pub(crate) fn whole_numbers(job: &Job, layout: &Layout) -> Option<IssueNote> {
    let is_whole = |name: &&ColumnName| {
        let found = layout.features.iter().find(|feature| feature.name == name.as_str());
        found.is_some_and(|feature| feature.kind == FeatureKind::Continuous { integer: true })
            && job.data.columns.get(*name).is_none_or(|says| says.integer.is_none())
    };
    let whole: Vec<&ColumnName> = job.data.features.continuous.iter().filter(is_whole).collect();
    let text = format!(
        "counterfactuals hold only whole numbers in {}, because all values are whole in the \
         rows from which sets learn; `data.columns.NAME.integer: false` allows decimals",
        list_words(whole.iter().map(|name| format!("`{name}`")), 10)
    );
    let moves = job.has_fitted_sets() && !whole.is_empty();
    let n = whole.len() as u64;
    moves.then(|| IssueNote { n, ..issue("whole-numbers", INFO, "data.features".to_owned(), text) })
}

fn issue(code: &str, severity: &str, place: String, text: String) -> IssueNote {
    let (code, severity) = (code.to_owned(), severity.to_owned());
    IssueNote { code, severity, place, n: 0, text, hint: None }
}

/// Gates that judge the change of a set that is fitted on the rows of each run.
fn refits(checked: &CheckedJob) -> Vec<IssueNote> {
    let job = &checked.job;
    let reference = path(&["data", "reference"]) + ".";
    let moves_along = checked.filled.iter().any(|filled| filled.starts_with(&reference));
    let sets = job.sets();
    let mut found = Vec::new();
    for (name, gate) in job.gates.iter().filter(|(_, gate)| gate.against.is_some()) {
        let set = gate
            .counterfactual
            .as_ref()
            .and_then(|set| sets.iter().find(|(name, _)| name == set.as_str()));
        let Some((set, block)) = set else { continue };
        let (rows, helps) = match block.graphs() {
            Some(_) => (
                "the rows of each run",
                "keep the training rows the same, with a column in `data.split`",
            ),
            None if block.knobs().is_none() || block.doubt.is_some() => continue,
            None if job.data.reference.is_none() => (
                "the rows of each run",
                "give the job a fixed `data.reference`, or ask for `doubt: {fit: 20}` in the set",
            ),
            None if moves_along => (
                "the rows of `data.reference`, which a variable names",
                "after a new model version approve a folder of that version, or keep the reference \
                 file the same",
            ),
            None => continue,
        };
        let text = format!(
            "the gate `{name}` judges how the set `{set}` changes, which is fitted on {rows}: \
             if these differ from the baseline's, the gate is inconclusive (refitted)"
        );
        let place = path(&["gates", name.as_str()]);
        found.push(IssueNote::warning("refitted-gate", place, 0, text).with_hint(helps.to_owned()));
    }
    found
}

/// The end of a comparison that a gate limits: the attribute, the two groups in the order of the
/// gate, and whether it is the upper end of the first minus the second, or over it.
type LimitedEnd<'a> = (&'a ColumnName, [&'a str; 2], bool);

/// The limits of a gate from above and from below, on a value or on its change.
fn limits(gate: &GateBlock) -> (Option<Finite>, Option<Finite>) {
    match gate.against {
        None => (gate.at_most, gate.at_least),
        Some(_) => (gate.rise_at_most, gate.fall_at_most),
    }
}

/// What a gate with one limit asks of a comparison that has two sides, or of a signed value of a
/// direction; none of other gates.
fn limited_end(gate: &GateBlock) -> Option<(LimitedEnd<'_>, &'static Metric)> {
    let metric = find(gate.metric.as_deref()?)?;
    let pair = match (&gate.between, &gate.direction) {
        (Some(GateBetween::Pair(pair)), _) if metric.has_sides() => pair,
        (_, Some(GateDirection::Pair(pair))) if metric.is_signed() => pair,
        _ => return None,
    };
    let (attribute, [first, second]) = pair.iter().next()?;
    let is_upper = match limits(gate) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        _ => return None,
    };
    Some(((attribute, [first.as_str(), second.as_str()], is_upper), metric))
}

/// Gates that limit a comparison on one side only, and so do not see it the other way round.
fn one_sided(job: &Job) -> Vec<IssueNote> {
    let mut found = Vec::new();
    for (name, gate) in &job.gates {
        let Some(((attribute, [first, second], is_upper), metric)) = limited_end(gate) else {
            continue;
        };
        let (is_ratio, of_direction) = (metric.has_order(), gate.direction.is_some());
        let sees_the_other = |other: &&GateBlock| {
            let alike = (&other.metric, &other.model, &other.counterfactual, &other.arm)
                == (&gate.metric, &gate.model, &gate.counterfactual, &gate.arm)
                && (&other.class, other.against) == (&gate.class, gate.against)
                && other.direction.is_some() == of_direction;
            let ends = limited_end(other).map(|(end, _)| end);
            let turned = !of_direction && ends == Some((attribute, [second, first], is_upper));
            let other_end = ends == Some((attribute, [first, second], !is_upper));
            // The distance of the furthest groups has no sign: a limit from above holds both ways,
            // and so does one from below on the smallest ratio.
            let (upper, lower) = limits(other);
            let of_all = other.between == Some(GateBetween::WorstCase)
                && if is_ratio { lower } else { upper }.is_some()
                && other.sensitive.as_ref().is_none_or(|asked| asked == attribute);
            alike && (turned || other_end || of_all)
        };
        if job.gates.values().any(|other| sees_the_other(&other)) {
            continue;
        }
        let (upper, lower) = limits(gate);
        let (limit, from) = if is_upper { (upper, "above") } else { (lower, "below") };
        let of_change = gate.against.is_some();
        if of_change && limit.is_some_and(|limit| limit.get() < 0.0) {
            // It asks for an improvement.
            continue;
        }
        // A higher share of positive decisions harms where these are unfavourable.
        let of_favourable = metric.of_favourable() == Some(GapTransform::Inverse);
        let harmed = job.data.favourable_side().filter(|_| !of_change).filter(|_| {
            let of_decisions = metric.gap_of.is_some_and(|(base, _)| base == "pprev");
            (of_decisions || of_favourable) && gate.class.is_none()
        });
        let sees = harmed.map_or_else(String::new, |side| {
            let more_is_worse = side == FavourableClass::Negative && !of_favourable;
            let first_is_harmed = more_is_worse == is_upper;
            format!("harm to `{}` only, and ", if first_is_harmed { first } else { second })
        });
        let has_worst_case = metric.scopes().contains(&GateScope::WorstCase);
        let of_all = match (has_worst_case, is_ratio) {
            _ if of_direction => "",
            (false, _) => "",
            (true, false) => {
                ", or `between: worst_case`, which judges the distance of the groups furthest apart"
            }
            (true, true) if of_change => {
                ", or one with `fall_at_most` and `between: worst_case`, which judges the smallest \
                 ratio of all groups"
            }
            (true, true) => {
                ", or one with `at_least` and `between: worst_case`, which judges the smallest \
                 ratio of all groups"
            }
        };
        let text = format!(
            "the gate `{name}` limits {}`{}`, `{first}` {} `{second}`, only from {from}: it sees \
             {sees}no {}, however large",
            if of_change { "the change of " } else { "" },
            metric.id,
            if of_direction {
                "as"
            } else if is_ratio {
                "over"
            } else {
                "minus"
            },
            match (of_direction || of_change, is_upper) {
                (false, _) => "gap the other way round",
                (true, true) => "fall",
                (true, false) => "rise",
            },
        );
        let hint = if is_ratio {
            // A group may be called anything: the words of the job are JSON, which YAML reads.
            let quoted = json!({attribute.as_str(): [second, first]});
            format!("add a gate with the same limit and `between: {quoted}`{of_all}")
        } else {
            let limit = limit.map_or(0.0, Finite::get);
            let (other, limit) = match (of_change, is_upper) {
                (false, true) => ("at_least", 0.0 - limit),
                (false, false) => ("at_most", 0.0 - limit),
                (true, true) => ("fall_at_most", limit),
                (true, false) => ("rise_at_most", limit),
            };
            format!("add a gate with `{other}: {limit}`{of_all}")
        };
        let place = path(&["gates", name.as_str()]);
        found.push(IssueNote::warning("one-sided-gate", place, 0, text).with_hint(hint));
    }
    found
}

/// Gates that limit only values better than the ideal one, so that bad values keep them: an
/// `at_most` below it, or a rise of what is best at its highest.
fn better_sides(job: &Job) -> Vec<IssueNote> {
    let note = |(name, gate): (&Name, &GateBlock)| {
        let metric = find(gate.metric.as_deref()?)?;
        let ((least, most), ideal) = metric.judged_in(gate.compared());
        let ideal = ideal?;
        let of_directions = metric.scopes().contains(&GateScope::Direction);
        let is_pair = gate.compared() == GateScope::Pair;
        let what = if is_pair && of_directions { "difference" } else { "value" };
        let below = gate.at_most.is_some_and(|limit| limit.get() < ideal);
        let above = gate.at_least.is_some_and(|limit| limit.get() > ideal);
        let sides = [
            ("at_most", below, "at_least"),
            ("at_least", above, "at_most"),
            ("rise_at_most", gate.rise_at_most.is_some() && ideal >= most, "fall_at_most"),
            ("fall_at_most", gate.fall_at_most.is_some() && ideal <= least, "rise_at_most"),
        ];
        let (key, _, other) = sides.into_iter().find(|(_, is_better, _)| *is_better)?;
        // A band is two gates, of which one limits the worse side.
        let is_band = job.gates.iter().any(|(of, twin)| of != name && is_other_end(gate, twin));
        if is_band {
            return None;
        }
        let text = format!(
            "`{key}` of the gate `{name}` bounds `{}` on its better side, the ideal {what} being \
             {ideal}: the worst values keep the limit",
            metric.id
        );
        let place = path(&["gates", name.as_str()]);
        let hint = format!("write `{other}: X`");
        Some(IssueNote::warning("better-side", place, 0, text).with_hint(hint))
    };
    job.gates.iter().filter_map(note).collect()
}

/// Whether a gate limits the other end of what another one is about.
fn is_other_end(gate: &GateBlock, other: &GateBlock) -> bool {
    let about = |of: &GateBlock| GateBlock {
        at_most: None,
        at_least: None,
        rise_at_most: None,
        fall_at_most: None,
        note: None,
        level: GateLevel::default(),
        ..of.clone()
    };
    let ends = |of: &GateBlock| (limits(of).0.is_some(), limits(of).1.is_some());
    let turned = |(upper, lower): (bool, bool)| (lower, upper);
    about(gate) == about(other) && ends(gate) == turned(ends(other))
}

/// Files of scores of counterfactuals that do not say which version of the model made them.
fn unchecked(job: &Job, severity: &str) -> impl Iterator<Item = IssueNote> {
    let models = job.models.iter().filter(|(_, model)| {
        let scores = model.given_scores();
        scores.is_some_and(|scores| scores.counterfactual.is_some() && scores.recheck.is_none())
    });
    models.filter(|_| !job.counterfactuals.is_empty()).map(move |(name, model)| {
        let (key, what) = match (&model.decision, model.amount()) {
            (None, _) => ("scores", "scores"),
            (Some(_), None) => ("decision", "decisions"),
            (Some(_), Some(_)) => ("decision", "amounts"),
        };
        let place = path(&["models", name.as_str(), key]);
        let of = "the request names the rows, not the model".to_owned();
        issue("no-recheck", severity, place, of)
            .with_hint(format!("add `recheck` to detect {what} of another model version"))
    })
}

/// Outcomes that are asked for, and that a job without a set does not have.
fn unkept(job: &Job, severity: &str) -> Option<IssueNote> {
    let is_idle = job.run.keeps_outcomes() == Some(true) && job.counterfactuals.is_empty();
    let text = "outcomes are kept of counterfactuals, and the job has no set: nothing is kept, \
                and a later run compares its people with these as if they were others"
        .to_owned();
    let note = || issue("no-outcomes", severity, path(&["run", "keep_rows"]), text);
    is_idle.then(note).map(|of| of.with_hint("add a set, such as `flip: {naive: {}}`".to_owned()))
}

/// Blocks of `why` that say who switches, and not through which features.
fn unexplained(job: &Job) -> impl Iterator<Item = IssueNote> {
    job.why.iter().filter_map(|(name, block)| {
        let (cause, help) = match job.lacks_features(block)? {
            FeatureObstacle::NothingMoves => return None,
            FeatureObstacle::GivenScores => (
                format!("the scores of `{}` are computed elsewhere", block.model),
                "use a model that cfaudit can ask, such as `command`, `python` or `onnx`",
            ),
        };
        let text = format!(
            "the block `{name}` tells who switches, but not through which features: {cause}"
        );
        let place = path(&["why", name.as_str()]);
        let of = issue("patterns-only", INFO, place, text);
        Some(of.with_hint(help.to_owned()))
    })
}

/// Sets that learn from rows whose weights they do not read.
fn unweighted(job: &Job) -> Option<IssueNote> {
    let weight = job.data.weight.as_ref().map(ColumnName::as_str)?;
    let sets = job.counterfactuals.iter().filter(|(_, set)| set.knobs().is_some());
    let sets: Vec<String> = sets.map(|(name, _)| format!("`{name}`")).collect();
    let text = format!(
        "the weights `{weight}` are not used to generate counterfactuals: every row counts \
         once where {} learn{} how groups differ; the metrics use the weights",
        sets.join(", "),
        if sets.len() == 1 { "s" } else { "" },
    );
    (!sets.is_empty()).then(|| issue("unweighted-fit", INFO, "data.weight".to_owned(), text))
}

/// Gates on fitted sets, where the families leave out what says whether a set moved its features:
/// nothing withdraws a pass of a set that could not.
fn unmeasured_moves(job: &Job) -> Option<IssueNote> {
    let listed = job.metrics.families.as_ref()?;
    let is_asked = |name: &str| {
        let mut sets = job.gates.values().filter_map(|gate| gate.counterfactual.as_ref());
        sets.any(|set| set.as_str() == name)
    };
    let mut sets = job.counterfactuals.iter().filter(|(_, set)| {
        set.knobs().is_some() && !set.accept.contains(&AcceptedOfSet::UnmovedFeatures)
    });
    let (set, _) = sets.find(|(name, _)| is_asked(name.as_str()))?;
    let text = format!(
        "the families leave out `cf_quality`: no gate sees where `{set}` could not move features"
    );
    let note = IssueNote::warning("unmeasured-moves", "metrics.families".to_owned(), 0, text);
    let hint = "add `cf_quality`, or let the set accept it: `accept: [unmoved-features]`";
    (!listed.contains(&MetricFamily::CfQuality)).then(|| note.with_hint(hint.to_owned()))
}

/// Positive labels and decisions that are probably on the other side than the job says, by the
/// words that `cfaudit new` goes by.
fn other_side(job: &Job) -> Vec<IssueNote> {
    let Some(side) = job.data.favourable_side() else { return Vec::new() };
    if job.data.label.column().is_some_and(|label| label.words.is_some()) {
        // Who names both decisions has thought about them.
        return Vec::new();
    }
    let wants_positive = side == FavourableClass::Positive;
    let label = job.data.label.column();
    let label = label.map(|of| ("data.label".to_owned(), of.column.as_str(), &of.positive));
    let decisions = job.models.iter().filter_map(|(name, model)| {
        let decision = model.decision.as_ref()?;
        let place = path(&["models", name.as_str(), "decision"]);
        Some((place, decision.column.as_ref()?.as_str(), &decision.positive))
    });
    let note = |(place, name, values): (String, &str, &Vec<Word>)| {
        let is_turned = |value: &&str| match wants_positive {
            true => is_unwanted(name, value),
            false => is_among(WANTED_WORDS, value),
        };
        let value = values.iter().map(Word::as_str).find(is_turned)?;
        let (side, what) = match wants_positive {
            true => ("positive", "not what people want"),
            false => ("negative", "what people want"),
        };
        let text = format!(
            "`{value}` of `{name}` counts as positive and is probably {what}, but the job says \
             `favourable: {side}`"
        );
        let hint = "`positive` lists the values of one side, the same for labels and decisions, and \
                    `favourable` says whether people want that side";
        Some(IssueNote::warning("favourable-side", place, 0, text).with_hint(hint.to_owned()))
    };
    label.into_iter().chain(decisions).filter_map(note).collect()
}

/// A problem that did not stop the work.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IssueNote {
    /// Word of a closed list.
    pub code: String,
    /// info or warning.
    pub severity: String,
    /// The column or attribute.
    #[serde(rename = "where")]
    pub place: String,
    /// How often.
    pub n: u64,
    /// What, in words.
    pub text: String,
    /// What to do about it, where there is something to do in the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl IssueNote {
    /// An issue that may change what results mean.
    pub(crate) fn warning(code: &str, place: impl Into<String>, n: u64, text: String) -> Self {
        IssueNote { n, ..issue(code, WARNING, place.into(), text) }
    }

    /// This issue with what to do about it.
    pub(crate) fn with_hint(self, hint: String) -> Self {
        IssueNote { hint: Some(hint), ..self }
    }

    /// Whether it may change what results mean; else it is only worth knowing.
    pub(crate) fn is_warning(&self) -> bool {
        self.severity == WARNING
    }

    /// Its row of the table: all of it in one sentence, with `then` before what to do.
    pub(crate) fn row(&self, then: &str) -> IssueRow {
        let text = match &self.hint {
            Some(hint) => format!("{}{then}{hint}", self.text),
            None => self.text.clone(),
        };
        let row = IssueRow::warning(&self.code, &self.place, whole(self.n), text);
        IssueRow { severity: self.severity.as_str().into(), ..row }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::check::read;
    use crate::metric::MetricFamily;
    use crate::metric::catalog::catalog;

    /// A gate on one side of every metric that has two: none of the hints names a scope that the
    /// metric does not have.
    #[test]
    fn hints_name_only_scopes_that_a_metric_has() {
        let (mut gates, mut asked) = (String::new(), Vec::new());
        for known in catalog() {
            // Amounts are those of another kind of model.
            let is_of_decisions =
                known.family != MetricFamily::Amounts && known.asked_by().is_none();
            if known.scopes().contains(&GateScope::Pair) && is_of_decisions {
                let set = if known.needs_counterfactual() { ", counterfactual: flip" } else { "" };
                let id = known.id;
                gates += &format!(
                    "  g-{}: {{metric: {id}, model: m{set}, between: {{g: [a, b]}}, at_most: \
                     0.2}}\n",
                    id.replace('_', "-")
                );
                asked.push((format!("g-{}", id.replace('_', "-")), known));
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.yaml");
        let text = format!(
            "cfaudit: 1\nname: hints\ndata:\n  rows: {{csv: {{path: people.csv}}}}\n  row_id: \
             id\n  label: {{column: y, positive: [1], favourable: positive}}\n  sensitive: {{g: \
             {{groups: [a, b], reference: a}}}}\n  features: {{continuous: [x]}}\n  split: \
             {{column: part, train: [fit], audit: [test]}}\ncounterfactuals: {{flip: \
             naive}}\nmodels: {{m: {{logistic: {{l2: 1.0}}}}}}\nmetrics: {{families: \
             [performance, group, clarify, ccm, eccm, shift, scores]}}\ngates:\n{gates}"
        );
        std::fs::write(&file, text).unwrap();
        let job = match read(&file, &[]) {
            Ok(checked) => checked.job,
            Err(error) => panic!("{error}"),
        };
        let told = one_sided(&job);
        assert!(told.len() > 40, "{}", told.len());
        for (name, known) in asked {
            let note = told.iter().find(|note| note.place.ends_with(&name));
            let has_sides = job
                .gates
                .iter()
                .any(|(gate, block)| gate.as_str() == name && limited_end(block).is_some());
            assert_eq!(note.is_some(), has_sides, "{name}");
            let hint = note.and_then(|note| note.hint.clone()).unwrap_or_default();
            let has_worst_case = known.scopes().contains(&GateScope::WorstCase);
            assert_eq!(hint.contains("worst_case"), has_worst_case && has_sides, "{name}: {hint}");
        }
    }
}
