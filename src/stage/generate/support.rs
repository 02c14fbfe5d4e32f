//! The stage `support`: counts of the reference rows by group and value; and the test of
//! counterfactuals against them while they are generated.
//!
//! The reference is that of [`LearningReference`], whatever a set learns from. Only features that a
//! model reads are tested. In a shard the reference is the rows of all shards, so their counts are
//! states of the pass `learn`; before these are merged nothing is tested.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::counterfactual::support::{
    DirectionSupport, SupportCounts, SupportPlace, place_bit, unread_features,
};
use crate::counterfactual::variable::{
    StrategyVariable, VariableOptions, VariableValues, variables,
};
use crate::data::rows::aligned::{CounterfactualKeys, SUPPORT, keys_in_other_groups};
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{FeatureRows, Layout, MISSING_GROUP};
use crate::error::Result;
use crate::exec::accumulator::{merge_all, merge_each};
use crate::exec::{StageContext, files};
use crate::num::additive::{Additive, additive};
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::kinds::SupportStage;
use crate::stage::plan::{StagePlan, split_unit};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::table::support::is_told;
use crate::table::whole;
use crate::unit::AuditUnit;

/// File of the stage `support`; absent where features do not travel, and in a shard before the
/// counts of all shards are merged.
const COUNTS: &str = "support.json";

/// The counts of an attribute: fold by fold, where a fold has reference rows of its own, and of all
/// rows that are reference for any.
type AttributeCounts = Vec<SupportCounts>;

impl StagePlan<'_> {
    /// Facts that the features do not hold, without the features that no model reads.
    fn tested(&self, layout: &Layout) -> VariableOptions {
        let models = self.job.models.values().map(|model| model.omitted().unwrap_or_default());
        let omitted: Vec<Vec<&str>> =
            models.map(|of| of.iter().map(|name| name.as_str()).collect()).collect();
        VariableOptions { excluded: unread_features(layout, &omitted), ..self.extras(layout) }
    }
}

impl Stage for SupportStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let experiment = Some(unit.experiment.as_str()).filter(|name| !name.is_empty());
        let rows = RowInputs::need(b, &split_unit(experiment))?;
        let reference = plan.need_reference(b)?;
        b.input("data.missing.nominal", |job| job.data.missing.nominal);
        b.input("data.features.onehot", |job| &job.data.features.onehot);
        b.input("omitted", |job| {
            job.models.values().map(|model| model.omitted()).collect::<Vec<_>>()
        });
        b.value("features", plan.features);
        let passes = if reference.is_some() { b.row_passes() } else { b.passes() };
        work(move |ctx| {
            if !plan.features {
                return Ok(());
            }
            rows.with(ctx, 1, |row_context| {
                let reference = reference.as_ref().map(|stage| stage.open(ctx)).transpose()?;
                let of_file = reference.is_some();
                let basis = LearningReference::new(row_context, reference, RowClasses::Label)?;
                let gather = || count(plan, row_context, &basis);
                let counts = if of_file {
                    gather()?
                } else {
                    let states = || Ok((0..).zip(gather()?).collect());
                    let states = passes.gather(ctx, ShardPass::Learn, states)?;
                    let Some(states) = states else { return Ok(()) };
                    merged(states)
                };
                let by_attribute = counts.chunks(sections(basis.n_folds()));
                let counts: Vec<AttributeCounts> = by_attribute.map(<[_]>::to_vec).collect();
                files::write_compact(&ctx.out().join(COUNTS), &counts)
            })
        })
    }
}

/// The counts of all parts, by their numbers.
fn merged(states: Vec<(u64, SupportCounts)>) -> Vec<SupportCounts> {
    let n = states.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let mut parts: Vec<Vec<SupportCounts>> = vec![Vec::new(); usize::try_from(n).unwrap_or(0)];
    for (number, counts) in states {
        parts[usize::try_from(number).unwrap_or(0)].push(counts);
    }
    parts.into_iter().filter_map(merge_all).collect()
}

