//! The stages `source`, `reference`, `survey`, `prepare` and `split`: rows as numbers, and which of
//! them train.
//!
//! What a shard's rows mean is known once all shards are surveyed. So in a shard `survey` reads the
//! rows, in whatever pass comes first, and `prepare` adds what their codes mean: with a cache each
//! row is decoded once. An ordinary run does both in `prepare`.

use std::path::Path;

use indexmap::IndexMap;

use crate::data::prepare::params::{PrepareParams, SidesParams};
use crate::data::prepare::source_words::spelling_of;
use crate::data::prepare::survey::SurveyedRows;
use crate::data::prepare::view::SourceView;
use crate::data::prepare::{Preparation, RowsHere, prepare, rows_file};
use crate::data::rows::split::{self, RankDraw, RankedSplit};
use crate::data::source::side_table::{JoinBlock, SideTable};
use crate::data::source::{ParquetSource, csv_import};
use crate::data::{FeatureKind, Layout};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::merge_all;
use crate::exec::pieces::{RowBatching, StageWatch};
use crate::exec::{StageContext, files, internal_error};
use crate::job::{Job, ReferenceBlock};
use crate::param::{Name, Word};
use crate::stage::applied_set::with_watch;
use crate::stage::artifact::ROLES;
use crate::stage::input::{self, RowImport};
use crate::stage::kinds::{PrepareStage, ReferenceStage, SourceStage, SplitStage, SurveyStage};
use crate::stage::params::prepare_params;
use crate::stage::plan::StagePlan;
use crate::stage::sharding::share::{RowShare, ShardPass};
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::stage::{experiment, measure, memory};
use crate::unit::AuditUnit;

/// File of a side table that is being read, within the folder of `prepare`.
const SIDE_TABLE: &str = "side-table.parquet";

/// File of what was seen of a shard, with the codes of its own rows, within the folder of `survey`.
const SURVEYED: &str = "surveyed.json";

impl Stage for SourceStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let Some(import) = plan.input.import.as_ref() else {
            return Err(internal_error("the rows are Parquet already".to_owned()));
        };
        let params = plan.prepare_params();
        b.texts(import.fingerprint(&params.columns(), &params.declared)?);
        work(move |ctx| {
            let out = ctx.out().join(input::SOURCE);
            with_watch(ctx, |watch| {
                let columns = (params.columns(), &params.declared);
                import.write((&columns.0, columns.1), &out, plan.batching(watch))
            })
        })
    }
}

impl Stage for ReferenceStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let params = reference_params(plan.job);
        b.fields("data", &params);
        let Some(reference) = b.input("data.reference", |job| job.data.reference.as_ref()) else {
            return Err(internal_error("the job has no reference".to_owned()));
        };
        b.value("label of the rows", plan.job.data.label.column().is_some());
        b.files(input::REFERENCE);
        work(move |ctx| {
            let work = || {
                let columns = params.columns();
                let source =
                    ParquetSource::parquet(&reference.parquet, &columns, &params.declared)?;
                ctx.set_total(params.passes() * source.n_rows());
                let prepared = with_watch(ctx, |watch| {
                    prepare(&source, &params, ctx.out(), plan.batching(watch))
                })?;
                check_reference_label(&prepared.layout, reference, plan.job)
            };
            work().map_err(|error| plan.with_model_place(error, &["data", "reference"]))
        })
    }
}

impl Stage for SurveyStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let passes = b.rows_alone();
        // Without a cache they are not found again: the pass only looks at the rows.
        let keeps = passes.writes_rows() || b.plan.settings.cache.is_some();
        let keeps = b.value("rows are kept", keeps);
        // Their hashes are known only after the pass `survey`, and would give another key.
        let versions = b.plan.input.versions_of_rows();
        b.texts(versions.map(|(file, version)| (format!("version of {}", file.path), version)));
        let inputs = PrepareInputs::need(unit, b, passes)?;
        work(move |ctx| {
            inputs.with(ctx, |preparation| {
                let own = preparation.gather(keeps.then_some(ctx.out()))?;
                files::write_json(&ctx.out().join(SURVEYED), &own)
            })
        })
    }
}

impl Stage for PrepareStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let passes = b.row_passes();
        let inputs = PrepareInputs::need(unit, b, passes)?;
        if inputs.import.is_none() {
            b.files(input::DATA);
        }
        let shard = passes.is_shard().then(|| b.need::<SurveyStage>(unit)).transpose()?;
        work(move |ctx| {
            inputs.with(ctx, |preparation| prepare_rows(ctx, preparation, passes, shard.as_ref()))
        })
    }
}

