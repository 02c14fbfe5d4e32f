//! Requests: the rows that a file of scores answers, as one hash, and whether a file answers those
//! of this job. That each of them has a score is checked where scores meet rows, in
//! [`crate::stage::score::join`].
//!
//! | kind | id | what it writes |
//! | --- | --- | --- |
//! | score | `request`, `request/set=SET` | the id of the rows to score, and how many they are |
//!
//! The id is a hash of the rows to score ([`crate::data::exchange::to_score`]): of the rows as they
//! are, or of one set. The rows to score carry it, and a file of scores that repeats it is accepted
//! only for these rows. If a file does not repeat it, the first request that it was accepted for is
//! remembered for each set, in the cache and in the manifest of the output folder: the file is
//! refused for another request of the set, and after a request of a set that the job no longer has.
//! Two sets of one job may have files of the same bytes. The page names such files, because nothing
//! proves that they answer even the first request.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::Layout;
use crate::data::exchange::keyed::KeyedFile;
use crate::data::exchange::to_score::{
    RequestDigest, counterfactual_hash, group_hashes, row_hash, rows_hash,
};
use crate::data::rows::aligned::CounterfactualReader;
use crate::data::rows::content::ContentHash;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::error::{Fault, Result};
use crate::exec::StageContext;
use crate::exec::accumulator::{Accumulator, merge_each};
use crate::exec::files::write_json;
use crate::folder::manifest::AnsweredRequest;
use crate::job::Job;
use crate::stage::generate::made_of_set;
use crate::stage::input::answer::{ANSWER, ScoreAnswer, folder_of};
use crate::stage::input::hash_of_scores;
use crate::stage::input::score_files::{AwaitedFile, score_files};
use crate::stage::kinds::{RequestStage, ScoreStage};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::join::{JoinedScores, RecheckSample};
use crate::stage::score::score_file::STALE_SCORES_HINT;
use crate::stage::sharding::share::{RowShare, ShardPass};
use crate::stage::stage_builder::{Opens, OpensOfRows, Planned, Stage, StageBuilder, StageInput};
use crate::unit::AuditUnit;

/// What a stage says about its request.
const REQUEST: &str = "request.json";

/// What to do about a file that names no request and was taken for another one.
const SAME_BYTES: &str = "remove the file (or name another one in the job) and run again: \
    the rows to score are then written again. The same bytes are always \
    refused: copy the column `request`";

/// Digits of an id that messages show.
const SHOWN: usize = 12;

/// The rows to score of one set, or the rows as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RowsToScore {
    /// 64 digits in hex.
    pub(crate) id: String,
    /// How many there are.
    pub(crate) rows: u64,
    /// How many of them are rows as they are, sent again.
    pub(crate) again: u64,
}

/// The digits of an id that messages show.
fn short(id: &str) -> String {
    id.chars().take(SHOWN).collect()
}

impl StageInput<RequestStage> {
    /// The request.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<RowsToScore> {
        self.read(ctx, REQUEST)
    }
}

/// The unit of the request for a set, or for the rows as they are.
pub(crate) fn request_unit(set: Option<&str>) -> AuditUnit {
    AuditUnit { set: set.unwrap_or_default().to_owned(), ..AuditUnit::default() }
}

/// The share of the rows that is scored again with every set: the largest that a model asks for, so
/// that one request serves all models.
fn recheck_share(job: &Job) -> Option<f64> {
    let asked = job.models.values().filter_map(|model| model.given_scores()?.recheck);
    let shares = asked.map(|recheck| recheck.share.get());
    shares.max_by(f64::total_cmp)
}

/// What makes a stage stale where rows are scored again.
pub(crate) fn recheck_inputs(b: &mut StageBuilder<'_, '_>) {
    if let Some(share) = recheck_share(b.plan.job) {
        b.texts([("share to score again".to_owned(), share.to_string())]);
        b.seed();
    }
}