/// Counts of an attribute with this many folds.
fn sections(n_folds: usize) -> usize {
    if n_folds > 1 { n_folds + 1 } else { 1 }
}

/// Counts the reference rows by the groups of every attribute: the counts of an attribute are next
/// to each other.
fn count(
    plan: &StagePlan<'_>,
    row_context: RowContext<'_>,
    basis: &LearningReference<'_>,
) -> Result<Vec<SupportCounts>> {
    let (layout, n_folds) = (row_context.rows.layout(), basis.n_folds());
    let extras = plan.tested(layout);
    let of_attributes: Vec<Vec<StrategyVariable>> = layout
        .attributes
        .iter()
        .map(|attribute| variables(&layout.features, attribute, &extras))
        .collect();
    let n_sections = sections(n_folds);
    let empty = || -> Vec<SupportCounts> {
        let attributes = layout.attributes.iter().zip(&of_attributes);
        attributes
            .flat_map(|(attribute, variables)| {
                let none = SupportCounts::new(variables, attribute.groups.len());
                std::iter::repeat_n(none, n_sections)
            })
            .collect()
    };
    let add = |part: &mut Vec<SupportCounts>, g: usize| {
        let (batch, roles) = basis.read(g)?;
        let mut in_any = vec![false; batch.rows.n];
        for section in 0..n_sections {
            let is_reference = |&i: &usize| match section < n_folds {
                true => basis.times((&batch, roles.as_ref()), i, section) > 0,
                false => in_any[i],
            };
            let reference: Vec<usize> = (0..batch.rows.n).filter(is_reference).collect();
            reference.iter().for_each(|&i| in_any[i] = true);
            for (a, variables) in of_attributes.iter().enumerate() {
                let grouped = reference.iter().map(|&i| (i, batch.groups[a][i]));
                let grouped = grouped.filter(|(_, group)| *group != MISSING_GROUP);
                let counted: Vec<_> = grouped.map(|(i, group)| (i, usize::from(group))).collect();
                part[a * n_sections + section].add(variables, &batch.rows, &counted);
            }
        }
        Ok(batch.row.len() as u64)
    };
    // Where nothing is tested no row is read.
    let n_groups = if of_attributes.iter().all(Vec::is_empty) { 0 } else { basis.n_groups() };
    row_context.pieces(n_groups).fold(empty, add, merge_each)
}

/// The test of the counterfactuals of one attribute.
#[derive(Debug)]
pub(crate) struct SupportTests {
    /// What is tested.
    pub(crate) variables: Vec<StrategyVariable>,
    /// Position of the attribute.
    pub(crate) position: usize,
    groups: usize,
    /// At from * groups + to.
    directions: Vec<DirectionSupport>,
}

impl StageInput<SupportStage> {
    /// The test of the counterfactuals of the attribute at a position; none where nothing can be
    /// unsupported, and in a shard before the reference rows of all shards are counted.
    pub(crate) fn tests(
        &self,
        ctx: &StageContext<'_>,
        plan: &StagePlan<'_>,
        (layout, position): (&Layout, usize),
    ) -> Result<Option<SupportTests>> {
        if !self.folder(ctx).join(COUNTS).exists() {
            return Ok(None);
        }
        let counts: Vec<AttributeCounts> = self.read(ctx, COUNTS)?;
        let attribute = &layout.attributes[position];
        let mut variables = variables(&layout.features, attribute, &plan.tested(layout));
        let Some((all, folds)) = counts.get(position).and_then(|of| of.split_last()) else {
            return Ok(None);
        };
        variables.extend(all.found_groups(&variables, &layout.features));
        let folds = if folds.is_empty() { std::slice::from_ref(all) } else { folds };
        let groups = attribute.groups.len();
        let directions = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
        let support = |of| DirectionSupport::new(&variables, &layout.features, (folds, all), of);
        let directions: Vec<DirectionSupport> = directions.map(support).collect();
        if directions.iter().all(|direction| direction.places.is_empty()) {
            return Ok(None);
        }
        Ok(Some(SupportTests { variables, position, groups, directions }))
    }
}

