//! The stages `recheck/MODEL`: a program or an ONNX file scores some rows a second time. Where the
//! answers differ, every number of the model changes from run to run, and no gate on it is decided.

use std::collections::BTreeMap;

use crate::data::Rows;
use crate::data::aligned::ScoreReader;
use crate::error::{Error, Result};
use crate::exec::files;
use crate::exec::{Stage, StageContext};
use crate::model::Scorer;
use crate::param::Name;
use crate::pipeline::commands::Scored;
use crate::pipeline::joining::{Again, RECHECKED, Rechecked};
use crate::pipeline::plan::{Plan, text};
use crate::pipeline::worlds::{Ground, score_by_fold};
use crate::spec::Model;
use crate::table::manifest::Manifest;

/// Share of the audited rows that are scored twice.
const SHARE: f64 = 0.01;

/// At least so many rows, or all where there are fewer.
const AT_LEAST: usize = 100;

/// Two answers for one row that differ by more are not the same.
pub(in crate::pipeline) const TOLERANCE: f64 = 1e-6;

/// Models that answer differently when asked twice, each with what scoring rows again gave.
pub type Unsteady = BTreeMap<String, Rechecked>;

impl<'a> Plan<'a> {
    /// The stage that scores some rows of a model a second time.
    fn twice_id(model: &str) -> String {
        format!("recheck/{model}")
    }

    /// Whether a model is asked twice: what was trained here answers alike by construction, and scores
    /// made elsewhere are checked by `recheck`.
    fn is_asked_twice(model: &Model) -> bool {
        model.command.is_some() || model.onnx.is_some()
    }

    /// The models that are asked twice, each with its stage.
    pub(in crate::pipeline) fn asked_twice(&self) -> Vec<(String, String)> {
        let models = self.job.models.iter().filter(|(_, model)| Self::is_asked_twice(model));
        models.map(|(name, _)| (name.to_string(), Self::twice_id(name.as_str()))).collect()
    }

    /// The stages that ask twice.
    pub(in crate::pipeline) fn twice_stages(&'a self) -> Vec<Stage<'a>> {
        let models = self.job.models.iter().filter(|(_, model)| Self::is_asked_twice(model));
        models.map(|(name, model)| self.twice_stage(name, model)).collect()
    }

    fn twice_stage(&'a self, name: &'a Name, model: &'a Model) -> Stage<'a> {
        let (name, call) = (name.as_str(), self.call(name.as_str(), model));
        let train = call.and_then(|call| call.command.train.as_ref()).map(|_| Self::train_id(name));
        let mut needs = Self::ground();
        needs.push(Self::score_id(name));
        needs.extend(train.clone());
        let mut made_of = vec![self.seed_input()];
        made_of.extend(model.onnx.as_ref().map(|onnx| ("onnx".to_owned(), text(onnx))));
        made_of.extend(call.iter().flat_map(|call| call.made_of_scores()));
        made_of.extend(self.input.files_of_model(name));
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let again = Again::draw(ground, None, self.job.run.seed.0, SHARE, AT_LEAST)?;
                let first = ScoreReader::open(ctx.need(&Self::score_id(name)))?;
                let mut found = Rechecked::default();
                match call {
                    Some(call) => {
                        let trained = train.as_ref().map(|id| ctx.need(id));
                        let mut group = 0;
                        call.score_into(ctx, ground, Scored::Again(&again), trained, &mut |scores| {
                            found.compare(&first.read(group)?, &scores, &drawn(ground, &again, group)?, TOLERANCE);
                            group += 1;
                            Ok(())
                        })?;
                    }
                    None => {
                        let scorers = self.scorers(ctx, name, model, ground.rows.layout())?;
                        ask(ground, &again, &scorers, &first, &mut found)?;
                    }
                }
                files::write_json(&ctx.out().join(RECHECKED), &found)
            })
        };
        self.stage(Self::twice_id(name), "score", needs, made_of, run)
    }

    /// The models of a run that answer differently when asked twice.
    pub(in crate::pipeline) fn unsteady(&self, ctx: &StageContext<'_>) -> Result<Unsteady> {
        let mut unsteady = Unsteady::new();
        for (model, stage) in self.asked_twice() {
            let found: Rechecked = files::read_json(&ctx.need(&stage).join(RECHECKED), &stage)?;
            if found.largest > TOLERANCE {
                unsteady.insert(model, found);
            }
        }
        Ok(unsteady)
    }
}

/// The rows of a row group that are scored again.
fn drawn(ground: Ground<'_>, again: &Again, group: usize) -> Result<Vec<usize>> {
    Ok(again.rows(&ground.rows.read_keys(group)?, &ground.roles.read(group)?, None))
}

fn ask(ground: Ground<'_>, again: &Again, scorers: &[Box<dyn Scorer>], first: &ScoreReader, found: &mut Rechecked) -> Result<()> {
    let one = |g: usize| {
        (ground.watch.check)()?;
        let rows = drawn(ground, again, g)?;
        let mut scores = vec![f64::NAN; if rows.is_empty() { 0 } else { ground.roles.read(g)?.0.len() }];
        if !rows.is_empty() {
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let mine: Rows = batch.rows.take(&rows);
            let answers = score_by_fold(scorers, &mine, |i| roles.audited(rows[i]))?;
            rows.iter().zip(answers).for_each(|(&row, score)| scores[row] = score);
        }
        Ok::<_, Error>((g, rows, scores))
    };
    ground.workers.map(ground.rows.n_groups(), one, |_, (g, rows, scores)| {
        if !rows.is_empty() {
            found.compare(&first.read(g)?, &scores, &rows, TOLERANCE);
        }
        Ok(())
    })
}

/// The same of a finished folder.
pub(in crate::pipeline) fn unsteady_of(manifest: &Manifest) -> Unsteady {
    let asked = manifest.models.iter().filter(|model| ["command", "onnx"].contains(&model.kind.as_str()));
    let found = asked.filter_map(|model| Some((model.name.clone(), model.recheck?)));
    let unsteady = found.filter(|(_, recheck)| recheck.largest > TOLERANCE);
    unsteady.map(|(name, words)| (name, Rechecked { rows: words.rows, differ: words.differ, largest: words.largest })).collect()
}
