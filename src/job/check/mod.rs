//! Turns a job as written into a job that holds every promise, or names all that is wrong, each
//! with its place.
//!
//! Everything is checked here that can be known without the data; what only the data can tell (no
//! such column, no such group) is found in the first stage, which asks [`JobPlaces`] for the line.
//! Values that the decoder already complained about are passed over, so that one mistake makes one
//! message.

mod clarify;
mod classes;
mod command;
mod compare;
mod derive;
mod experiments;
mod gates;
mod graphs;
mod http;
mod lightgbm;
mod models;
mod onnx;
mod persons;
mod python;
mod recourse;
mod rows;
mod sets;
mod slices;
mod threshold;
mod why;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::{Error, FilePlace, JobProblem, Result};
use crate::exec::hash::sha256;
use crate::job::blocks::clarify::ClarifyBlock;
use crate::job::read::decode;
use crate::job::read::load::{self, IncludedFile, LoadedJob};
use crate::job::read::nearest::suggest;
use crate::job::read::tree::{PathStep, YamlNode, YamlValue, dotted, join};
use crate::job::resolve::flat::{DOLLAR, literal};
use crate::job::{GateBetween, GateDecideBy, GateDirection, Job, MetricFamily};
use crate::metric::bootstrap::turn::RatioOrder;
use crate::param::{KnobRefusal, Name};
use crate::recourse::definition::RecourseView;

/// What `check` must know of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownMetric {
    /// Its id, such as `nsr`.
    pub id: &'static str,
    /// Its family.
    pub family: MetricFamily,
    /// Another family that measures it.
    pub also: Option<MetricFamily>,
    /// The key of `metrics.clarify` without which it is not measured.
    pub asked_by: Option<&'static str>,
    /// Whether it needs the label.
    pub needs_label: bool,
    /// Whether it needs a counterfactual set.
    pub needs_counterfactual: bool,
    /// What it can be asked of, at least one.
    pub scopes: &'static [GateScope],
    /// The fewest groups of an attribute that it is measured for.
    pub min_groups: usize,
    /// Its smallest and its largest value; an end may be infinite.
    pub range: (f64, f64),
    /// Whether it goes by the prediction that people want, so that the job must say which.
    pub by_favourable: bool,
    /// Of a ratio of two groups which one is on top; the reference is first, the others as
    /// declared.
    pub ratio: Option<RatioOrder>,
}

/// What a gate asks a metric of, and the key that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateScope {
    /// All rows of an attribute: no key.
    Total,
    /// One group: `group`.
    Group,
    /// One group against another, or against all others: `between`.
    Pair,
    /// The groups that are furthest apart: `between: worst_case`.
    WorstCase,
    /// From one group to another: `direction`.
    Direction,
}

/// What a job may name without declaring it.
#[derive(Debug, Clone, Copy)]
pub struct KnownNames<'a> {
    /// The metrics.
    pub metrics: &'a [KnownMetric],
    /// The measures of counterfactuals, which no gate can ask.
    pub measures: &'a [&'a str],
    /// The public data sets.
    pub data_sets: &'a [&'a str],
}

impl KnownNames<'_> {
    /// Whether no metric of the family can be measured without a label.
    fn family_needs_label(&self, family: MetricFamily) -> bool {
        let mut metrics = self.metrics.iter().filter(|m| m.family == family).peekable();
        metrics.peek().is_some() && metrics.all(|m| m.needs_label)
    }
}

/// A job that holds every promise.
#[derive(Debug, Clone)]
pub struct CheckedJob {
    /// The job with its defaults written out, variables filled and includes merged: `vars` and
    /// `include` are empty.
    pub job: Job,
    /// Where the parts of the job stand.
    pub places: JobPlaces,
    /// The job file as the caller named it.
    pub file: String,
    /// The files merged into it.
    pub includes: Vec<IncludedFile>,
    /// The `--set` values, as given.
    pub sets: Vec<String>,
    /// The variables with the values they had.
    pub vars: BTreeMap<String, String>,
    /// Dotted paths of the values that hold a variable.
    pub filled: BTreeSet<String>,
    /// The names of its counterfactual sets as tables and gates have them, each with the key of its
    /// block.
    pub set_names: Vec<(String, Name)>,
    /// SHA-256 of the resolved job as YAML ([`to_yaml`]), in hexadecimal.
    pub hash: String,
}

