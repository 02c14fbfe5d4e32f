//! The stages `prepare` and `split`: rows as numbers, and which of them train.

use crate::data::prepare::params::{LabelParams, PrepareParams};
use crate::data::prepare::prepare;
use crate::data::rows::RowsReader;
use crate::data::rows::split::{self, SplitMethod};
use crate::data::source::{ParquetSource, hidden_column_fault, import};
use crate::data::{FeatureKind, Layout};
use crate::error::{Fault, Result};
use crate::exec::{PlannedStage, StageContext};
use crate::job::{Job, ReferenceBlock};
use crate::param::Word;
use crate::stage::applied_set::{canonical_text, with_watch};
use crate::stage::artifact::{REFERENCE_STAGE, ROLES};
use crate::stage::input::{self, RowImport};
use crate::stage::measure;
use crate::stage::params::prepare_params;
use crate::stage::plan::StagePlan;

impl<'a> StagePlan<'a> {
    pub(crate) fn source_stage(&'a self) -> Option<PlannedStage<'a>> {
        let import = self.input.import.as_ref()?;
        let params = self.prepare_params();
        let made_of = import.fingerprint(&params.columns());
        let run = move |ctx: &StageContext<'_>| {
            let out = ctx.out().join(input::SOURCE);
            with_watch(ctx, |watch| {
                import.write(&params.columns(), &out, self.batch_rows, self.workers, watch)
            })
        };
        Some(self.stage("prepare/source".to_owned(), "prepare", Vec::new(), made_of, run))
    }

    /// The stage that prepares the rows that strategies learn from, where they stand in a file of
    /// their own.
    pub(crate) fn reference_stage(&'a self) -> Option<PlannedStage<'a>> {
        let reference = self.job.data.reference.as_ref()?;
        let params = reference_params(self.job);
        let mut made_of = params_of(&params);
        made_of.extend([
            ("data.reference".to_owned(), canonical_text(reference)),
            ("data.label".to_owned(), canonical_text(&self.job.data.label)),
            ("data.sensitive".to_owned(), canonical_text(&self.job.data.sensitive)),
            ("label as it stands".to_owned(), params.raw_label.to_string()),
        ]);
        let files = self.input.files.iter().filter(|f| f.what == input::REFERENCE);
        made_of.extend(files.map(|f| (format!("file {}", f.path), f.sha256.clone())));
        let run = move |ctx: &StageContext<'_>| {
            let work = || {
                let source = ParquetSource::parquet(&reference.parquet, &params.columns())?;
                ctx.set_total(params.passes(source.n_rows()) * source.n_rows());
                let prepared = with_watch(ctx, |watch| {
                    prepare(&source, &params, ctx.out(), self.batch_rows, self.workers, watch)
                })?;
                check_reference_label(&prepared.layout, reference, self.job)
            };
            work().map_err(|error| self.with_model_place(error, &["data", "reference"]))
        };
        Some(self.stage(REFERENCE_STAGE.to_owned(), "prepare", Vec::new(), made_of, run))
    }

    pub(crate) fn prepare_stage(&'a self) -> PlannedStage<'a> {
        let params = self.prepare_params();
        let data = &self.job.data;
        let mut made_of = params_of(&params);
        made_of.extend([
            ("data.row_id".to_owned(), canonical_text(&data.row_id)),
            ("data.keep".to_owned(), canonical_text(&data.keep)),
            ("data.duplicates".to_owned(), canonical_text(&params.drop_duplicates)),
            ("data.weight".to_owned(), canonical_text(&data.weight)),
            ("data.label".to_owned(), canonical_text(&data.label)),
            ("data.sensitive".to_owned(), canonical_text(&data.sensitive)),
            (
                "data.split".to_owned(),
                canonical_text(&params.split.as_ref().map(|s| (&s.column, &s.train, &s.audit))),
            ),
            ("columns of models".to_owned(), canonical_text(&params.carry)),
        ]);
        let mut needs = if self.input.import.is_some() {
            vec!["prepare/source".to_owned()]
        } else {
            let rows = self.input.files.iter().filter(|f| f.what == input::DATA);
            made_of.extend(rows.map(|f| (format!("file {}", f.path), f.sha256.clone())));
            Vec::new()
        };
        made_of.extend(
            params
                .strata
                .as_ref()
                .map(|strata| ("metrics.clarify.strata".to_owned(), canonical_text(strata))),
        );
        made_of.extend(
            (!params.slices.is_empty())
                .then(|| ("metrics.by".to_owned(), canonical_text(&params.slices))),
        );
        made_of.push(("label as it stands".to_owned(), params.raw_label.to_string()));
        if self.job.data.reference.is_some() {
            needs.push(REFERENCE_STAGE.to_owned());
        }
        let run = move |ctx: &StageContext<'_>| {
            let mut params = params.clone();
            if self.job.data.reference.is_some() {
                let reference = RowsReader::open(ctx.need(REFERENCE_STAGE))?;
                let coded =
                    reference.layout().features.iter().filter(|feature| feature.kind.is_coded());
                params.known_levels =
                    coded.map(|feature| (feature.name.clone(), feature.levels.clone())).collect();
                for feature in &reference.layout().features {
                    if let FeatureKind::Continuous { integer } = feature.kind {
                        params.integer.entry(feature.name.clone()).or_insert(integer);
                    }
                }
            }
            let columns = params.columns();
            if let Some(RowImport::Csv { csv, .. }) = &self.input.import {
                // The imported file lacks what nobody reads.
                for (name, _) in params.derived() {
                    if let Some(file) = import::csv_file_with(csv, name.as_str())? {
                        return Err(hidden_column_fault(name.as_str(), &file).into());
                    }
                }
            }
            let source = match (&self.input.import, &self.input.pattern) {
                (Some(import), _) => ParquetSource::imported(
                    &ctx.need("prepare/source").join(input::SOURCE),
                    &import.display_path(),
                    &columns,
                ),
                (None, pattern) => ParquetSource::parquet(pattern, &columns),
            }?;
            ctx.set_total(params.passes(source.n_rows()) * source.n_rows());
            let prepared = with_watch(ctx, |watch| {
                prepare(&source, &params, ctx.out(), self.batch_rows, self.workers, watch)
            })?;
            measure::write_prepared(ctx.out(), &prepared, source.n_rows())
        };
        self.stage("prepare".to_owned(), "prepare", needs, made_of, run)
    }

