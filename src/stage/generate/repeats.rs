//! The stages `placebo/SET/ATTRIBUTE` and `doubt/SET/ATTRIBUTE`: a set is fitted, generated, scored
//! and counted several times with one thing changed, by the same models.
//!
//! *Placebo*: what a set gives where group names mean nothing. A repeat permutes the names of the
//! groups among the rows of a label, separately for training rows and audited rows, by the stream
//! `placebo/r`. The permutation follows from the keys of the rows, not from their order. The rows
//! of a person (`data.person`) get the groups of those of another person, whose first row has the
//! same label. What the rows say about the attribute stays as it is, because its names were
//! shuffled, not its values: only what the strategy moves differs between a row and its
//! counterfactual, and it moves by sampling noise.
//!
//! *Doubt about the fit*: what the set gives with other rows to learn from. A repeat draws the rows
//! of the reference again with replacement ([`RowDraw`], stream
//! `doubt/fit`); people, models and everything else
//! stay as they are.
//!
//! Memory: 64 bytes per row for a placebo, and 14 per counterfactual.

use std::path::Path;

use crate::counterfactual::plan::{MovedRows, StrategyPlan};
use crate::counterfactual::write_back::WriteBack;
use crate::data::MISSING_GROUP;
use crate::data::rows::aligned::{CounterfactualKeys, ScoreReader};
use crate::data::rows::row_draw::RowDraw;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection, RowGroupLabels};
use crate::error::Result;
use crate::exec::files;
use crate::job::CounterfactualSet;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::noise::repeats::SetRepeat;
use crate::model::Scorer;
use crate::num::seed::{RandomStream, h};
use crate::param::{Count, Seed};
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::evidence::{ScoredGroup, no_switches, ranks};
use crate::stage::generate::basis::LearningReference;
use crate::stage::generate::rows::{GenerateInputs, MadeGroup, write_backs};
use crate::stage::generate::support::SupportTests;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::score::rows::{knowing_fold, score_by_fold};

/// What a repeat of a set changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepeatedPart {
    /// The names of the groups are shuffled: a placebo.
    GroupNames,
    /// The rows that the strategy learns from are resampled: the doubt about the fit.
    ReferenceRows,
}

impl RepeatedPart {
    /// The key by which a set asks for it.
    pub(crate) fn key(self) -> &'static str {
        match self {
            RepeatedPart::GroupNames => "placebo",
            RepeatedPart::ReferenceRows => "doubt",
        }
    }

    /// How often a set asks for it.
    pub(crate) fn repeats(self, set: &CounterfactualSet) -> Option<Count> {
        match self {
            RepeatedPart::GroupNames => set.placebo.map(|placebo| placebo.repeats),
            RepeatedPart::ReferenceRows => set.doubt.map(|doubt| doubt.fit),
        }
    }
}

/// A model that is asked in every repeat.
pub(crate) struct RepeatModel {
    /// Its name.
    pub name: String,
    /// One scorer per fold.
    pub scorers: Vec<Box<dyn Scorer>>,
    /// For each of them the groups that it knows.
    pub known: Vec<Vec<bool>>,
    /// How scores become decisions.
    pub rule: DecisionRule,
    /// Its scores of the rows.
    pub scores: ScoreReader,
}

/// What is repeated.
pub(crate) struct RepeatInputs<'a> {
    pub plan: &'a StagePlan<'a>,
    /// The set.
    pub applied: &'a AppliedSet<'a>,
    /// What the strategy learns from, and the audited rows.
    pub reference: &'a LearningReference<'a>,
    /// The strategy.
    pub knobs: StrategyPlan<'a>,
    /// The test of the counterfactuals; none where all people count.
    pub support: Option<SupportTests>,
    /// The models.
    pub models: Vec<RepeatModel>,
    /// What a repeat changes.
    pub part: RepeatedPart,
    /// How often.
    pub repeats: Count,
}

/// File of the evidence about a model.
pub(crate) fn evidence_file(model: &str) -> String {
    format!("repeats-{model}.json")
}

/// The stratum within which people swap groups: training or audited, and the label.
type PermutationStratum = (bool, Option<bool>);

/// A row with a declared group.
struct PermutedRow {
    stratum: PermutationStratum,
    /// The key of the person, where one may have several rows.
    key: u64,
    at: (u32, u32),
    group: u16,
}

/// The rows of a person, who swap groups together.
struct PermutedPerson {
    /// That of the first row.
    stratum: PermutationStratum,
    key: u64,
    /// Positions of the rows.
    rows: std::ops::Range<usize>,
}

