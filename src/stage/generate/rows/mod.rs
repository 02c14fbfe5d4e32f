//! The work of the stages `generate` and `score`: counterfactual rows, and the scores of both.
//!
//! Both are maps over the row groups of the prepared rows; what they write is aligned with these
//! (see `data::rows::aligned`). Files of scores computed elsewhere are joined in
//! `stage::score::join`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counterfactual::write_back::{RawCounts, WriteBack, WriteBackRow, WrittenCounts};
use crate::counterfactual::{ChangeCounters, GeneratedBatch, Generator, SampleBatch, TargetGroup};
use crate::data::rows::aligned::{
    CounterfactualKeys, CounterfactualVerdicts, NaiveKeys, SUPPORT, create_counterfactuals,
};
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{Attribute, Feature, FeatureRows, Layout, MISSING_GROUP};
use crate::error::Result;
use crate::exec::accumulator::{Accumulator, merge_each};
use crate::exec::files;
use crate::folder::manifest::WrittenValue;
use crate::num::additive::Additive;
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::generate::support::{SupportSums, SupportTests, UnsupportedValue};
use crate::stage::row_context::RowContext;

/// What was generated for some rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct GenerationSums {
    /// Number of counterfactuals, valid or not.
    pub(crate) n_rows: u64,
    /// Whether they follow from the rows, so that they have no file.
    pub(crate) follows: bool,
    /// The values that were written for groups of a derived attribute.
    written: WrittenCounts,
    /// People for whom a group cannot be reached, by group; empty where this was not checked.
    unreached: Vec<u64>,
    /// Counterfactuals whose own numbers contradict their group, by group; empty where this was not
    /// checked.
    outside: Vec<u64>,
    /// People who would hold unsupported values.
    #[serde(default)]
    pub(crate) support: SupportSums,
}

impl Accumulator for GenerationSums {
    fn merge(&mut self, other: Self) {
        self.n_rows += other.n_rows;
        self.follows |= other.follows;
        self.written.merge(other.written);
        self.unreached.absorb(&other.unreached);
        self.outside.absorb(&other.outside);
        self.support.absorb(&other.support);
    }
}

/// What a stage `generate` works with.
pub(crate) struct GenerateInputs<'a> {
    /// One generator per fold, or one for all.
    pub generators: &'a [Box<dyn Generator>],
    /// Position of the attribute.
    pub attribute: usize,
    /// What the classes of the rows are.
    pub classes: &'a RowClasses,
    /// What follows from setting the attribute, per fold or one for all; none where features do not
    /// travel.
    pub write_backs: &'a [WriteBack],
    /// Whether features travel.
    pub with_features: bool,
    /// Whether the counterfactuals follow only from the rows, so that they need no file.
    pub is_view: bool,
    /// Whether the strategy judges what it makes.
    pub judged: bool,
    /// The test of what it makes; none where features do not travel.
    pub support: Option<&'a SupportTests>,
    /// Whether rows keep the column of the attribute, because only the names of groups are others.
    pub keeps_attribute: bool,
}