impl StagePlan<'_> {
    /// The rows that are scored again, if any are.
    pub(crate) fn recheck_sample(
        &self,
        row_context: RowContext<'_>,
        attribute: usize,
    ) -> Result<Option<RecheckSample>> {
        let seed = self.job.run.seed.0;
        let draw = |share| match self.share {
            RowShare::All => RecheckSample::draw(row_context, Some(attribute), seed, share, 1),
            // The share draws some of the rows in shards, unless there are very few.
            RowShare::Shard(_) | RowShare::Merged(_) => Ok(RecheckSample::by_share(seed, share)),
        };
        recheck_share(self.job).map(draw).transpose()
    }
}

/// The counterfactuals of one attribute, and the rows of it that are asked for again.
pub(crate) struct RequestSource {
    pub(crate) attribute: usize,
    pub(crate) counterfactuals: CounterfactualReader,
    pub(crate) recheck: Option<RecheckSample>,
}

impl Stage for RequestStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let (rows, passes) = (RowInputs::of_job(b)?, b.row_passes());
        let of_set = !unit.set.is_empty();
        let sources = of_set.then(|| request_sources(b, &unit.set)).transpose()?;
        rows.work(1, move |_, row_context| {
            let opened = sources.as_ref().map(|sources| sources(row_context)).transpose()?;
            write_request(passes, row_context, opened.as_deref())
        })
    }
}

/// Writes the request for the counterfactuals of these sources; without any for the rows as they
/// are.
fn write_request(
    passes: &RowShare,
    row_context: RowContext<'_>,
    sources: Option<&[RequestSource]>,
) -> Result<()> {
    let layout = row_context.rows.layout();
    // For each source the counterfactuals, and the rows that are sent again.
    let empty = || vec![ContentHash::default(); sources.map_or(1, |sources| 2 * sources.len())];
    let add = |sums: &mut Vec<ContentHash>, g: usize| {
        let (people, roles) = row_context.read(g, Projection::PEOPLE)?;
        let n = people.row_key.len();
        let Some(sources) = sources else {
            let audited: Vec<usize> = (0..n).filter(|&i| roles.audited(i).is_some()).collect();
            let key = |i: usize| row_hash(people.row_key[i], 0);
            sums[0].merge(hash_of(layout, &people, &audited, key));
            return Ok(n as u64);
        };
        for (sums, source) in sums.chunks_exact_mut(2).zip(sources) {
            sums[0].merge(source.hash(g, layout, &people, &roles)?);
            if let Some(sample) = &source.recheck {
                let rows = sample.rows(&people, &roles, Some(source.attribute));
                let key = source.row_hashes(layout, &people);
                sums[1].merge(hash_of(layout, &people, &rows, key));
            }
        }
        Ok(n as u64)
    };
    let gather = || Ok((0..).zip(row_context.row_groups().fold(empty, add, merge_each)?).collect());
    let Some(sums) = passes.maps(row_context.ctx, ShardPass::Count, gather)? else { return Ok(()) };
    let sums: Vec<ContentHash> = sums.into_iter().map(|(_, sum)| sum).collect();
    let mut digest = RequestDigest::new(layout);
    let (mut rows, mut n_again) = (0, 0);
    if let (None, [sum]) = (sources, &sums[..]) {
        digest.rows(sum);
        rows = sum.n_rows();
    }
    for (sums, source) in sums.chunks_exact(2).zip(sources.unwrap_or_default()) {
        let [made, again] = sums else { continue };
        let attribute = &layout.attributes[source.attribute];
        digest.text(&attribute.name);
        if source.counterfactuals.is_naive_view() {
            digest.every_other_group(layout, attribute);
        }
        digest.rows(made);
        digest.rows(again);
        n_again += again.n_rows();
        rows += source.n_counterfactuals(made) + again.n_rows();
    }
    let id = digest.finish();
    write_json(&row_context.ctx.out().join(REQUEST), &RowsToScore { id, rows, again: n_again })
}

