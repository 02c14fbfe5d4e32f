//! The stages `measure`, `gate` and `report`: evidence becomes tables, verdicts and the output folder.

use crate::exec::{Stage, StageContext};
use crate::pipeline::plan::{Plan, reads_features, text};
use crate::pipeline::stages::counts::OUTCOMES_STAGE;
use crate::pipeline::stages::rows::prepare_params;
use crate::pipeline::worlds::Ground;
use crate::pipeline::{folder, measuring};

impl<'a> Plan<'a> {
    pub(in crate::pipeline) fn measure_stage(&'a self, evidence: &[String], quality: Vec<String>) -> Stage<'a> {
        let mut needs = Self::ground();
        needs.extend(evidence.iter().chain(&quality).cloned());
        let made_of = vec![
            ("metrics".to_owned(), text(&self.job.metrics)),
            ("data.label".to_owned(), text(&self.job.data.label)),
            ("run.seed".to_owned(), self.job.run.seed.0.to_string()),
            (
                "placebo".to_owned(),
                text(&self.job.counterfactuals.iter().filter_map(|(name, set)| Some((name, set.placebo?))).collect::<Vec<_>>()),
            ),
        ];
        let parts = self.parts();
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 0, |ground| {
                if self.wants_quality() {
                    measuring::gather_quality(ctx, &quality)?;
                }
                measuring::measure(ctx, self.checked, ground, &parts)
            })
        };
        self.stage("measure".to_owned(), "measure", needs, made_of, run)
    }

    /// What there is to measure: model, set (none for the rows as they are), attribute, and the stage that counted it.
    pub(in crate::pipeline) fn parts(&self) -> Vec<measuring::Part> {
        let (mut parts, sliced) = (Vec::new(), !self.job.metrics.by.is_empty());
        for (name, model) in &self.job.models {
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                parts.push(measuring::Part {
                    model: name.to_string(),
                    set: None,
                    attribute: position,
                    stage: format!("count/{name}/{attribute}"),
                    second: None,
                    placebo: None,
                    repeated: None,
                    slices: sliced.then(|| Self::slices_id(name.as_str(), None, attribute.as_str())),
                    flips: self.job.flip_test().map(|_| Self::flips_id(name.as_str(), attribute.as_str())),
                });
            }
            for world in self.worlds().into_iter().filter(|_| Self::scores_worlds(model)) {
                parts.push(measuring::Part {
                    model: name.to_string(),
                    set: Some(world.set.to_owned()),
                    attribute: world.position,
                    stage: format!("count/{name}/{}/{}", world.set, world.attribute),
                    second: self.wants_shift().then(|| world.second(name.as_str())),
                    // What is written for a group of a derived attribute rests on reference rows, so its noise is not that of naive.
                    placebo: world
                        .block
                        .placebo
                        .filter(|_| world.block.knobs().is_some() || !self.is_written_back(&world))
                        .map(|placebo| placebo.repeats),
                    repeated: world.block.placebo.and(world.block.knobs()).map(|_| world.id("placebo")),
                    slices: sliced.then(|| Self::slices_id(name.as_str(), Some(world.set), world.attribute)),
                    flips: None,
                });
            }
        }
        parts
    }

    pub(in crate::pipeline) fn gate_stage(&'a self) -> Stage<'a> {
        let made_of = vec![
            ("gates".to_owned(), text(&self.job.gates)),
            ("on_inconclusive".to_owned(), text(&self.job.on_inconclusive)),
            ("lines of the gates".to_owned(), text(&measuring::questions(self.checked).iter().map(|q| q.line).collect::<Vec<_>>())),
        ];
        let run = move |ctx: &StageContext<'_>| measuring::judge(ctx, self.checked);
        self.stage("gate".to_owned(), "gate", vec!["measure".to_owned()], made_of, run)
    }

    pub(in crate::pipeline) fn report_stage(&'a self, keeps_outcomes: bool) -> Stage<'a> {
        let mut needs = Self::ground();
        needs.extend(["measure".to_owned(), "gate".to_owned()]);
        if keeps_outcomes {
            needs.push(OUTCOMES_STAGE.to_owned());
        }
        let rechecks = self.rechecks();
        needs.extend(rechecks.iter().map(|(_, stage)| stage.clone()));
        let worlds: Vec<(String, String, String)> =
            self.worlds().iter().map(|w| (w.set.to_owned(), w.attribute.to_owned(), w.id("generate"))).collect();
        needs.extend(worlds.iter().map(|(.., stage)| stage.clone()));
        let run = move |ctx: &StageContext<'_>| {
            let outcomes = keeps_outcomes.then(|| ctx.need(OUTCOMES_STAGE));
            self.on_ground(ctx, 0, |ground| {
                self.with_origins(ground, |origins| folder::assemble(ctx, origins, outcomes, &rechecks, &worlds))
            })
        };
        self.stage("report".to_owned(), "report", needs, self.folder_inputs(), run)
    }

    /// What makes an output folder stale beside what it is made of.
    pub(in crate::pipeline) fn folder_inputs(&self) -> Vec<(String, String)> {
        vec![
            ("job".to_owned(), self.checked.hash.clone()),
            ("run".to_owned(), self.run_id.to_owned()),
            ("--set".to_owned(), text(&self.checked.sets)),
            ("job file".to_owned(), self.settings.job_file.clone()),
            ("inputs".to_owned(), text(&self.input.files)),
        ]
    }

    /// Tells `work` where a folder comes from.
    pub(in crate::pipeline) fn with_origins<T>(&self, ground: Ground<'_>, work: impl FnOnce(&folder::Origins<'_>) -> T) -> T {
        let params = prepare_params(self.job, reads_features(self.job, self.input));
        work(&folder::Origins {
            checked: self.checked,
            settings: self.settings,
            input: self.input,
            run: self.run_id,
            ground,
            params: &params,
        })
    }
}