/// Writes the counterfactuals of every audited row of a declared group, in every other group, in
/// the order of the rows, then of the declared groups, then `cf_index`. Columns that the attribute
/// is derived from are written back, and derived features computed again (see
/// `counterfactual::write_back`).
///
/// Unsupported values are written next to them (see `counterfactual::support`).
///
/// # Errors
/// The rows cannot be read, the disk refuses, or the run is to stop.
pub(crate) fn generate(
    row_context: RowContext<'_>,
    making: &GenerateInputs<'_>,
    out: &Path,
) -> Result<GenerationSums> {
    let mut sums = GenerationSums::default();
    if making.is_view {
        let keys = NaiveKeys::count(row_context.rows, row_context.roles, making.attribute)?;
        keys.write(out)?;
        (sums.n_rows, sums.follows) = (keys.n_rows, keys.follows);
        if let Some(tests) = making.support {
            let of_group = |g, sums: &mut _| tests.of_people(row_context, g, sums);
            sums.support = tests.write(out, row_context, of_group)?;
        }
        return Ok(sums);
    }
    let layout = row_context.rows.layout();
    let attribute = &layout.attributes[making.attribute];
    let (encoder, mut writer) =
        create_counterfactuals(out, making.with_features.then_some(layout), making.judged)?;
    let support = making.support.map(|_| SUPPORT.create(out)).transpose()?;
    let (support_encoder, mut support_writer) = support.unzip();
    row_context.row_groups().in_order(
        |g| {
            let of = Projection { features: making.with_features, ..Projection::ALL };
            let (batch, roles) = row_context.read(g, of)?;
            let classes = making.classes.of_group(g, &batch)?;
            let made = making.made_group(attribute, (&batch, &roles), &classes);
            let unsupported = made.unsupported.zip(support_encoder.as_ref());
            let unsupported =
                unsupported.map(|(bits, encoder)| encoder.encode(bits)).transpose()?;
            let (n_rows, part) = (made.sums.n_rows, made.sums);
            let judged = making.judged.then_some(made.judged);
            let encoded = encoder.encode(made.keys, judged, made.rows)?;
            Ok((n_rows, (encoded, unsupported, part)))
        },
        |_, (encoded, unsupported, part)| {
            sums.merge(part);
            if let Some((writer, unsupported)) = support_writer.as_mut().zip(unsupported) {
                writer.append(unsupported)?;
            }
            writer.append(encoded)
        },
    )?;
    writer.finish()?;
    if let Some(writer) = support_writer {
        writer.finish()?;
    }
    Ok(sums)
}

/// Writes what followed from setting the attribute, in [`EFFECTS_FILE`].
///
/// # Errors
/// The disk refuses.
pub(crate) fn write_effects(
    layout: &Layout,
    attribute: usize,
    sums: &GenerationSums,
    (without_rows, unsupported): (&[usize], Vec<UnsupportedValue>),
    out: &Path,
) -> Result<()> {
    let of = &layout.attributes[attribute];
    let derived = layout.derivation(of.feature).is_some();
    let value =
        |(from, to, column, value, n): (usize, usize, &Feature, String, u64)| WrittenValue {
            from_group: of.groups[from].clone(),
            to_group: of.groups[to].clone(),
            column: column.name.clone(),
            value,
            n,
        };
    let by_group = |counts: &[u64]| {
        let counted = of.groups.iter().cloned().zip(counts.iter().copied());
        counted.filter(|(_, n)| *n > 0).collect()
    };
    let followed = GeneratedEffects {
        written: sums.written.values(layout).filter(|_| derived).map(value).collect(),
        unreached: by_group(&sums.unreached),
        outside: by_group(&sums.outside),
        without_rows: without_rows.iter().map(|&group| of.groups[group].clone()).collect(),
        unsupported,
    };
    files::write_json(&out.join(EFFECTS_FILE), &followed)
}

/// File of the stage `generate` next to the counterfactuals.
pub(crate) const EFFECTS_FILE: &str = "followed.json";

/// What followed from setting an attribute.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct GeneratedEffects {
    /// The values that were written for groups of a derived attribute.
    pub written: Vec<WrittenValue>,
    /// Groups that no reference row represents, with the number of people who have no
    /// counterfactual there.
    pub unreached: Vec<(String, u64)>,
    /// Groups with the number of counterfactuals that are not valid because one of their numbers
    /// belongs to another group.
    pub outside: Vec<(String, u64)>,
    /// Groups without a row that the strategy learns from, in one of the folds at least.
    #[serde(default)]
    pub without_rows: Vec<String>,
    /// The values of counterfactuals that the reference rows of their group hardly hold.
    #[serde(default)]
    pub unsupported: Vec<UnsupportedValue>,
}