impl RequestSource {
    /// The hash of a row and its own group of the attribute, by position.
    fn row_hashes<'a>(
        &self,
        layout: &Layout,
        people: &'a PreparedBatch,
    ) -> impl Fn(usize) -> u64 + 'a {
        let names = group_hashes(&layout.attributes[self.attribute]);
        let own = &people.groups[self.attribute];
        // Only rows of a declared group have counterfactuals.
        let name = move |row: usize| names.get(usize::from(own[row])).copied().unwrap_or(0);
        move |row| row_hash(people.row_key[row], name(row))
    }

    /// The hash of the counterfactuals of a row group; of naive ones, which follow from the rows,
    /// that of the rows that have them.
    fn hash(
        &self,
        g: usize,
        layout: &Layout,
        people: &PreparedBatch,
        roles: &RowRoles,
    ) -> Result<ContentHash> {
        let key = self.row_hashes(layout, people);
        if self.counterfactuals.is_naive_view() {
            let own = roles.people(&people.groups[self.attribute]);
            let rows: Vec<usize> = own.map(|person| person.0).collect();
            return Ok(hash_of(layout, people, &rows, key));
        }
        let (keys, rows) = self.counterfactuals.rows(g, layout)?;
        let names = group_hashes(&layout.attributes[self.attribute]);
        Ok(rows_hash(layout, &rows, |k| {
            let to = names[usize::from(keys.to_group[k])];
            counterfactual_hash(key(keys.parent[k] as usize), to, keys.cf_index[k])
        }))
    }

    /// Number of counterfactuals, where these are the rows that were hashed.
    fn n_counterfactuals(&self, hashed: &ContentHash) -> u64 {
        match self.counterfactuals.is_naive_view() {
            true => self.counterfactuals.n_rows(),
            false => hashed.n_rows(),
        }
    }
}

/// The hash of the rows at these positions, in ascending order, of a row group.
fn hash_of(
    layout: &Layout,
    people: &PreparedBatch,
    rows: &[usize],
    key: impl Fn(usize) -> u64,
) -> ContentHash {
    if rows.len() == people.rows.n {
        return rows_hash(layout, &people.rows, key);
    }
    rows_hash(layout, &people.rows.take(rows), |k| key(rows[k]))
}

/// The counterfactuals of each attribute of a set, and the rows that are asked for again.
pub(crate) fn request_sources<'a>(
    b: &mut StageBuilder<'_, 'a>,
    set: &str,
) -> Result<OpensOfRows<'a, Vec<RequestSource>>> {
    let (plan, made) = (b.plan, made_of_set(b, set)?);
    recheck_inputs(b);
    Ok(Box::new(move |row_context| {
        let source = |(attribute, counterfactuals)| {
            let recheck = plan.recheck_sample(row_context, attribute)?;
            Ok(RequestSource { attribute, counterfactuals, recheck })
        };
        made(row_context)?.into_iter().map(source).collect()
    }))
}

/// A file of scores, with the request that it is to answer.
pub(crate) struct ScoreAnswers {
    /// As the job names it.
    path: PathBuf,
    /// Itself, or its parts in their order.
    parts: Vec<PathBuf>,
    sha256: String,
    /// The folder of its rows to score.
    of: String,
    /// Those of all sets of the job.
    sets: Vec<String>,
    request: StageInput<RequestStage>,
}