/// Prepares the rows of a source: all, those of a shard, or none where their survey is merged.
fn prepare_rows(
    ctx: &StageContext<'_>,
    preparation: &Preparation<'_>,
    passes: &RowShare,
    shard: Option<&StageInput<SurveyStage>>,
) -> Result<()> {
    let out = ctx.out();
    let mut own = match shard {
        Some(shard) => Some(shard.read::<SurveyedRows>(ctx, SURVEYED)?),
        None if passes.reads_rows() => Some(preparation.gather(Some(out))?),
        None => None,
    };
    let taken = || Ok(own.take().map(|own| (0, own)).into_iter().collect());
    let all = passes.gather::<SurveyedRows>(ctx, ShardPass::Survey, taken)?;
    let Some(all) = all else { return Ok(()) };
    let all = merge_all(all.into_iter().map(|(_, all)| all)).unwrap_or_default();
    if let Some(shard) = shard {
        files::link(&rows_file(shard.folder(ctx)), &rows_file(out))?;
    }
    let here = match (&own, passes.reads_rows()) {
        (Some(own), _) => RowsHere::Shard(own),
        (None, true) => RowsHere::All,
        (None, false) => RowsHere::None,
    };
    let prepared = preparation.finish(&all, here, out)?;
    measure::write_prepared(out, &prepared)
}

/// What preparing rows needs from the job and from other stages.
struct PrepareInputs<'a> {
    plan: &'a StagePlan<'a>,
    params: PrepareParams,
    /// The columns that side tables give.
    joins: IndexMap<Name, JoinBlock>,
    /// Rows that are not Parquet.
    import: Option<(&'a RowImport, StageInput<SourceStage>)>,
    reference: Option<StageInput<PrepareStage>>,
    passes: &'a RowShare,
}

impl<'a> PrepareInputs<'a> {
    /// Adds to the key of a stage everything that the prepared rows depend on, except the files of
    /// the rows.
    fn need(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>, passes: &'a RowShare) -> Result<Self> {
        let plan = b.plan;
        let params = plan.prepare_params();
        b.fields("data", &params);
        let import = plan.input.import.as_ref();
        let import = import
            .map(|import| Ok::<_, Error>((import, b.need::<SourceStage>(unit)?)))
            .transpose()?;
        let joins = params.joined();
        if !joins.is_empty() {
            b.input("data.join", |job| &job.data.join);
            joins.keys().for_each(|name| b.files(&input::join_what(name.as_str())));
        }
        let reference = plan.need_reference(b)?;
        Ok(PrepareInputs { plan, params, joins, import, reference, passes })
    }

    /// Opens the rows and hands them to `work`.
    fn with(
        &self,
        ctx: &StageContext<'_>,
        work: impl FnOnce(&Preparation<'_>) -> Result<()>,
    ) -> Result<()> {
        let PrepareInputs { plan, joins, import, reference, passes, .. } = self;
        let mut params = self.params.clone();
        if let Some(reference) = reference {
            let reference = reference.open(ctx)?;
            for feature in reference.layout().features.iter().filter(|f| f.kind.is_coded()) {
                params.known_levels.insert(feature.name.clone(), feature.levels.clone());
                params.known_spelling.insert(feature.name.clone(), spelling_of(feature));
            }
            for feature in &reference.layout().features {
                if let FeatureKind::Continuous { integer } = feature.kind {
                    params.integer.entry(feature.name.clone()).or_insert(integer);
                }
            }
        }
        let columns = params.columns();
        let source = match import {
            Some((import, source)) => ParquetSource::imported(
                &source.folder(ctx).join(input::SOURCE),
                &import.display_path(),
                &columns,
                &params.declared,
            ),
            None => plan.input.open_rows(&columns, &params.declared),
        }?;
        let tables = joins.iter().map(|named| plan.side_table(ctx, named, &params));
        let source = source.join(tables.collect::<Result<_>>()?)?;
        let source = match passes.pieces() {
            None => source,
            Some(pieces) => source.only(pieces),
        };
        ctx.set_total(params.passes() * source.n_rows());
        with_watch(ctx, |watch| {
            let view = SourceView::new(&source, &params)?;
            work(&Preparation::new(&view, &params, plan.batching(watch), ctx.out())?)
        })
    }
}

impl Stage for SplitStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        if !unit.experiment.is_empty() {
            return experiment::plan_folds(unit, b);
        }
        let plan = b.plan;
        let rule = plan.ranked_split();
        b.texts([("data.split".to_owned(), format!("{rule:?}"))]);
        let rule = rule.map(|rule| (rule, b.seed().0));
        let rows = b.need::<PrepareStage>(unit)?;
        work(move |ctx| {
            let (rows, out) = (rows.open(ctx)?, ctx.out().join(ROLES));
            with_watch(ctx, |watch| match rule {
                None => split::write_note(&out, &rows, plan.workers, watch),
                Some((rule, seed)) => {
                    let draw = RankDraw::new(seed, ctx.out());
                    split::assign_roles(&rows, rule, draw, plan.workers, watch)?.write(&out, &rows)
                }
            })
        })
    }
}