/// The rows of a reference or of the samples whose groups are permuted.
struct GroupPermutation {
    /// By person, and then in the order of the source.
    entries: Vec<PermutedRow>,
    /// Ascending by stratum and key.
    persons: Vec<PermutedPerson>,
    /// Number of rows of each row group.
    sizes: Vec<usize>,
}

impl GroupPermutation {
    /// The permutation of the rows, given the number of rows of each row group.
    fn new(mut entries: Vec<PermutedRow>, sizes: Vec<usize>) -> Self {
        entries.sort_unstable_by_key(|entry| (entry.key, entry.at));
        let (mut persons, mut from) = (Vec::new(), 0);
        for own in entries.chunk_by(|a, b| a.key == b.key) {
            let rows = from..from + own.len();
            from = rows.end;
            let PermutedRow { stratum, key, .. } = own[0];
            persons.push(PermutedPerson { stratum, key, rows });
        }
        persons.sort_unstable_by_key(|person| (person.stratum, person.key));
        GroupPermutation { entries, persons, sizes }
    }

    fn read(
        row_context: RowContext<'_>,
        n_groups: usize,
        position: usize,
        batch: impl Fn(usize) -> Result<(PreparedBatch, Option<RowRoles>)> + Sync,
    ) -> Result<Self> {
        let (mut all, mut sizes) = (Vec::new(), Vec::new());
        let look = |g: usize| {
            let (batch, roles) = batch(g)?;
            let entry = |i: usize| {
                let audited = roles.as_ref().is_none_or(|roles| roles.audited(i).is_some());
                let label = batch.label.get(i).copied().flatten();
                let at =
                    (u32::try_from(g).unwrap_or(u32::MAX), u32::try_from(i).unwrap_or(u32::MAX));
                let takes_part = audited || roles.as_ref().is_some_and(|roles| roles.trains(i, 0));
                let group = batch.groups[position][i];
                (takes_part && group != MISSING_GROUP).then_some(PermutedRow {
                    stratum: (audited, label),
                    key: batch.person_keys()[i],
                    at,
                    group,
                })
            };
            let entries: Vec<_> = (0..batch.row.len()).filter_map(entry).collect();
            Ok((0, (entries, batch.row.len())))
        };
        row_context.pieces(n_groups).in_turn(look, |(entries, size)| {
            all.extend(entries);
            sizes.push(size);
        })?;
        Ok(GroupPermutation::new(all, sizes))
    }

    /// The groups with names permuted.
    fn permuted(&self, seed: u64) -> RowGroupLabels {
        let mut order: Vec<usize> = (0..self.persons.len()).collect();
        order.sort_unstable_by_key(|&k| {
            let person = &self.persons[k];
            (person.stratum, h(seed, person.key, 0), person.key)
        });
        let mut groups: RowGroupLabels =
            self.sizes.iter().map(|&n| vec![MISSING_GROUP; n]).collect();
        for (person, &giver) in self.persons.iter().zip(&order) {
            // A person with more rows than the other takes its groups again from the first.
            let given = self.entries[self.persons[giver].rows.clone()].iter().cycle();
            for (entry, given) in self.entries[person.rows.clone()].iter().zip(given) {
                groups[entry.at.0 as usize][entry.at.1 as usize] = given.group;
            }
        }
        groups
    }
}

/// The valid counterfactuals of one row group, with their scores by each model.
struct RepeatScores {
    keys: CounterfactualKeys,
    /// The unsupported values of each; empty where they are not tested.
    unsupported: Vec<u64>,
    scores: Vec<Vec<f64>>,
}