impl SupportTests {
    /// The number of a direction between declared groups.
    pub(crate) fn number(&self, from: usize, to: usize) -> usize {
        from * self.groups + to
    }

    /// What may be unsupported in a direction.
    pub(crate) fn direction(&self, from: usize, to: usize) -> &DirectionSupport {
        &self.directions[self.number(from, to)]
    }

    /// What is tested of rows.
    pub(crate) fn values<'a>(&self, rows: &'a FeatureRows) -> Vec<VariableValues<'a>> {
        self.variables.iter().map(|variable| variable.values(rows)).collect()
    }

    /// No counterfactual tested yet.
    pub(crate) fn no_sums(&self) -> SupportSums {
        let of = |direction: &DirectionSupport| vec![0; direction.places.len()];
        SupportSums {
            people: self.directions.iter().map(of).collect(),
            tested: vec![0; self.directions.len()],
        }
    }

    /// For each valid counterfactual of a row group a bit for each unsupported value. `made` are
    /// the counterfactuals; none where they are the people themselves in another group. Adds the
    /// people to the sums.
    pub(crate) fn of_rows(
        &self,
        (batch, roles): (&PreparedBatch, &RowRoles),
        (keys, valid): (&CounterfactualKeys, Option<&[bool]>),
        made: Option<&FeatureRows>,
        sums: &mut SupportSums,
    ) -> Vec<u64> {
        let mut bits = Vec::with_capacity(keys.parent.len());
        let mut held: Vec<u32> = Vec::new();
        let mut before = None;
        let own_values = self.values(&batch.rows);
        let made_values = made.map(|made| self.values(made));
        for (k, (&parent, &to)) in keys.parent.iter().zip(&keys.to_group).enumerate() {
            if valid.is_some_and(|valid| !valid[k]) {
                continue;
            }
            let (i, to) = (parent as usize, usize::from(to));
            let from = usize::from(batch.groups[self.position][i]);
            if before.replace((parent, to)) != Some((parent, to)) {
                held.clear();
                sums.tested[self.number(from, to)] += 1;
            }
            let mut own = 0;
            let person = (own_values.as_slice(), i);
            let made = made_values.as_ref().map_or(person, |made| (made.as_slice(), k));
            let fold = roles.audited(i).unwrap_or(0);
            self.direction(from, to).each_unsupported(fold, made, person, |_, place| {
                own |= place_bit(place);
                // If a person has several counterfactuals, each value counts once.
                if !held.contains(&place) {
                    held.push(place);
                    sums.people[self.number(from, to)][place as usize] += 1;
                }
            });
            bits.push(own);
        }
        bits
    }

    /// The unsupported values of the people of a row group as they are, in other groups.
    pub(crate) fn of_people(
        &self,
        row_context: RowContext<'_>,
        g: usize,
        sums: &mut SupportSums,
    ) -> Result<Vec<u64>> {
        let of = Projection { keys: false, ..Projection::PEOPLE };
        let (batch, roles) = row_context.read(g, of)?;
        let keys = keys_in_other_groups(self.groups, &roles, &batch.groups[self.position]);
        Ok(self.of_rows((&batch, &roles), (&keys, None), None, sums))
    }

    /// Which values of the audited people, as they are, are unsupported in other groups.
    pub(crate) fn standing(&self, row_context: RowContext<'_>) -> Result<Vec<UnsupportedValue>> {
        let add = |sums: &mut SupportSums, g: usize| {
            Ok(self.of_people(row_context, g, sums)?.len() as u64)
        };
        let merge = |sums: &mut SupportSums, other| sums.absorb(&other);
        let sums = row_context.row_groups().fold(|| self.no_sums(), add, merge)?;
        Ok(self.found(&sums))
    }

    /// Writes the unsupported values of each row group.
    pub(crate) fn write(
        &self,
        out: &Path,
        row_context: RowContext<'_>,
        of_group: impl Fn(usize, &mut SupportSums) -> Result<Vec<u64>> + Sync,
    ) -> Result<SupportSums> {
        let (encoder, mut writer) = SUPPORT.create(out)?;
        let mut all = self.no_sums();
        row_context.row_groups().in_order(
            |g| {
                let mut sums = self.no_sums();
                let bits = of_group(g, &mut sums)?;
                Ok((bits.len() as u64, (encoder.encode(bits)?, sums)))
            },
            |_, (encoded, sums)| {
                all.absorb(&sums);
                writer.append(encoded)
            },
        )?;
        writer.finish()?;
        Ok(all)
    }

    /// What is unsupported, by direction, with the people who would hold it.
    pub(crate) fn found(&self, sums: &SupportSums) -> Vec<UnsupportedValue> {
        let mut found = Vec::new();
        for (at, people) in sums.people.iter().enumerate() {
            let places = self.directions[at].places.iter().zip(people).enumerate();
            found.extend(places.filter(|(_, (_, people))| **people > 0).map(
                |(place, (value, &people))| UnsupportedValue {
                    from: at / self.groups,
                    to: at % self.groups,
                    place,
                    n_places: self.directions[at].places.len(),
                    value: value.clone(),
                    people,
                    of_people: sums.tested[at],
                },
            ));
        }
        found
    }
}