impl<'a> StagePlan<'a> {
    /// The rows that strategies learn from, where they are in a separate file.
    pub(crate) fn need_reference(
        &self,
        b: &mut StageBuilder<'_, 'a>,
    ) -> Result<Option<StageInput<PrepareStage>>> {
        let reference = self.job.data.reference.as_ref();
        reference.map(|_| b.need::<ReferenceStage>(&AuditUnit::default())).transpose()
    }

    /// How rows of any source are read and written.
    fn batching<'w>(&'w self, watch: StageWatch<'w>) -> RowBatching<'w> {
        RowBatching { batch_rows: self.batch_rows, workers: self.workers, watch }
    }

    /// A side table in memory.
    fn side_table(
        &self,
        ctx: &StageContext<'_>,
        (name, join): (&Name, &JoinBlock),
        params: &PrepareParams,
    ) -> Result<SideTable> {
        let declared = &params.declared;
        let read = || {
            let columns: Vec<&str> =
                [&join.on].into_iter().chain(&join.columns).map(|name| name.as_str()).collect();
            let imported = ctx.out().join(SIDE_TABLE);
            let source = match (&join.parquet, &join.csv) {
                (_, Some(csv)) => {
                    with_watch(ctx, |watch| {
                        let quiet = StageWatch { check: watch.check, progress: &|_| () };
                        let columns = (columns.as_slice(), declared);
                        csv_import::import_csv(csv, columns, &imported, self.batching(quiet))
                    })?;
                    ParquetSource::imported(&imported, Path::new(&csv.path), &columns, declared)
                }
                (Some(pattern), None) => ParquetSource::parquet(pattern, &columns, declared),
                (None, None) => Err(internal_error(format!("the side table `{name}` has no file"))),
            }?;
            let spelling = params.spelling.get(join.on.as_str()).copied().unwrap_or_default();
            let allowed = memory::allowed(self.settings);
            let table = with_watch(ctx, |watch| {
                let named = (name.clone(), join.clone());
                SideTable::read(&source, named, spelling, allowed, self.batch_rows, watch)
            });
            if imported.exists() {
                files::remove_file(&imported)?;
            }
            table
        };
        read().map_err(|error| self.with_model_place(error, &["data", "join", name.as_str()]))
    }

    /// How the rows are split by their ranks; none where each row has its own role.
    fn ranked_split(&self) -> Option<RankedSplit> {
        let data = &self.job.data;
        let (split, by) = (data.split.as_ref()?, data.strata_of_split());
        match (&split.share, split.folds) {
            (Some(_), _) if !split.by.is_rank() => None,
            (Some(share), _) => Some(RankedSplit::Share(share.audit, by)),
            (None, folds) => Some(RankedSplit::Folds(folds?.get(), by)),
        }
    }
}

/// What preparing the reference needs to know of the job: the same columns, the whole file, nothing
/// that models name.
fn reference_params(job: &Job) -> PrepareParams {
    let reference = job.data.reference.as_ref();
    let label = job.data.label.column();
    let column = reference.and_then(|r| r.label.as_ref()).or(label.map(|l| &l.column));
    let own = reference.and_then(|r| r.positive.clone());
    // If it has its own list of positive values, the others stay open.
    let same = label.filter(|_| own.is_none());
    let (negative, classes) = (
        same.and_then(|l| l.closed_negative()),
        same.and_then(|l| l.classes.clone()).unwrap_or_default(),
    );
    let positive = own.or(label.map(|l| l.positive.clone()));
    PrepareParams {
        // A reference holds all columns itself.
        joins: IndexMap::new(),
        row_id: None,
        joins_by_key: false,
        person: None,
        keep: Vec::new(),
        label: column.map(|column| SidesParams {
            column: column.clone(),
            positive: positive.unwrap_or_else(|| vec![Word("1".to_owned())]),
            negative,
            classes,
        }),
        weight: None,
        drop_duplicates: None,
        carry: Vec::new(),
        decisions: Vec::new(),
        split: None,
        hash_split: None,
        strata: None,
        slices: Vec::new(),
        ..prepare_params(job, true)
    }
}

/// If the job does not say it, 1 is positive only where the other value is 0.
fn check_reference_label(layout: &Layout, reference: &ReferenceBlock, job: &Job) -> Result<()> {
    let said = reference.positive.is_some() || job.data.label.column().is_some();
    match &layout.label {
        Some(label) if !said && label.negative.iter().any(|value| value != "0") => {
            let shown: Vec<String> =
                label.negative.iter().take(5).map(|value| format!("`{value}`")).collect();
            let what = format!(
                "the label `{}` of the reference holds {} in addition to 1",
                label.column,
                shown.join(", ")
            );
            let hint = "specify which values are positive: `reference: {parquet: PATH, label: COL, \
                        positive: [...]}`";
            Fault::new("reference-label", what).in_column(&label.column).fail(hint)
        }
        _ => Ok(()),
    }
}
