//! The audited people of a recourse block: their columns as the engine sees them, and as models
//! read them.
//!
//! Which columns may be in subgroups: every feature that models read, but for the column of the
//! attribute, what that is derived from, what is derived from that, and features derived from
//! others, which follow. A one-hot group is one column. Bins under `data.bins` are only words: a
//! model still reads the number. A column derived as bins has the order of these, regardless of its
//! kind.
//!
//! Where a person may have several rows, one row of each is drawn by the seed. Choice: a person
//! changes the one state that they are in, supports and limits are numbers of people, and the tests
//! against chance assume independent cases, which rows of a person are not. A row of a declared
//! group is preferred, because others are never compared; a person of both groups belongs to that
//! of the row drawn.

use std::collections::BTreeSet;

use crate::counterfactual::write_back::WriteBack;
use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::params::MissingRule;
use crate::data::rows::Projection;
use crate::data::rows::aligned::ScoreReader;
use crate::data::source::list_words;
use crate::data::values::float_text;
use crate::data::{
    FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING, MISSING_GROUP, MISSING_LEVEL,
};
use crate::error::{Fault, Result};
use crate::job::Job;
use crate::num::one_row_each::{DrawablePersonRow, one_row_each};
use crate::num::seed::{h, named_seed};
use crate::param::{ColumnName, Word};
use crate::recourse::AuditedRows;
use crate::recourse::ask::LevelChange;
use crate::recourse::bins::bin_numbers;
use crate::recourse::feature::{AllowedChanges, ChangeCost, ChangeDirection, LevelDistance};
use crate::recourse::feature::{LevelScale, RecourseFeature};
use crate::recourse::knobs::{ColumnChangeRule, NumberCost, RecourseBlock};
use crate::stage::count::evidence::weight_units;
use crate::stage::row_context::DecisionRule;
use crate::stage::row_context::RowContext;
use crate::stage::row_features::{codes_among, distinct_numbers, empty_rows, only_one};
use crate::stage::score::equal_rows::{RowHash, row_hashes};

/// The audited people with a decision.
pub(crate) struct RecoursePeople {
    /// As the engine sees them.
    pub audited: AuditedRows,
    /// What the tables say about the columns, in the same order.
    pub columns: Vec<ColumnNotes>,
    /// The number of rows from which one of each person was drawn; none where each row is a person.
    pub drawn_from: Option<u64>,
    /// As models read them.
    rows: FeatureRows,
    /// Where each is, and what decides about it.
    judged: Vec<JudgedRow>,
    rule: DecisionRule,
    favourable_is_positive: bool,
    /// How each column is written back.
    encodings: Vec<LevelEncoding>,
    /// Computes derived features again.
    write_back: WriteBack,
    /// The features that models read.
    inputs: Vec<usize>,
}

/// What is reported of a column.
pub(crate) struct ColumnNotes {
    /// Rows whose number lies outside of all bins.
    pub outside: u64,
    /// The rule in words.
    pub rule: String,
}

/// How a level becomes a value that a model reads.
enum LevelEncoding {
    /// This number.
    Number(usize, Vec<f64>),
    /// This position of a level.
    Code(usize, Vec<u32>),
    /// 1 in the column of the level, 0 in the others.
    OneHot(Vec<usize>),
}

/// An audited row with a decision.
#[derive(Clone, Copy)]
struct JudgedRow {
    /// Its position in the source.
    source: u64,
    drawable: DrawablePersonRow,
    fold: u8,
    threshold: f64,
    group: Option<u16>,
    favourable: bool,
}