    pub(crate) fn split_stage(&'a self) -> PlannedStage<'a> {
        let rule = self.split_rule();
        let seeded = matches!(rule, SplitMethod::Share(..) | SplitMethod::Folds(..));
        let seed = self.job.run.seed.0;
        let mut made_of = vec![("data.split".to_owned(), format!("{rule:?}"))];
        if seeded {
            made_of.push(self.seed_input());
        }
        let run = move |ctx: &StageContext<'_>| {
            let rows = RowsReader::open(ctx.need("prepare"))?;
            let roles = with_watch(ctx, |watch| {
                split::assign_roles(&rows, rule, seed, self.workers, watch)
            })?;
            roles.write(&ctx.out().join(ROLES), &rows)
        };
        self.stage("split".to_owned(), "split", vec!["prepare".to_owned()], made_of, run)
    }

    fn split_rule(&self) -> SplitMethod {
        let Some(split) = &self.job.data.split else { return SplitMethod::All };
        let by = self.job.data.strata_of_split();
        match (&split.share, split.folds) {
            (Some(share), _) => SplitMethod::Share(share.audit, by),
            (None, Some(folds)) => SplitMethod::Folds(folds.get(), by),
            (None, None) => SplitMethod::Column,
        }
    }
}

/// What makes prepared rows stale by the columns that they are made of.
fn params_of(params: &PrepareParams) -> Vec<(String, String)> {
    vec![
        ("data.derive".to_owned(), canonical_text(&params.derive)),
        (
            "data.features".to_owned(),
            canonical_text(&(&params.continuous, &params.ordinal, &params.nominal, &params.onehot)),
        ),
        ("data.missing".to_owned(), canonical_text(&params.missing)),
        ("data.columns".to_owned(), canonical_text(&params.integer)),
    ]
}

/// What preparing the reference needs to know of the job: the same columns, the whole file, nothing
/// that models name.
fn reference_params(job: &Job) -> PrepareParams {
    let reference = job.data.reference.as_ref();
    let label = job.data.label.column();
    let column = reference.and_then(|r| r.label.as_ref()).or(label.map(|l| &l.column));
    let own = reference.and_then(|r| r.positive.clone());
    // A list of positive values of its own leaves the others open.
    let same = label.filter(|_| own.is_none());
    let (negative, classes) = (
        same.and_then(|l| l.closed_negative()),
        same.and_then(|l| l.classes.clone()).unwrap_or_default(),
    );
    let positive = own.or(label.map(|l| l.positive.clone()));
    PrepareParams {
        row_id: None,
        keep: Vec::new(),
        label: column.map(|column| LabelParams {
            column: column.clone(),
            positive: positive.unwrap_or_else(|| vec![Word("1".to_owned())]),
            negative,
            classes,
        }),
        weight: None,
        drop_duplicates: None,
        carry: Vec::new(),
        split: None,
        strata: None,
        slices: Vec::new(),
        ..prepare_params(job, true)
    }
}

/// Without a word about it, 1 is positive only where the other value is 0.
fn check_reference_label(layout: &Layout, reference: &ReferenceBlock, job: &Job) -> Result<()> {
    let said = reference.positive.is_some() || job.data.label.column().is_some();
    match &layout.label {
        Some(label) if !said && label.negative.iter().any(|value| value != "0") => {
            let shown: Vec<String> =
                label.negative.iter().take(5).map(|value| format!("`{value}`")).collect();
            let what = format!(
                "the label `{}` of the reference holds {} beside 1",
                label.column,
                shown.join(", ")
            );
            let hint = "say which values are positive: `reference: {parquet: PATH, label: COL, \
                        positive: [...]}`";
            Err(Fault::new("reference-label", what).in_column(&label.column).hint(hint).into())
        }
        _ => Ok(()),
    }
}