impl RepeatInputs<'_> {
    /// Writes the evidence of all repeats, one file per model.
    ///
    /// # Errors
    /// The rows cannot be read, a repeat has nothing to learn from, the disk refuses, or the run is
    /// to stop.
    pub(crate) fn write(&self, out: &Path) -> Result<()> {
        let mut repeats: Vec<Vec<SetRepeat>> = self.models.iter().map(|_| Vec::new()).collect();
        let names = self.keeps_attribute().then(|| self.permutations()).transpose()?;
        for r in 0..self.repeats.get() {
            let one = match &names {
                Some(names) => self.shuffled(r, names)?,
                None => {
                    let draw = RowDraw::new(self.seed(), "doubt/fit", r);
                    self.repeat(&self.reference.drawn(draw))?
                }
            };
            repeats.iter_mut().zip(one).for_each(|(all, one)| all.push(one));
        }
        for (model, repeats) in self.models.iter().zip(&repeats) {
            files::write_json(&out.join(evidence_file(&model.name)), repeats)?;
        }
        Ok(())
    }

    fn position(&self) -> usize {
        self.applied.position
    }

    fn seed(&self) -> Seed {
        self.plan.job.run.seed
    }

    /// Whether rows keep what they say about the attribute, because only the names of groups
    /// differ.
    fn keeps_attribute(&self) -> bool {
        self.part == RepeatedPart::GroupNames
    }

    /// The rows whose groups are permuted, and those of a separate reference.
    fn permutations(&self) -> Result<(GroupPermutation, Option<GroupPermutation>)> {
        let row_context = self.reference.context;
        let own = |g: usize| {
            let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
            Ok((batch, Some(roles)))
        };
        let samples =
            GroupPermutation::read(row_context, row_context.rows.n_groups(), self.position(), own)?;
        if self.reference.is_own_rows() {
            return Ok((samples, None));
        }
        let read = |g: usize| self.reference.read(g);
        let n_groups = self.reference.n_groups();
        let reference = GroupPermutation::read(row_context, n_groups, self.position(), read)?;
        Ok((samples, Some(reference)))
    }

    /// A repeat of the placebo.
    fn shuffled(
        &self,
        r: u64,
        (samples, reference): &(GroupPermutation, Option<GroupPermutation>),
    ) -> Result<Vec<SetRepeat>> {
        let seed = RandomStream::new(self.seed().0, &format!("placebo/{r}")).u64();
        let rows = self.reference.context.rows.renamed(self.position(), samples.permuted(seed));
        let of_file = reference.as_ref().map(|names| names.permuted(seed));
        self.repeat(&self.reference.renamed(&rows, self.position(), of_file))
    }

    /// One repeat: learns from a reference, generates, scores and counts.
    fn repeat(&self, reference: &LearningReference<'_>) -> Result<Vec<SetRepeat>> {
        let (row_context, layout) = (reference.context, reference.context.rows.layout());
        let (extras, position) = (&self.plan.extras(layout), self.position());
        let moved = MovedRows { layout, extras, position };
        let learn = |fold: usize| self.knobs.learn(moved, &reference.rows(fold));
        let learnt = (0..reference.n_folds()).map(learn).collect::<Result<Vec<_>>>()?;
        let ranks = ranks(&layout.attributes[position]);
        let without_rows = self.knobs.groups_without_rows(&learnt).into_iter();
        let mut without_rows: Vec<usize> = without_rows.map(|group| ranks[group]).collect();
        without_rows.sort_unstable();
        // An external set is not repeated.
        let of = (position, self.seed());
        let generators = reference.generators(&self.knobs, learnt, of, None)?;
        let write_backs = if self.keeps_attribute() {
            vec![WriteBack::derived_only(layout)]
        } else {
            write_backs(row_context, reference, position)?
        };
        let making = GenerateInputs {
            generators: &generators,
            attribute: position,
            classes: &reference.classes,
            write_backs: &write_backs,
            with_features: true,
            is_view: false,
            judged: true,
            support: self.support.as_ref(),
            keeps_attribute: self.keeps_attribute(),
        };
        let mut made = Vec::new();
        let work = |g: usize| Ok((0, self.score_group(row_context, g, &making)?));
        row_context.row_groups().in_turn(work, |scored| made.push(scored))?;
        let count = |of| self.count(row_context, of, &made, &without_rows);
        self.models.iter().enumerate().map(count).collect()
    }

    fn score_group(
        &self,
        row_context: RowContext<'_>,
        g: usize,
        making: &GenerateInputs<'_>,
    ) -> Result<RepeatScores> {
        let attribute = &row_context.rows.layout().attributes[self.position()];
        let (batch, roles) = row_context.read(g, Projection::ALL)?;
        let classes = making.classes.of_group(g, &batch)?;
        let made = making.made_group(attribute, (&batch, &roles), &classes);
        let MadeGroup { keys, judged, rows, unsupported, .. } = made;
        let unsupported = unsupported.unwrap_or_default();
        let valid: Vec<usize> = (0..keys.parent.len()).filter(|&k| judged.valid[k]).collect();
        let keys = CounterfactualKeys {
            parent: valid.iter().map(|&k| keys.parent[k]).collect(),
            to_group: valid.iter().map(|&k| keys.to_group[k]).collect(),
            cf_index: valid.iter().map(|&k| keys.cf_index[k]).collect(),
        };
        let rows = rows.take(&valid);
        let score = |model: &RepeatModel| {
            let known = if making.keeps_attribute { &[][..] } else { &model.known };
            score_by_fold(&model.scorers, &rows, |k| {
                knowing_fold(known, roles.audited(keys.parent[k] as usize)?, keys.to_group[k])
            })
        };
        let scores = self.models.iter().map(score).collect::<Result<_>>()?;
        Ok(RepeatScores { keys, unsupported, scores })
    }

    /// The evidence about a model: one pass, and a second one where score metrics are asked for.
    fn count(
        &self,
        row_context: RowContext<'_>,
        (k, model): (usize, &RepeatModel),
        made: &[RepeatScores],
        without_rows: &[usize],
    ) -> Result<SetRepeat> {
        let layout = row_context.rows.layout();
        let people = |g: usize,
                      each: &mut dyn FnMut(u64, &ScoredPerson, &[ScoredCounterfactual])|
         -> Result<u64> {
            let (batch, roles) = row_context.read(g, model.rule.reads())?;
            let rows = ScoredGroup {
                batch,
                roles,
                keys: made[g].keys.clone(),
                unsupported: made[g].unsupported.clone(),
                scores: model.scores.read(g)?,
                scores_cf: made[g].scores[k].clone(),
                // The same model scores both.
                rules: [model.rule.clone(), model.rule.clone()],
            };
            rows.people(layout, self.position(), |i, person, cfs| {
                each(rows.batch.person_keys()[i], person, cfs)
            });
            Ok(0)
        };
        let counts = row_context.row_groups().gather(
            || no_switches(layout, self.position(), None),
            |part, g| people(g, &mut |key, person, cfs| part.add_person(key, person, cfs)),
        )?;
        let again = |start: ShiftPass| {
            row_context.row_groups().gather(
                || start.clone(),
                |part, g| people(g, &mut |key, person, cfs| part.add(key, person, cfs)),
            )
        };
        let second = self.plan.wants_shift().then(|| again(counts.second_pass())).transpose()?;
        Ok(SetRepeat { counts, second, without_rows: without_rows.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupPermutation, PermutedRow};
    use crate::data::MISSING_GROUP;
    use std::collections::BTreeMap;

    /// 200 rows in two row groups; every seventh has no group, labels and parts alternate.
    fn names(order: &[u32]) -> GroupPermutation {
        let entry = |(at, &key): (usize, &u32)| PermutedRow {
            stratum: (key.is_multiple_of(2), Some(key.is_multiple_of(3))),
            key: u64::from(key),
            at: (u32::from(at >= 100), u32::try_from(at % 100).unwrap()),
            group: (key % 5 / 2) as u16,
        };
        let entries =
            order.iter().enumerate().filter(|(_, key)| **key % 7 > 0).map(entry).collect();
        GroupPermutation::new(entries, vec![100, 100])
    }

    /// Persons of one to three rows keep together, whatever the order of the rows.
    #[test]
    fn rows_of_a_person_get_the_groups_of_one_other_person() {
        let person = |row: u32| row * 7 % 30;
        let group = |person: u32| (person % 3) as u16;
        let entry = |row: u32| PermutedRow {
            stratum: (true, Some(person(row).is_multiple_of(2))),
            key: u64::from(person(row)),
            at: (0, row),
            group: group(person(row)),
        };
        let names = GroupPermutation::new((0..75).map(entry).collect(), vec![75]);
        let groups = names.permuted(4).remove(0);
        let given: BTreeMap<u32, u16> =
            (0..75).map(|row| (person(row), groups[row as usize])).collect();
        assert!((0..75).all(|row| groups[row as usize] == given[&person(row)]));
        let count = |of: &dyn Fn(u32) -> u16| {
            let mut counts: BTreeMap<(bool, u16), u32> = BTreeMap::new();
            (0..30)
                .for_each(|person| *counts.entry((person % 2 == 0, of(person))).or_default() += 1);
            counts
        };
        assert_eq!(count(&|person| given[&person]), count(&group));
        assert!((0..30).any(|person| given[&person] != group(person)));
    }

    #[test]
    fn names_are_swapped_inside_strata_by_key_alone() {
        let straight: Vec<u32> = (0..200).collect();
        let turned: Vec<u32> = straight.iter().rev().copied().collect();
        let of = |order: &[u32], seed: u64| -> BTreeMap<u32, u16> {
            let groups = names(order).permuted(seed);
            order.iter().enumerate().map(|(at, &key)| (key, groups[at / 100][at % 100])).collect()
        };
        let (a, b) = (of(&straight, 9), of(&turned, 9));
        assert_eq!(a, b);
        assert_ne!(a, of(&straight, 10));
        let count = |groups: &dyn Fn(u32) -> u16| {
            let mut counts: BTreeMap<(bool, bool, u16), u32> = BTreeMap::new();
            for key in (0..200).filter(|key| key % 7 > 0) {
                *counts.entry((key % 2 == 0, key % 3 == 0, groups(key))).or_default() += 1;
            }
            counts
        };
        assert_eq!(count(&|key| a[&key]), count(&|key| (key % 5 / 2) as u16));
        assert!((0..200).filter(|key| key % 7 == 0).all(|key| a[&key] == MISSING_GROUP));
        assert!((0..200).filter(|&key| a[&key] != (key % 5 / 2) as u16).count() > 50);
    }
}
