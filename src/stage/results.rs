//! The stages `measure`, `gate` and `report`: evidence becomes tables, verdicts and the output
//! folder.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diff::compared_run::ComparedRun;
use crate::exec::{PlannedStage, StageContext};
use crate::stage::applied_set::canonical_text;
use crate::stage::count::OUTCOMES_STAGE;
use crate::stage::experiment::{AUGMENT, SELECTED_STAGE};
use crate::stage::gate::baseline;
use crate::stage::generate::refits;
use crate::stage::measure::counted_audit::CountedAudit;
use crate::stage::params::prepare_params;
use crate::stage::plan::{StagePlan, reads_features};
use crate::stage::report::origins::FolderOrigins;
use crate::stage::row_context::RowContext;
use crate::stage::{measure, report};
use crate::table::{OUTCOMES, SELECTED};

/// The stage that compares a run with its baseline.
pub(crate) const BASELINE_STAGE: &str = "gate/baseline";

impl<'a> StagePlan<'a> {
    pub(crate) fn measure_stage(&'a self, quality: Vec<String>) -> PlannedStage<'a> {
        let parts = self.counted_audits();
        let graphs = self
            .applied_sets()
            .into_iter()
            .filter(|world| world.graphs().is_some())
            .map(|world| world.discover_id());
        let mut evidence: Vec<String> =
            parts.iter().flat_map(CountedAudit::stages).cloned().chain(graphs).collect();
        evidence.sort();
        evidence.dedup();
        let mut needs = Self::context_needs();
        needs.extend(evidence.iter().chain(&quality).cloned());
        let made_of = vec![
            ("metrics".to_owned(), canonical_text(&self.job.metrics)),
            (
                "thresholds".to_owned(),
                canonical_text(
                    &self
                        .job
                        .models
                        .iter()
                        .filter(|(_, m)| m.threshold.is_fitted())
                        .map(|(n, m)| (n, &m.threshold))
                        .collect::<Vec<_>>(),
                ),
            ),
            ("data.label".to_owned(), canonical_text(&self.job.data.label)),
            ("data.favourable".to_owned(), canonical_text(&self.job.data.favourable)),
            self.seed_input(),
            (
                "placebo".to_owned(),
                canonical_text(
                    &self
                        .job
                        .counterfactuals
                        .iter()
                        .filter_map(|(name, set)| Some((name, set.placebo?)))
                        .collect::<Vec<_>>(),
                ),
            ),
        ];
        needs.extend(
            self.job
                .models
                .iter()
                .filter_map(|(name, model)| Self::threshold_id(name.as_str(), model)),
        );
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                if self.wants_quality() {
                    measure::gather_quality(ctx, &quality)?;
                }
                let graphs = self.graph_sets(ctx, &self.applied_sets())?;
                measure::measure(ctx, self.checked, ground, &parts, &graphs)
            })
        };
        self.stage("measure".to_owned(), "measure", needs, made_of, run)
    }

    /// What there is to measure: model, set (none for the rows as they are), attribute, and the
    /// stage that counted it.
    pub(crate) fn counted_audits(&self) -> Vec<CountedAudit> {
        let (mut parts, sliced) = (Vec::new(), !self.job.metrics.by.is_empty());
        for (name, model) in &self.job.models {
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                parts.push(CountedAudit {
                    model: name.to_string(),
                    attribute: position,
                    stage: Self::count_id(name.as_str(), attribute.as_str()),
                    slices: sliced.then(|| Self::slices_id(name.as_str(), attribute.as_str())),
                    flips: self
                        .job
                        .flip_test()
                        .map(|_| Self::flips_id(name.as_str(), attribute.as_str())),
                    ..CountedAudit::default()
                });
            }
            for world in
                self.applied_sets().into_iter().filter(|_| Self::scores_counterfactuals(model))
            {
                parts.push(CountedAudit {
                    model: name.to_string(),
                    set: Some(world.set.to_owned()),
                    attribute: world.position,
                    stage: world.count_id(name.as_str()),
                    generate: Some(world.id("generate")),
                    by_label: world.block.conditions_on_label(),
                    second_pass: (self.wants_shift() && world.graphs().is_none())
                        .then(|| world.second_pass_id(name.as_str())),
                    graph_scores: Self::graph_scores_of(&world, name.as_str()),
                    // What is written for a group of a derived attribute rests on reference rows,
                    // so its noise is not that of naive.
                    placebo: world
                        .block
                        .placebo
                        .filter(|_| world.block.knobs().is_some() || !self.is_written_back(&world))
                        .map(|placebo| placebo.repeats),
                    placebo_stage: world
                        .block
                        .placebo
                        .and(world.block.knobs())
                        .map(|_| world.id("placebo")),
                    slices: (sliced && world.graphs().is_none())
                        .then(|| world.slices_id(name.as_str())),
                    ..CountedAudit::default()
                });
            }
        }
        parts
    }

    /// The stage that holds the tables of everything that is measured.
    pub(crate) fn measured_stage(&self) -> &'static str {
        if self.job.experiments.is_empty() { "measure" } else { AUGMENT }
    }

    /// Compares the run with the baseline; none where none is named.
    pub(crate) fn baseline_stage(&'a self, keeps_outcomes: bool) -> Option<PlannedStage<'a>> {
        let fingerprint = self.baseline.clone()?;
        let folder = self.settings.baseline.as_deref()?;
        let mut needs = Self::context_needs();
        needs.push("measure".to_owned());
        needs.extend(Some(self.measured_stage().to_owned()).filter(|stage| stage != "measure"));
        let fits = self.fitted_sets();
        needs.extend(refits::stages(&fits));
        needs.extend(keeps_outcomes.then(|| OUTCOMES_STAGE.to_owned()));
        let mut made_of = vec![("baseline".to_owned(), fingerprint)];
        // The job says what differs; what varies besides does not.
        made_of.extend(
            self.folder_inputs()
                .into_iter()
                .filter(|(what, _)| ["job", "run", "inputs"].contains(&what.as_str())),
        );
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                let outcomes = keeps_outcomes.then(|| ctx.need(OUTCOMES_STAGE));
                let tables = [ctx.need(self.measured_stage()), ctx.need("measure")];
                let new = baseline::running_side(
                    self.checked,
                    self.input,
                    ground,
                    self.run_id,
                    tables,
                    outcomes,
                )?;
                let new = ComparedRun { fitted_on: refits::of_run(ctx, &fits)?, ..new };
                baseline::compare(ctx, ground, folder, &new)
            })
        };
        Some(self.stage(BASELINE_STAGE.to_owned(), "gate", needs, made_of, run))
    }

    pub(crate) fn gate_stage(&'a self) -> PlannedStage<'a> {
        let made_of = vec![
            ("gates".to_owned(), canonical_text(&self.job.gates)),
            ("on_inconclusive".to_owned(), canonical_text(&self.job.on_inconclusive)),
            ("lines of the gates".to_owned(), canonical_text(&self.gate_lines())),
        ];
        let baseline = self.baseline.is_some().then_some(BASELINE_STAGE);
        let mut needs = vec!["measure".to_owned()];
        needs.extend(Some(self.measured_stage().to_owned()).filter(|stage| stage != "measure"));
        needs.extend(baseline.map(str::to_owned));
        needs.extend(self.recourse_ids());
        needs.extend(self.rechecked_models().into_iter().map(|(_, stage)| stage));
        let run = move |ctx: &StageContext<'_>| {
            measure::judge(
                ctx,
                self.checked,
                self.measured_stage(),
                baseline,
                &self.unsteady_models(ctx)?,
            )
        };
        self.stage("gate".to_owned(), "gate", needs, made_of, run)
    }

    fn gate_lines(&self) -> Vec<u64> {
        let of_metrics = measure::questions(self.checked).into_iter().map(|question| question.line);
        of_metrics
            .chain(
                measure::recourse_questions(self.checked).into_iter().map(|question| question.line),
            )
            .collect()
    }

    pub(crate) fn report_stage(&'a self, keeps_outcomes: bool) -> PlannedStage<'a> {
        let mut needs = Self::context_needs();
        needs.extend(["measure".to_owned(), "gate".to_owned()]);
        if !self.job.experiments.is_empty() {
            needs.push(AUGMENT.to_owned());
        }
        let selected = self.keeps_rows() && !self.job.experiments.is_empty();
        needs.extend(selected.then(|| SELECTED_STAGE.to_owned()));
        if keeps_outcomes {
            needs.push(OUTCOMES_STAGE.to_owned());
        }
        let baseline = self.baseline.is_some().then_some(BASELINE_STAGE);
        needs.extend(baseline.map(str::to_owned));
        let recourse = self.recourse_ids();
        needs.extend(recourse.iter().cloned());
        let rechecks = self.rechecks();
        needs.extend(rechecks.iter().map(|(_, stage)| stage.clone()));
        let worlds: Vec<(String, String, String)> = self
            .applied_sets()
            .iter()
            .map(|w| (w.set.to_owned(), w.attribute.to_owned(), w.id("generate")))
            .collect();
        needs.extend(worlds.iter().map(|(.., stage)| stage.clone()));
        let fits = self.fitted_sets();
        needs.extend(refits::stages(&fits));
        let answers = self.answers();
        needs.extend(answers.iter().map(|(_, stage)| stage.clone()));
        // A stage that scores rows again says both.
        let mut seen = BTreeSet::new();
        needs.retain(|need| seen.insert(need.clone()));
        let trees = self.job.models.iter().filter(|(_, model)| model.grows_trees());
        needs.extend(trees.map(|(name, _)| Self::train_id(name.as_str())));
        let run = move |ctx: &StageContext<'_>| {
            let kept = [
                (keeps_outcomes, OUTCOMES_STAGE, OUTCOMES.name),
                (selected, SELECTED_STAGE, SELECTED.name),
            ];
            let kept: Vec<(&Path, &str)> = kept
                .iter()
                .filter(|(kept, ..)| *kept)
                .map(|(_, stage, name)| (ctx.need(stage), *name))
                .collect();
            self.with_context(ctx, 0, |ground| {
                let graphs = self.graph_sets(ctx, &self.applied_sets())?;
                let short_of_trees = self.short_of_trees(ctx)?;
                self.with_origins(ground, |origins| {
                    let (rechecks, worlds, recourse, graphs, fits) =
                        (&rechecks, &worlds, &recourse, &graphs, &fits);
                    let (measured, kept, short_of_trees, answers) =
                        (self.measured_stage(), &kept, &short_of_trees, &answers);
                    let made = report::FolderStages {
                        measured,
                        kept,
                        rechecks,
                        sets: worlds,
                        baseline,
                        recourse,
                        graphs,
                        fits,
                        short_of_trees,
                        answers,
                    };
                    report::assemble(ctx, origins, made)
                })
            })
        };
        self.stage("report".to_owned(), "report", needs, self.folder_inputs(), run)
    }

    /// What makes an output folder stale beside what it is made of.
    pub(crate) fn folder_inputs(&self) -> Vec<(String, String)> {
        vec![
            ("job".to_owned(), self.checked.hash.clone()),
            ("run".to_owned(), self.run_id.to_owned()),
            ("--set".to_owned(), canonical_text(&self.checked.sets)),
            ("job file".to_owned(), self.settings.job_file.clone()),
            ("inputs".to_owned(), canonical_text(&self.input.files)),
        ]
    }

    /// Tells `work` where a folder comes from.
    pub(crate) fn with_origins<T>(
        &self,
        ground: RowContext<'_>,
        work: impl FnOnce(&FolderOrigins<'_>) -> T,
    ) -> T {
        let params = prepare_params(self.job, reads_features(self.job));
        work(&FolderOrigins {
            checked: self.checked,
            settings: self.settings,
            input: self.input,
            run: self.run_id,
            context: ground,
            params: &params,
        })
    }
}