impl ScoreAnswers {
    /// The file of a model for a set, or for the rows as they are, which the job calls `path`; none
    /// where it is awaited.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, '_>,
        (model, path): (&str, PathBuf),
        set: Option<&str>,
    ) -> Result<Option<Self>> {
        let plan = b.plan;
        let request = b.need::<RequestStage>(&request_unit(set))?;
        if plan.input.awaits(model, set) {
            return Ok(None);
        }
        let found = plan.input.scores_of(model, set);
        if found.is_empty() {
            let what = format!("the model `{model}` has no file of scores for its rows");
            return Err(Fault::new("missing-scores", what).into());
        }
        let sets = plan.applied_sets().iter().map(|applied| folder_of(Some(applied.set))).collect();
        let parts = found.iter().map(|file| b.file(file).to_path_buf()).collect();
        let (sha256, of) = (hash_of_scores(&found), folder_of(set));
        Ok(Some(ScoreAnswers { path, parts, sha256, of, sets, request }))
    }

    /// What [`KeyedFile::open`] opens.
    pub(crate) fn files(&self) -> (&Path, &[PathBuf]) {
        (&self.path, &self.parts)
    }

    /// Joins the file by `join`; refuses one that answers another request. None in a shard, which
    /// knows only its own rows.
    pub(crate) fn join(
        &self,
        plan: &StagePlan<'_>,
        (ctx, passes): (&StageContext<'_>, &RowShare),
        file: &KeyedFile,
        join: impl FnOnce() -> Result<JoinedScores>,
    ) -> Result<Option<JoinedScores>> {
        if passes.is_shard() {
            return passes.map(ctx, ShardPass::Count, join);
        }
        let merged = || passes.map(ctx, ShardPass::Count, || Ok(JoinedScores::default()));
        if !passes.reads_rows() && merged()?.is_none() {
            return Ok(None);
        }
        let asked = self.request.open(ctx)?.id;
        let named = file.request()?;
        let refuse = |found: String, hint: &str| {
            let what = format!("{found}, and the rows to score are now `{}`", short(&asked));
            Fault::new("other-request", what).in_file(&file.path).hint(format!(
                "score the rows of a waiting run, and copy their column `request`; {hint}"
            ))
        };
        match &named {
            Some(id) if *id != asked => {
                let found = format!(
                    "the file has the scores of other rows, or another version of cfaudit wrote \
                     the rows to score: it names the request `{}`",
                    short(id)
                );
                return Err(refuse(found, STALE_SCORES_HINT).into());
            }
            Some(_) => {}
            None => {
                let other =
                    plan.memory.other_request(&self.sha256, [&self.of, &asked], &self.sets)?;
                if let Some(other) = other {
                    let found = format!(
                        "the same file was used for other rows before (request `{}`) and has no \
                         request itself",
                        short(&other)
                    );
                    return Err(refuse(found, SAME_BYTES).into());
                }
            }
        }
        let Some(joined) = passes.map(ctx, ShardPass::Count, join)? else { return Ok(None) };
        if !passes.reads_rows() && joined.entries != file.n_rows() {
            return Err(leftover_fault(file, joined.entries).into());
        }
        if named.is_none() {
            plan.memory.remember(&self.sha256, [&self.of, &asked])?;
        }
        write_json(
            &ctx.out().join(ANSWER),
            &ScoreAnswer { request: asked, named: named.is_some() },
        )?;
        Ok(Some(joined))
    }
}

/// A file of scores that holds more than all shards have asked for.
fn leftover_fault(file: &KeyedFile, entries: u64) -> Fault {
    let what = format!(
        "the file has {} entries, and the rows of all shards ask for {entries} of them",
        file.n_rows()
    );
    let hint = "the others name rows that the data do not have, or name a row twice; run the job \
                without shards on a part of the rows to see which";
    Fault::new("unknown-key", what).in_file(&file.path).hint(hint)
}

/// What each file of scores states about the request that it answers.
pub(crate) fn answered_requests<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<AnsweredRequest>>> {
    let (plan, applied_sets) = (b.plan, b.plan.applied_sets());
    let mut answers = Vec::new();
    for AwaitedFile { model, set, path, .. } in score_files(plan.job) {
        let unit = match &set {
            None => AuditUnit::of_model(&model),
            // One stage of a set answers for all.
            Some(set) => match applied_sets.iter().find(|applied| applied.set == set) {
                Some(applied) => applied.unit_of(&model),
                None => continue,
            },
        };
        let found = plan.input.scores_of(&model, set.as_deref());
        let answer = AnsweredRequest {
            sha256: if found.is_empty() { String::new() } else { hash_of_scores(&found) },
            counterfactual: set.unwrap_or_default(),
            model,
            path,
            ..AnsweredRequest::default()
        };
        answers.push((answer, b.need::<ScoreStage>(&unit)?));
    }
    Ok(Box::new(move |ctx| {
        let answered = |(answer, stage): &(AnsweredRequest, StageInput<ScoreStage>)| {
            let ScoreAnswer { request, named } = stage.read(ctx, ANSWER)?;
            Ok(AnsweredRequest { request, named, ..answer.clone() })
        };
        answers.iter().map(answered).collect()
    }))
}