/// Where the keys and values of a job stand, by dotted path.
#[derive(Debug, Clone, Default)]
pub struct JobPlaces(BTreeMap<String, FilePlace>);

impl JobPlaces {
    fn of(root: &YamlNode) -> Self {
        let mut places = JobPlaces::default();
        places.walk(&mut Vec::new(), root, &root.place);
        places
    }

    fn walk(&mut self, steps: &mut Vec<PathStep>, node: &YamlNode, owner: &FilePlace) {
        // A value is shown where it stands, a block at its key.
        let place = if node.scalar().is_some() { &node.place } else { owner };
        self.0.insert(dotted(steps), place.clone());
        match &node.value {
            YamlValue::Seq(items) => {
                for (i, item) in items.iter().enumerate() {
                    steps.push(PathStep::Index(i));
                    self.walk(steps, item, &item.place);
                    steps.pop();
                }
            }
            YamlValue::Map(entries) => {
                for (key, value) in entries {
                    steps.push(PathStep::Key(key.text.clone()));
                    self.walk(steps, value, &key.place);
                    steps.pop();
                }
            }
            YamlValue::Scalar(_) | YamlValue::Hole(_) => {}
        }
    }

    /// Where a dotted path stands (as [`path`] makes it); if it is not written, the nearest
    /// block around it.
    pub fn at(&self, path: &str) -> Option<&FilePlace> {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return Some(place);
            }
            path = match path.rfind(['.', '[']) {
                Some(cut) => &path[..cut],
                None if path.is_empty() => return None,
                None => "",
            };
        }
    }
}

/// The dotted path of keys from the top of the job.
pub fn path(keys: &[&str]) -> String {
    keys.iter().fold(String::new(), |path, key| join(&path, key))
}

/// Reads and checks a job file; `sets` are `PATH=VALUE` of the command line.
///
/// # Errors
/// All problems at once, in the order of the file; or the file cannot be read.
pub fn read(file: &Path, sets: &[String], catalog: &KnownNames<'_>) -> Result<CheckedJob> {
    check(load::load(file, sets)?, catalog)
}

/// Checks a job that was read.
///
/// # Errors
/// All problems at once, in the order of the file.
pub fn check(loaded: LoadedJob, catalog: &KnownNames<'_>) -> Result<CheckedJob> {
    let LoadedJob { mut root, file, includes, sets, mut problems, unknown, filled } = loaded;
    let places = JobPlaces::of(&root);
    for steps in &unknown {
        decode::make_hole(&mut root, steps);
    }
    let decoded = decode::decode::<Job>(&mut root);
    // A key with a variable is not a good name either: one place, one message.
    let seen: Vec<FilePlace> = problems.iter().filter_map(|p| p.place.clone()).collect();
    problems.extend(
        decoded.problems.into_iter().filter(|p| {
            p.place.as_ref().is_none_or(|place| place.line == 0 || !seen.contains(place))
        }),
    );
    let mut damaged = decoded.damaged;
    damaged.extend(unknown.iter().map(|steps| dotted(steps)));
    let job = match decoded.value {
        Some(job) if problems.len() < decode::MAX_PROBLEMS => {
            let mut checker = JobChecker {
                job: &job,
                catalog,
                places: &places,
                damaged: &damaged,
                problems: Vec::new(),
            };
            checker.rows();
            checker.models();
            checker.clarify();
            checker.slices();
            checker.beside_classes();
            checker.persons();
            checker.compare();
            checker.experiments();
            checker.recourse();
            checker.why();
            checker.gates();
            checker.report();
            checker.kept_rows();
            checker.words();
            problems.append(&mut checker.problems);
            job
        }
        _ => return Err(Error::Job(in_order(problems, &file))),
    };
    if !problems.is_empty() {
        return Err(Error::Job(in_order(problems, &file)));
    }
    let vars = job.vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let job = resolved(job, catalog);
    let hash = sha256(to_yaml(&job).as_bytes());
    let key = |name: &str| Name::new(name.split('/').next().unwrap_or_default());
    let set_names =
        job.sets().into_iter().filter_map(|(name, _)| Some((name.clone(), key(&name)?))).collect();
    Ok(CheckedJob { job, places, file, includes, sets, vars, filled, set_names, hash })
}