/// What follows from setting an attribute, per fold where the basis has several.
///
/// # Errors
/// The rows cannot be read, the run is to stop, or a column that groups are mapped from has too
/// many different numbers.
pub(crate) fn write_backs(
    row_context: RowContext<'_>,
    basis: &LearningReference<'_>,
    attribute: usize,
) -> Result<Vec<WriteBack>> {
    let layout = row_context.rows.layout();
    let empty = RawCounts::new(layout, attribute);
    let n_folds = basis.n_folds();
    let mut counts = vec![empty; n_folds];
    if counts.iter().any(RawCounts::has_columns) {
        let add = |part: &mut Vec<RawCounts>, g: usize| {
            let (batch, roles) = basis.read(g)?;
            for (fold, counts) in part.iter_mut().enumerate() {
                let counted = (0..batch.rows.n).flat_map(|i| {
                    let label = batch.label.get(i).copied().flatten();
                    let times = basis.times((&batch, roles.as_ref()), i, fold);
                    std::iter::repeat_n((i, label), times)
                });
                counts.add(&batch.rows, &counted.collect::<Vec<_>>());
            }
            Ok(0)
        };
        counts = row_context.pieces(basis.n_groups()).fold(|| counts.clone(), add, merge_each)?;
    }
    let write_back = |counts: &RawCounts| {
        counts.check(layout)?;
        Ok(WriteBack::new(layout, attribute, counts))
    };
    counts.iter().map(write_back).collect()
}

/// What follows in the counterfactuals of a row; `write_backs` are per fold, one for all, or none.
fn write_back_of<'a>(
    write_backs: &'a [WriteBack],
    roles: &RowRoles,
    i: usize,
) -> Option<&'a WriteBack> {
    match write_backs {
        [one] => Some(one),
        by_fold => by_fold.get(usize::from(roles.audited(i)?)),
    }
}

/// Updates everything derived in the counterfactuals of one row group.
pub(crate) fn write_back(
    write_backs: &[WriteBack],
    roles: &RowRoles,
    batch: &PreparedBatch,
    attribute: usize,
    keys: &CounterfactualKeys,
    rows: &mut FeatureRows,
) -> WrittenCounts {
    let mut written = WrittenCounts::default();
    for (fold, back) in write_backs.iter().enumerate().filter(|(_, back)| !back.is_empty()) {
        let change = |row: usize| {
            let parent = keys.parent[row] as usize;
            WriteBackRow {
                row,
                parent,
                from: usize::from(batch.groups[attribute][parent]),
                to: usize::from(keys.to_group[row]),
            }
        };
        let mine = |change: &WriteBackRow| {
            write_backs.len() == 1
                || roles.audited(change.parent).is_some_and(|own| usize::from(own) == fold)
        };
        let changes: Vec<WriteBackRow> = (0..rows.n).map(change).filter(mine).collect();
        written.merge(back.apply(rows, &changes, &batch.rows, &batch.label));
    }
    written
}

/// The counterfactuals of a row group.
pub(crate) struct MadeGroup {
    pub(crate) keys: CounterfactualKeys,
    pub(crate) judged: CounterfactualVerdicts,
    pub(crate) rows: FeatureRows,
    /// The unsupported values of each; none where they are not tested.
    pub(crate) unsupported: Option<Vec<u64>>,
    pub(crate) sums: GenerationSums,
}

impl GenerateInputs<'_> {
    /// Generates for the rows of one row group, and updates everything derived. A counterfactual
    /// whose own numbers contradict the group that it is set to is not valid.
    pub(crate) fn made_group(
        &self,
        of: &Attribute,
        (batch, roles): (&PreparedBatch, &RowRoles),
        classes: &[Option<u32>],
    ) -> MadeGroup {
        // If the column of the attribute is kept, every group can be reached.
        let reach = if self.keeps_attribute { &[][..] } else { self.write_backs };
        let mut unreached = vec![0; of.groups.len()];
        let mut outside = unreached.clone();
        let mut parts: Vec<(usize, GeneratedBatch)> = Vec::new();
        for (fold, generator) in self.generators.iter().enumerate() {
            let own = &batch.groups[self.attribute];
            let own = groups_of_fold(own, roles, self.generators.len(), fold);
            for (to, unreached) in unreached.iter_mut().enumerate() {
                // A row that cannot be set to the group takes part as one of no group.
                let mut groups = own.clone();
                let others = groups.iter_mut().enumerate();
                for (i, group) in others
                    .filter(|(_, group)| **group != MISSING_GROUP && usize::from(**group) != to)
                {
                    if write_back_of(reach, roles, i).is_some_and(|back| !back.can_set_group(to)) {
                        *group = MISSING_GROUP;
                        *unreached += 1;
                    }
                }
                let (keys, rows) = (&batch.row_key, &batch.rows);
                let samples = SampleBatch { keys, rows, groups: &groups, classes };
                let target = TargetGroup { attribute: of, group: to };
                parts.push((to, generator.generate(&samples, target)));
            }
        }
        let (keys, mut judged, mut rows) = in_file_order(&parts, self.judged);
        if self.keeps_attribute
            && let Some(column) = rows.columns.get_mut(of.feature)
        {
            let parents: Vec<usize> = keys.parent.iter().map(|&parent| parent as usize).collect();
            *column = batch.rows.columns[of.feature].take(&parents);
        }
        let written = write_back(self.write_backs, roles, batch, self.attribute, &keys, &mut rows);
        for (row, valid) in judged.valid.iter_mut().enumerate() {
            let back = write_back_of(reach, roles, keys.parent[row] as usize);
            if back.is_some_and(|back| back.contradicts_group(&rows, row)) {
                *valid = false;
                outside[usize::from(keys.to_group[row])] += 1;
            }
        }
        let mut support = self.support.map_or_else(Default::default, SupportTests::no_sums);
        let unsupported = self.support.map(|tests| {
            let valid = self.judged.then_some(judged.valid.as_slice());
            tests.of_rows((batch, roles), (&keys, valid), Some(&rows), &mut support)
        });
        let n_rows = keys.parent.len() as u64;
        let sums = GenerationSums { n_rows, follows: false, written, unreached, outside, support };
        MadeGroup { keys, judged, rows, unsupported, sums }
    }
}