/// People by direction and by what of their counterfactuals is unsupported there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SupportSums {
    /// By direction, at from * groups + to, and place.
    pub(crate) people: Vec<Vec<u64>>,
    /// All people by direction.
    pub(crate) tested: Vec<u64>,
}

additive!(SupportSums { people, tested });

impl SupportSums {
    /// Counts a person of a direction for each of some places.
    pub(crate) fn add(&mut self, direction: usize, places: &[u32]) {
        self.tested[direction] += 1;
        places.iter().for_each(|&place| self.people[direction][place as usize] += 1);
    }
}

/// A value that counterfactuals of a direction hold and that is unsupported there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnsupportedValue {
    /// Positions of the declared groups.
    pub from: usize,
    /// The target.
    pub to: usize,
    /// Its place in the direction.
    pub place: usize,
    /// Places of the direction.
    pub n_places: usize,
    /// What it is.
    pub value: SupportPlace,
    /// People of the direction who would hold it.
    pub people: u64,
    /// All people of the direction.
    pub of_people: u64,
}

impl UnsupportedValue {
    /// Whether so many would hold it that a run reports it.
    pub(crate) fn is_told(&self) -> bool {
        is_told(whole(self.people), whole(self.of_people))
    }

    /// What it is, in words.
    pub(crate) fn words(&self, groups: &[String]) -> String {
        let UnsupportedValue { value, people, of_people, .. } = self;
        let (from, to) = (&groups[self.from], &groups[self.to]);
        let who = format!("{people} of {of_people} people of `{from}` would be `{to}` with");
        match &value.level {
            Some(level) => format!(
                "{who} `{}` `{level}` (reference rows with it: {}, of these in `{to}`: {})",
                value.feature, value.level_in_reference, value.in_reference
            ),
            None => format!("{who} a `{}` that no reference row of `{to}` has", value.feature),
        }
    }
}

/// Values that are named one by one.
const VALUES_NAMED: usize = 3;

/// The values that are reported, in words, those of most people first, with the people of the
/// first; none where there is none.
pub(crate) fn told_in_words<'v>(
    found: impl Iterator<Item = &'v UnsupportedValue>,
    groups: &[String],
) -> Option<(u64, String)> {
    let mut told: Vec<&UnsupportedValue> = found.filter(|value| value.is_told()).collect();
    told.sort_by_key(|value| std::cmp::Reverse(value.people));
    let people = told.first()?.people;
    let named = told.iter().take(VALUES_NAMED).map(|value| value.words(groups));
    let mut text = named.collect::<Vec<_>>().join("; ");
    if told.len() > VALUES_NAMED {
        text.push_str(&format!("; and {} more values", told.len() - VALUES_NAMED));
    }
    Some((people, text))
}