impl RecoursePeople {
    /// Reads the audited rows that have a score, and what it decides; of a person with several rows
    /// one, drawn by the seed.
    ///
    /// # Errors
    /// A level that the job names is not there; a file cannot be read; the run is to stop.
    pub(crate) fn read(
        row_context: RowContext<'_>,
        job: &Job,
        attribute: usize,
        recourse: &RecourseBlock,
        (scores, rule): (&ScoreReader, DecisionRule),
    ) -> Result<RecoursePeople> {
        let layout = row_context.rows.layout();
        let favourable_is_positive = job.data.favours_positive();
        let mut rows = empty_rows(layout);
        let mut judged: Vec<JudgedRow> = Vec::new();
        let read = |g: usize| {
            let (batch, roles) = row_context.read(g, Projection::ALL)?;
            let scores = scores.read(g)?;
            let (mut places, mut kept) = (Vec::new(), Vec::new());
            for (i, &score) in scores.iter().enumerate() {
                // A row of weight 0 counts for nothing.
                let audited = roles.audited(i).filter(|_| weight_units(layout, &batch, i) > 0);
                let Some(fold) = audited else { continue };
                rule.check(layout, &batch, i, score)?;
                if let Some(decision) = rule.decide(&batch, Some(fold), i, score) {
                    let group =
                        Some(batch.groups[attribute][i]).filter(|&group| group != MISSING_GROUP);
                    places.push(i);
                    kept.push(JudgedRow {
                        source: batch.row[i],
                        drawable: DrawablePersonRow {
                            person: batch.person_keys()[i],
                            row_key: batch.row_key[i],
                            spare: group.is_none(),
                        },
                        fold,
                        threshold: rule.threshold_at(&batch, Some(fold), i),
                        group,
                        favourable: decision == favourable_is_positive,
                    });
                }
            }
            Ok((0, (kept, batch.rows.take(&places))))
        };
        row_context.row_groups().in_turn(read, |(kept, part)| {
            judged.extend(kept);
            rows.append(part);
        })?;
        let drawn_from = layout.person.is_some().then_some(rows.n as u64);
        if drawn_from.is_some() {
            let seed = named_seed(job.run.seed.0, "recourse/row");
            let kept = one_row_each(seed, judged.iter().map(|row| row.drawable));
            rows = rows.take(&kept);
            judged = kept.iter().map(|&i| judged[i]).collect();
        }
        if rows.n >= u32::MAX as usize {
            let what =
                format!("{} rows are audited, and recourse numbers them with 32 bits", rows.n);
            let hint = "audit fewer rows, by `data.keep` or `data.split`";
            return Fault::new("too-many-rows", what).fail(hint);
        }
        let about = attribute_features(layout, attribute);
        let (mut features, mut encodings, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        let plain = (0..layout.features.len())
            .filter(|&f| is_looked_at(layout, &about, job, f))
            .map(|f| recourse_column(layout, &rows, f, job, recourse));
        let onehot = job.data.features.onehot.iter().filter_map(|(name, members)| {
            let at = members.iter().map(|member| layout.feature(member.as_str()));
            Some(onehot_column(name.as_str(), members, &at.collect::<Option<Vec<_>>>()?, &rows))
        });
        for (feature, encoding, outside) in plain.chain(onehot) {
            columns.push(ColumnNotes { outside, rule: rule_in_words(recourse, &feature.name) });
            features.push(with_rules(feature, recourse)?);
            encodings.push(encoding);
        }
        let audited = AuditedRows {
            features,
            groups: judged.iter().map(|row| row.group).collect(),
            favourable: judged.iter().map(|row| row.favourable).collect(),
        };
        Ok(RecoursePeople {
            audited,
            columns,
            drawn_from,
            rows,
            judged,
            rule,
            favourable_is_positive,
            encodings,
            write_back: WriteBack::derived_only(layout),
            inputs: layout.inputs().collect(),
        })
    }

    /// Their features.
    pub(crate) fn feature_columns(&self) -> &[FeatureColumn] {
        &self.rows.columns
    }

    /// The fold in which somebody is audited.
    pub(crate) fn fold(&self, row: u32) -> u8 {
        self.judged[row as usize].fold
    }

    /// What messages call somebody.
    pub(crate) fn name(&self, row: u32) -> String {
        format!("row {} of the data", self.judged[row as usize].source)
    }

    /// Whether the decision that a score of somebody means is favourable; none without a score.
    pub(crate) fn is_favourable(&self, row: u32, score: f64) -> Option<bool> {
        let decision = self.rule.compare(score, self.judged[row as usize].threshold)?;
        Some(decision == self.favourable_is_positive)
    }

    /// What distinguishes changed rows: all that models read of them, and by whom and by which
    /// threshold is decided about them.
    pub(crate) fn hashes(&self, rows: &[u32], changed: &FeatureRows) -> Vec<RowHash> {
        let mut hashes = row_hashes(&self.inputs, changed);
        for (hash, &row) in hashes.iter_mut().zip(rows) {
            let JudgedRow { fold, threshold, .. } = self.judged[row as usize];
            hash[0] = h(hash[0], u64::from(fold), threshold.to_bits());
        }
        hashes
    }

    /// The changed rows in the form that models read: `sets` are runs of rows with the same
    /// changes, in the order of `rows`.
    pub(crate) fn changed(&self, rows: &[u32], sets: &[(usize, Vec<LevelChange>)]) -> FeatureRows {
        let at: Vec<usize> = rows.iter().map(|&row| row as usize).collect();
        let mut made = self.rows.take(&at);
        let mut start = 0;
        for (n, changes) in sets {
            let range = start..start + n;
            for change in changes {
                let level = change.level as usize;
                match &self.encodings[change.feature] {
                    LevelEncoding::Number(column, numbers) => {
                        fill_numbers(&mut made, *column, range.clone(), numbers[level])
                    }
                    LevelEncoding::Code(column, codes) => {
                        if let FeatureColumn::Code(own) = &mut made.columns[*column] {
                            own[range.clone()].fill(codes[level]);
                        }
                    }
                    LevelEncoding::OneHot(columns) => {
                        for (k, &column) in columns.iter().enumerate() {
                            fill_numbers(
                                &mut made,
                                column,
                                range.clone(),
                                f64::from(u8::from(k == level)),
                            );
                        }
                    }
                }
            }
            start = range.end;
        }
        self.write_back.follow(&mut made, &self.rows, |row| at[row]);
        made
    }
}

fn fill_numbers(rows: &mut FeatureRows, column: usize, range: std::ops::Range<usize>, x: f64) {
    if let FeatureColumn::Number(own) = &mut rows.columns[column] {
        own[range].fill(x);
    }
}

/// What a feature is derived from in the end; itself if it is not derived.
fn roots(layout: &Layout, feature: usize) -> impl Iterator<Item = usize> {
    let all = layout.with_ancestors(feature).into_iter();
    all.filter(|&feature| layout.derivation(feature).is_none())
}

/// The features that are the attribute's column, what it is derived from, or made of that.
pub(crate) fn attribute_features(layout: &Layout, attribute: usize) -> BTreeSet<usize> {
    let own = layout.attributes[attribute].feature;
    let of: BTreeSet<usize> = roots(layout, own).collect();
    let is_about = |&f: &usize| f == own || roots(layout, f).any(|root| of.contains(&root));
    (0..layout.features.len()).filter(is_about).collect()
}

/// Whether recourse sees a feature separately: a model reads it, it is not about the attribute
/// (`about` are those that are), and it neither follows from another one nor is part of a one-hot
/// group.
pub(crate) fn is_looked_at(layout: &Layout, about: &BTreeSet<usize>, job: &Job, f: usize) -> bool {
    let mut onehot = job.data.features.onehot.values().flatten();
    layout.is_input(f)
        && !about.contains(&f)
        && !follows(layout, f)
        && !onehot.any(|member| member.as_str() == layout.features[f].name)
}

/// Whether a feature is derived from another that models read, and so follows it.
fn follows(layout: &Layout, feature: usize) -> bool {
    layout.derivation(feature).is_some() && roots(layout, feature).any(|root| layout.is_input(root))
}

/// A column as the engine sees it, without rules and weight; how it is written back; and the rows
/// whose number lies outside of all bins.
type RecourseColumn = (RecourseFeature, LevelEncoding, u64);

fn recourse_column(
    layout: &Layout,
    rows: &FeatureRows,
    f: usize,
    job: &Job,
    recourse: &RecourseBlock,
) -> RecourseColumn {
    let of = &layout.features[f];
    let cost = recourse.cost.columns.get(of.name.as_str()).copied();
    let by_number = match recourse.cost.continuous {
        NumberCost::RangeShare => LevelDistance::RangeShare,
        NumberCost::Absolute => LevelDistance::Absolute,
    };
    let named = |kind: LevelDistance| RecourseFeature {
        name: of.name.clone(),
        cost: ChangeCost { distance: cost.unwrap_or(kind), ..ChangeCost::default() },
        ..RecourseFeature::default()
    };
    match &rows.columns[f] {
        FeatureColumn::Code(codes) => {
            let order = order_of(layout, f);
            let mut levels: Vec<String> =
                order.iter().map(|&level| of.levels[level as usize].clone()).collect();
            let mut place = vec![0; order.len()];
            (0..).zip(&order).for_each(|(at, &level)| place[level as usize] = at);
            let written = order.iter().copied().chain([MISSING]).collect();
            let of_level =
                job.data.missing.nominal == MissingRule::Level && of.kind == FeatureKind::Nominal;
            let worded = levels.iter().position(|level| level == MISSING_LEVEL);
            let missing = worded
                .filter(|_| of_level)
                .map(|at| at as u32)
                .or_else(|| codes.contains(&MISSING).then_some(levels.len() as u32));
            if missing == Some(levels.len() as u32) {
                levels.push(MISSING_LEVEL.to_owned());
            }
            let codes = codes
                .iter()
                .map(|&code| place.get(code as usize).copied().or(missing).unwrap_or(0))
                .collect();
            let ordered = of.kind == FeatureKind::OrdinalLevel || is_binned(layout, f);
            let (scale, kind) = match ordered {
                true => (LevelScale::Ordered, LevelDistance::Positions),
                false => (LevelScale::Nominal, LevelDistance::Unit),
            };
            let feature = RecourseFeature { levels, scale, missing, codes, ..named(kind) };
            (feature, LevelEncoding::Code(f, written), 0)
        }
        FeatureColumn::Number(numbers) => {
            if let Some(bins) = job.data.bins.get(of.name.as_str()) {
                let cut = bin_numbers(numbers, &bins.bins());
                let feature = RecourseFeature {
                    levels: cut.levels,
                    scale: LevelScale::Ordered,
                    missing: cut.missing,
                    codes: cut.codes,
                    ..named(LevelDistance::Positions)
                };
                return (feature, LevelEncoding::Number(f, cut.targets), cut.outside);
            }
            let mut values = distinct_numbers(numbers);
            let mut levels: Vec<String> = values.iter().map(|&x| float_text(x)).collect();
            let missing = numbers.iter().any(|x| x.is_nan()).then_some(values.len() as u32);
            levels.extend(missing.map(|_| MISSING_LEVEL.to_owned()));
            let codes = codes_among(&values, numbers, missing.unwrap_or(0));
            values.extend(missing.map(|_| f64::NAN));
            let ordinal = of.kind == FeatureKind::OrdinalNumber;
            let named = named(if ordinal { LevelDistance::Positions } else { by_number });
            let by_position = ordinal
                && matches!(named.cost.distance, LevelDistance::Positions | LevelDistance::Unit);
            let scale =
                if by_position { LevelScale::Ordered } else { LevelScale::Numbers(values.clone()) };
            let feature = RecourseFeature { levels, scale, missing, codes, ..named };
            (feature, LevelEncoding::Number(f, values), 0)
        }
    }
}

/// Whether a column of names is derived from bins, which have an order regardless of its kind.
fn is_binned(layout: &Layout, f: usize) -> bool {
    layout.derivation(f).is_some_and(|derived| matches!(derived.rule, DerivationRule::Bins(_)))
}

/// The levels of a coded column in the order of the audit: that of its bins, else unchanged.
fn order_of(layout: &Layout, f: usize) -> Vec<u32> {
    let levels = &layout.features[f].levels;
    let mut order: Vec<u32> = (0..levels.len() as u32).collect();
    if let Some(DerivationRule::Bins(bins)) = layout.derivation(f).map(|derived| &derived.rule) {
        let place = |level: u32| {
            bins.iter().position(|bin| bin.name == levels[level as usize]).unwrap_or(bins.len())
        };
        order.sort_by_key(|&level| place(level));
    }
    order
}

/// A one-hot group: the level is the column that holds the 1; rows with none or several have no
/// value.
fn onehot_column(
    name: &str,
    members: &[ColumnName],
    at: &[usize],
    rows: &FeatureRows,
) -> RecourseColumn {
    let mut levels: Vec<String> = members.iter().map(ToString::to_string).collect();
    let nowhere = levels.len() as u32;
    let codes: Vec<u32> = (0..rows.n).map(|i| only_one(rows, at, i).unwrap_or(nowhere)).collect();
    let missing = codes.contains(&nowhere).then_some(nowhere);
    levels.extend(missing.map(|_| MISSING_LEVEL.to_owned()));
    let feature = RecourseFeature {
        name: name.to_owned(),
        levels,
        missing,
        codes,
        ..RecourseFeature::default()
    };
    (feature, LevelEncoding::OneHot(at.to_vec()), 0)
}

/// The levels of a column that advice may not lead to.
///
/// # Errors
/// A level that the column does not have.
pub(crate) fn levels_not_to(
    rule: &ColumnChangeRule,
    column: &str,
    levels: &[String],
) -> Result<Vec<u32>> {
    let position = |word: &Word| {
        if let Some(level) = levels.iter().position(|level| level == word.as_str()) {
            return Ok(level as u32);
        }
        let what = format!(
            "`not_to` names the level `{word}` of the column `{column}`, which no audited row has"
        );
        let known = list_words(levels.iter().map(|level| format!("`{level}`")), 12);
        let hint = match levels {
            [] => "no audited row with a decision has a level of it".to_owned(),
            _ => format!("its levels are {known}"),
        };
        Err(Fault::new("unknown-level", what).in_column(column).hint(hint).into())
    };
    rule.not_to().iter().map(position).collect()
}

/// The feature with the rules of the job.
fn with_rules(mut feature: RecourseFeature, recourse: &RecourseBlock) -> Result<RecourseFeature> {
    let weight =
        recourse.cost.weights.get(feature.name.as_str()).map_or(1.0, |weight| weight.get());
    let is_unit = feature.cost.distance == LevelDistance::Unit;
    feature.cost.weight = weight * if is_unit { recourse.cost.nominal.get() } else { 1.0 };
    let predicate = recourse.predicates.get(feature.name.as_str());
    feature.predicate = predicate.copied().unwrap_or_default();
    let Some(rule) = recourse.may_change.get(feature.name.as_str()) else { return Ok(feature) };
    let (direction, steps) = rule.direction();
    let not_to = levels_not_to(rule, &feature.name, &feature.levels)?;
    feature.may_change = AllowedChanges { direction, steps, not_to };
    Ok(feature)
}

/// The rule for a column in words.
fn rule_in_words(recourse: &RecourseBlock, column: &str) -> String {
    recourse.may_change.get(column).map_or_else(|| "never".to_owned(), |rule| rule.in_words())
}

/// Whether an action may change a column at all.
pub(crate) fn may_move(feature: &RecourseFeature) -> bool {
    feature.may_change.direction != ChangeDirection::Never
}