/// The groups of the rows that are audited in a fold; the others take part as rows of no group.
pub(crate) fn groups_of_fold(
    own: &[u16],
    roles: &RowRoles,
    n_folds: usize,
    fold: usize,
) -> Vec<u16> {
    let mine = |i: usize| roles.audited(i).is_some_and(|f| n_folds == 1 || usize::from(f) == fold);
    own.iter().enumerate().map(|(i, &group)| if mine(i) { group } else { MISSING_GROUP }).collect()
}

/// Counterfactuals by target group, in the order of the file: by row, target group, index. The
/// counterfactuals of a row in a group are all in one part. What was judged is sorted if it is
/// asked for, and otherwise empty.
fn in_file_order(
    parts: &[(usize, GeneratedBatch)],
    judged: bool,
) -> (CounterfactualKeys, CounterfactualVerdicts, FeatureRows) {
    let of_part = |(p, (to, made)): (usize, &(usize, GeneratedBatch))| {
        let to = u16::try_from(*to).unwrap_or(MISSING_GROUP);
        let parents = made.parent.iter().map(|&parent| u32::try_from(parent).unwrap_or(u32::MAX));
        parents.enumerate().map(|(k, parent)| (parent, to, (p, k))).collect::<Vec<_>>()
    };
    let mut order: Vec<(u32, u16, (usize, usize))> =
        parts.iter().enumerate().flat_map(of_part).collect();
    // Those of a row and group stay in the order of their part.
    order.sort_by_key(|&(parent, to, _)| (parent, to));
    let made = |&(_, _, (part, k)): &(u32, u16, (usize, usize))| (&parts[part].1, k);
    let keys = CounterfactualKeys {
        parent: order.iter().map(|of| of.0).collect(),
        to_group: order.iter().map(|of| of.1).collect(),
        cf_index: order.iter().map(made).map(|(made, k)| made.cf_index[k]).collect(),
    };
    let mut verdicts = CounterfactualVerdicts::default();
    for (made, k) in order.iter().map(made).filter(|_| judged) {
        let plausibility = made.plausibility.as_ref().and_then(|of| of[k]);
        verdicts.valid.push(made.valid[k]);
        verdicts.plausibility.push(plausibility.unwrap_or(f64::NAN));
        let ChangeCounters { n_changed, n_impossible, n_clamped, n_fallback, n_kept } =
            made.counters[k];
        let counts = [n_changed, n_impossible, n_clamped, n_fallback, n_kept];
        verdicts.counters.iter_mut().zip(counts).for_each(|(column, n)| column.push(n));
    }
    let rows: Vec<&FeatureRows> = parts.iter().map(|(_, made)| &made.rows).collect();
    (keys, verdicts, FeatureRows::gather(&rows, order.iter().map(|of| of.2)))
}

#[cfg(test)]
mod tests;