/// Problems in the order of the job file, then of the files it includes, then of the command line.
fn in_order(mut problems: Vec<JobProblem>, file: &str) -> Vec<JobProblem> {
    problems.sort_by_key(|p| {
        let place = p.place.clone();
        let rank = place.as_ref().map(|p| (p.line == 0, p.file != file));
        (rank, place)
    });
    if problems.len() >= decode::MAX_PROBLEMS {
        let what = format!("{} problems are shown, and there may be more", problems.len());
        problems.push(JobProblem {
            code: "too-many-problems",
            path: String::new(),
            place: None,
            what,
            hint: Some("correct these first".to_owned()),
        });
    }
    problems
}

/// The families that are measured: those the job names, or all that the label and the sets allow.
pub fn families(job: &Job, catalog: &KnownNames<'_>) -> Vec<MetricFamily> {
    if let Some(named) = &job.metrics.families {
        let mut families = named.clone();
        families.sort();
        families.dedup();
        return families;
    }
    let label = job.data.label.column().is_some();
    let scored =
        job.models.values().all(|m| m.scores.as_ref().is_none_or(|s| s.counterfactual.is_some()));
    let sets = !job.counterfactuals.is_empty() && scored;
    let mut families: Vec<MetricFamily> = [
        MetricFamily::Performance,
        MetricFamily::Group,
        MetricFamily::Ccm,
        MetricFamily::Eccm,
        MetricFamily::Shift,
    ]
    .into_iter()
    .filter(|&family| {
        (label || !catalog.family_needs_label(family)) && (sets || !needs_counterfactual(family))
    })
    .collect();
    families.extend(job.has_fitted_sets().then_some(MetricFamily::CfQuality));
    families
}

fn needs_counterfactual(family: MetricFamily) -> bool {
    matches!(family, MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift)
}

/// The job with everything written out that it leaves to defaults. `run.keep_rows` stays open: it
/// depends on the number of rows.
fn resolved(mut job: Job, catalog: &KnownNames<'_>) -> Job {
    job.metrics.families = Some(families(&job, catalog));
    if job.metrics.families.iter().flatten().any(|&family| family == MetricFamily::Clarify) {
        job.metrics.clarify.get_or_insert_with(ClarifyBlock::default).resolve(&job.data);
    }
    job.vars.clear();
    job.include.clear();
    job.report.title.get_or_insert_with(|| job.name.to_string());
    let data = job.data.clone();
    for (name, attribute) in &mut job.data.sensitive {
        if !attribute.is_made_here() {
            attribute.from = Some(data.column_of(name).clone());
        }
        attribute.groups = data.groups_of(name);
        attribute.reference = data.reference_of(name);
    }
    if let Some(split) = job.data.split.as_mut().filter(|s| s.share.is_some() || s.folds.is_some())
    {
        split.stratify = Some(data.strata_of_split());
    }
    for set in job.counterfactuals.values_mut() {
        set.sensitive.get_or_insert_with(|| job.data.sensitive.keys().cloned().collect());
        let graph_columns = match set.sensitive.as_deref() {
            Some([attribute]) => Some(job.data.graph_columns(attribute)),
            _ => None,
        };
        set.resolve(&graph_columns);
    }
    for gate in job.gates.values_mut() {
        let of_graphs = |m: &&KnownMetric| {
            gate.metric.as_deref() == Some(m.id) && m.family == MetricFamily::Graph
        };
        if catalog.metrics.iter().any(|m| of_graphs(&m)) {
            gate.decide_by = GateDecideBy::Estimate;
        }
    }
    for gate in job.gates.values_mut().filter(|g| g.recourse.is_some() && g.view.is_none()) {
        let block = gate.recourse.as_ref().and_then(|attribute| job.recourse.get(attribute));
        let definition = gate.definition.and_then(|d| d.definition(block?.no_way_costs));
        let has = |view: &RecourseView| definition.is_some_and(|d| d.views().contains(view));
        gate.view = [RecourseView::Macro, RecourseView::Micro]
            .into_iter()
            .find(|view| has(view) && block.is_some_and(|b| b.views.contains(view)));
    }
    for gate in job.gates.values_mut().filter(|g| g.sensitive.is_none() && g.is_of_metric()) {
        let direction = match &gate.direction {
            Some(GateDirection::Pair(map)) => map.keys().next(),
            _ => None,
        };
        let between = match &gate.between {
            Some(GateBetween::Pair(map)) => map.keys().next(),
            _ => None,
        };
        let named = direction
            .or(between)
            .or_else(|| gate.group.as_ref().or(gate.harm_to.as_ref())?.keys().next());
        gate.sensitive = named.cloned();
    }
    job
}

