//! The stage `recourse`: for each block of the job, the audited people, their scores and the model
//! go to the engine.

use crate::data::rows::aligned::ScoreReader;
use crate::exec::{PlannedStage, StageContext};
use crate::param::ColumnName;
use crate::recourse::knobs::RecourseBlock;
use crate::stage::applied_set::canonical_text;
use crate::stage::plan::StagePlan;
use crate::stage::recourse;
use crate::stage::recourse::ask::RecourseModel;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::{PeopleScores, RecoursePeople};

impl<'a> StagePlan<'a> {
    /// The ids of the stages of all blocks, in the order of the tables: by attribute.
    pub(crate) fn recourse_ids(&self) -> Vec<String> {
        let mut attributes: Vec<&ColumnName> = self.job.recourse.keys().collect();
        attributes.sort();
        attributes.into_iter().map(|attribute| Self::recourse_id(attribute.as_str())).collect()
    }

    /// The stages of all blocks.
    pub(crate) fn recourse_stages(&'a self) -> Vec<PlannedStage<'a>> {
        let stage = |(attribute, block): (&'a ColumnName, &'a RecourseBlock)| {
            self.recourse_stage(attribute.as_str(), block)
        };
        self.job.recourse.iter().filter_map(stage).collect()
    }

    fn recourse_stage(
        &'a self,
        attribute: &'a str,
        block: &'a RecourseBlock,
    ) -> Option<PlannedStage<'a>> {
        let name = block.model.as_str();
        let model = self.job.models.get(name)?;
        let position =
            self.job.data.sensitive.keys().position(|other| other.as_str() == attribute)?;
        let call = self.call(name, model);
        let trains = model.is_trained();
        let score = Self::score_id(name);
        let mut needs = Self::context_needs();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        needs.extend(trains.then(|| Self::train_id(name)));
        let mut made_of = Self::rule_inputs(model);
        let data = &self.job.data;
        made_of.extend([
            (format!("recourse.{attribute}"), canonical_text(block)),
            ("data.bins".to_owned(), canonical_text(&data.bins)),
            ("data.features.onehot".to_owned(), canonical_text(&data.features.onehot)),
            ("data.missing".to_owned(), canonical_text(&data.missing)),
            ("favourable".to_owned(), canonical_text(&data.favourable_side())),
        ]);
        made_of.extend(block.chance.map(|_| self.seed_input()));
        if let Some(call) = &call {
            made_of.extend(call.score_inputs());
        }
        made_of.extend(model.onnx.as_ref().map(|onnx| ("onnx".to_owned(), canonical_text(onnx))));
        made_of.extend(self.input.files_of_model(name));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let scored = PeopleScores {
                    scores: &scores,
                    rule: Self::decision_rule(ctx, name, model, ground)?,
                };
                let people = RecoursePeople::read(ground, self.job, position, block, &scored)?;
                let model = match call {
                    Some(call) => RecourseModel::Command {
                        call,
                        trained: trains.then(|| ctx.need(&Self::train_id(name))),
                    },
                    None => RecourseModel::Trained {
                        scorers: self.scorers(ctx, name, model, ground.rows.layout())?,
                        linear: model.logistic.is_some(),
                    },
                };
                let layout = ground.rows.layout();
                let seed = self.job.run.seed.0;
                let of = RecourseInputs {
                    attribute: &layout.attributes[position],
                    recourse: block,
                    people: &people,
                    model: &model,
                    seed,
                };
                recourse::run(ctx, ground, &of, ctx.out())
            })
        };
        Some(self.stage(Self::recourse_id(attribute), "recourse", needs, made_of, run))
    }
}
