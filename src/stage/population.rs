//! The stage `population`: the state of each row of the source, by the groups of each attribute,
//! regardless of the model: rows that preparing left out, audited rows, and kept rows on another
//! side of the split.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::prepare::left_out::{CountedGroup, RowTally, first_named};
use crate::data::rows::Projection;
use crate::data::{Layout, MISSING};
use crate::error::Result;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::person_sums::PersonCells;
use crate::num::additive::Additive;
use crate::stage::count::evidence::words_of_ungrouped;
use crate::stage::kinds::PopulationStage;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::sharding::share::ShardPass;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder};
use crate::table::file::{read_rows, write_rows};
use crate::table::population::AUDITED;
use crate::table::{PopulationRow, SharedText, whole};
use crate::unit::AuditUnit;

/// The two sides of the kept rows, in the order of [`KeptPopulation`].
const SIDES: [&str; 2] = [AUDITED, "other_side"];

/// The kept rows by attribute, place and side. Place 0 is for the rows without a group, then come
/// the declared groups, then the levels of the attribute's column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptPopulation {
    attributes: Vec<BTreeMap<u32, [RowTally; 2]>>,
    /// The same by person; empty where each row is a person.
    persons: Vec<PersonCells<2>>,
}

impl KeptPopulation {
    /// No rows yet; `by_person` where a person may have several rows.
    pub(crate) fn new(attributes: usize, by_person: bool) -> Self {
        let persons = if by_person { vec![PersonCells::new(); attributes] } else { Vec::new() };
        KeptPopulation { attributes: vec![BTreeMap::new(); attributes], persons }
    }

    /// Adds a row of a place.
    pub(crate) fn add(
        &mut self,
        (attribute, place, side): (usize, u32, usize),
        (person, weight): (u64, f64),
        lacks_label: bool,
    ) {
        self.attributes[attribute].entry(place).or_default()[side].add(weight, lacks_label);
        self.add_person((attribute, place, side), person);
    }

    /// Counts a row of a place only for its person.
    fn add_person(&mut self, (attribute, place, side): (usize, u32, usize), person: u64) {
        if let Some(persons) = self.persons.get_mut(attribute) {
            persons.at(person, place as usize)[side] += 1;
        }
    }

    /// Adds other rows of a place.
    fn add_rows(&mut self, attribute: usize, place: u32, sides: &[RowTally; 2]) {
        self.attributes[attribute].entry(place).or_default().absorb(sides);
    }

    /// Persons with a row of a side at one of some places; none where each row is a person.
    fn persons_at(&self, attribute: usize, places: &[u32], side: usize) -> Option<u64> {
        let here = |at: usize, of: usize| of == side && places.contains(&(at as u32));
        let persons = self.persons.get(attribute)?;
        Some(persons.units(|at, of| here(at, of).then_some(0)).len() as u64)
    }

    /// The rows of the table.
    fn rows(&self, layout: &Layout) -> Vec<PopulationRow> {
        let mut rows = Vec::new();
        for (a, (attribute, places)) in layout.attributes.iter().zip(&self.attributes).enumerate() {
            let (groups, levels) = (&attribute.groups, &layout.features[attribute.feature].levels);
            let word = |place: u32| {
                let level = (place as usize).checked_sub(1 + groups.len())?;
                levels.get(level).map(String::as_str)
            };
            let undeclared = places.keys().filter_map(|&place| Some((word(place)?, place)));
            let (undeclared, unnamed) = first_named(undeclared);
            let declared = groups.iter().zip(1..).map(|(name, at)| (Some(name.as_str()), true, at));
            let named = declared
                .chain(undeclared.into_iter().map(|(word, place)| (Some(word), false, place)))
                .chain([(None, false, 0)])
                .map(|(group, declared, place)| (group, declared, vec![place]));
            for (group, declared, at) in named.chain([(Some(""), false, unnamed)]) {
                for (side, state) in SIDES.into_iter().enumerate() {
                    let mut tally = RowTally::default();
                    let here = at.iter().filter_map(|place| places.get(place));
                    here.for_each(|sides| tally.absorb(&sides[side]));
                    // A declared group has a row even if nobody of it is audited.
                    if tally.rows > 0 || (declared && side == 0) {
                        let group =
                            CountedGroup { group: group.map(str::to_owned), declared, tally };
                        rows.push(PopulationRow {
                            persons: self.persons_at(a, &at, side).map(whole),
                            ..row(layout, state, &attribute.name, &group)
                        });
                    }
                }
            }
        }
        rows
    }
}

/// A row of the table that is about no model.
pub(crate) fn row(
    layout: &Layout,
    state: &str,
    sensitive: &str,
    of: &CountedGroup,
) -> PopulationRow {
    PopulationRow {
        state: state.into(),
        sensitive: sensitive.into(),
        group: of.group.as_ref().map(SharedText::from),
        declared: of.declared,
        rows: whole(of.tally.rows),
        weight: layout.weight.as_ref().map(|_| of.tally.weight.to_f64()),
        without_label: layout.label.as_ref().map(|_| whole(of.tally.without_label)),
        ..PopulationRow::default()
    }
}

additive!(accumulated KeptPopulation { attributes, persons });

impl Stage for PopulationStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let (plan, rows, passes) = (b.plan, RowInputs::of_job(b)?, b.passes());
        let prepared = rows.prepared().clone();
        rows.work(1, move |ctx, row_context| {
            let layout = row_context.rows.layout();
            plan.check_person_memory(row_context, layout.attributes.len() as u64)?;
            let kept = passes.gather_one(ctx, ShardPass::Count, || gather(row_context))?;
            let Some(kept) = kept else { return Ok(()) };
            let mut all = read_rows::<PopulationRow>(prepared.folder(ctx))?;
            all.extend(kept.rows(layout));
            write_rows(ctx.out(), &all)
        })
    }
}

/// Counts the kept rows.
fn gather(row_context: RowContext<'_>) -> Result<KeptPopulation> {
    let rows = row_context.rows;
    let layout = rows.layout();
    let empty = || KeptPopulation::new(layout.attributes.len(), layout.person.is_some());
    row_context.row_groups().gather(empty, |part, g| {
        let of = Projection { outcomes: true, keys: false, ..Projection::KEYS };
        let (batch, roles) = row_context.read(g, of)?;
        for (a, groups) in batch.groups.iter().enumerate() {
            let words = words_of_ungrouped(rows, &batch, (g, a))?;
            let n_groups = layout.attributes[a].groups.len() as u32;
            // By declared group, so that most rows need no search.
            let mut declared = vec![[RowTally::default(); 2]; n_groups as usize];
            for (i, &group) in groups.iter().enumerate() {
                let side = usize::from(roles.audited(i).is_none());
                let weight = batch.weight.get(i).copied().unwrap_or(0.0);
                let lacks_label = layout.label.is_some() && batch.label[i].is_none();
                if let Some(sides) = declared.get_mut(usize::from(group)) {
                    sides[side].add(weight, lacks_label);
                    part.add_person((a, 1 + u32::from(group), side), batch.shared_key(i));
                    continue;
                }
                let word = words.as_ref().map_or(MISSING, |words| words[i]);
                let place = if word == MISSING { 0 } else { 1 + n_groups + word };
                part.add((a, place, side), (batch.shared_key(i), weight), lacks_label);
            }
            for (place, sides) in (1..).zip(&declared).filter(|(_, of)| of[0].rows + of[1].rows > 0)
            {
                part.add_rows(a, place, sides);
            }
        }
        Ok(batch.row.len() as u64)
    })
}