/// The job as YAML, with all defaults written out; reads back to the same job. Text that looks like
/// a variable is written with a variable that holds the dollar.
///
/// # Panics
/// Never: a job holds nothing that YAML cannot write.
pub fn to_yaml(job: &Job) -> String {
    let text = serde_yaml::to_string(job)
        .expect("a job consists of maps with text keys, lists, texts and finite numbers");
    // Keys hold none: the reader refuses them.
    if text.contains("${") { format!("vars:\n  {DOLLAR}: \"$\"\n{}", literal(&text)) } else { text }
}

/// Whether a path is another one or inside it.
fn is_below(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| outer.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Walks a job and gathers what is wrong.
struct JobChecker<'a> {
    job: &'a Job,
    catalog: &'a KnownNames<'a>,
    places: &'a JobPlaces,
    damaged: &'a [String],
    problems: Vec<JobProblem>,
}

impl JobChecker<'_> {
    fn push_problem(
        &mut self,
        code: &'static str,
        path: impl Into<String>,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let path = path.into();
        let place = self.places.at(&path).cloned();
        self.problems.push(JobProblem {
            code,
            path,
            place,
            what: what.into(),
            hint: Some(hint.into()),
        });
    }

    /// Complains about knobs of a block that are refused regardless of the rest of the job.
    fn refused(&mut self, block: &str, refusals: Vec<KnobRefusal>) {
        for KnobRefusal { key, code, what, hint } in refusals {
            let dot = if key.is_empty() { "" } else { "." };
            self.push_problem(code, format!("{block}{dot}{key}"), what, hint);
        }
    }

    /// Whether anything at these paths or below was complained about: what follows from it need not
    /// be said.
    fn has_problem(&self, paths: &[&str]) -> bool {
        self.problems.iter().any(|p| paths.iter().any(|at| is_below(&p.path, at)))
    }

    /// Whether nothing at these paths, above or below them was wrong.
    fn is_sound(&self, paths: &[&str]) -> bool {
        !self.damaged.iter().any(|d| paths.iter().any(|p| is_below(d, p) || is_below(p, d)))
    }

    /// Whether the keys of a map are all known: none was refused.
    fn are_names_sound(&self, map: &str) -> bool {
        !self.damaged.iter().any(|d| {
            let rest = d.strip_prefix(map).and_then(|rest| rest.strip_prefix('.'));
            d == map
                || d == "data"
                || rest.is_some_and(|rest| rest.starts_with('"') || !rest.contains('.'))
        })
    }

    /// Complains about a name that the job does not declare.
    fn check_known<'n>(
        &mut self,
        noun: &str,
        path: String,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
        code: &'static str,
    ) -> bool {
        let names: Vec<&str> = names.into_iter().collect();
        if names.contains(&name) {
            return true;
        }
        self.push_problem(
            code,
            path,
            format!("no {noun} is called `{name}`"),
            suggest(name, &format!("known {noun}s"), names),
        );
        false
    }

    /// Complains about a list that is empty or names something twice.
    fn check_distinct<T: AsRef<str>>(&mut self, path: &str, what: &str, items: &[T]) -> bool {
        if items.is_empty() {
            self.push_problem(
                "empty-list",
                path,
                format!("`{path}` is empty"),
                format!("name at least one {what}"),
            );
            return false;
        }
        for (i, item) in items.iter().enumerate() {
            if items[..i].iter().any(|other| other.as_ref() == item.as_ref()) {
                self.push_problem(
                    "duplicate-value",
                    format!("{path}[{i}]"),
                    format!("`{}` occurs twice in `{path}`", item.as_ref()),
                    "keep one of them",
                );
                return false;
            }
        }
        true
    }
}
