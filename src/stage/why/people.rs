//! The people of a block of `why`: who counts, whether they switch, and their columns.
//!
//! Memory: the features of the people who count, once.

use crate::data::rows::Projection;
use crate::data::rows::aligned::{CounterfactualKeys, ScoreReader};
use crate::error::Result;
use crate::job::Job;
use crate::num::one_row_each::{DrawablePersonRow, one_row_each};
use crate::num::seed::named_seed;
use crate::param::Word;
use crate::stage::count::evidence::{CountInputs, ScoredGroup, ranks};
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_features::empty_rows;
use crate::why::is_second_half;
use crate::why::knobs::WhyBlock;
use crate::why::patterns::PatternPeople;

/// Somebody who counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedPlace {
    /// The row group.
    pub(crate) group: usize,
    /// The place in it.
    pub(crate) row: usize,
    /// The key of the row.
    pub(crate) row_key: u64,
    /// The key of the person: that of the row where each row is a person.
    pub(crate) person: u64,
}

/// The people of a block.
pub(crate) struct WhyPeople {
    /// As patterns see them.
    pub(crate) patterns: PatternPeople,
    /// Where they are, ascending.
    pub(crate) places: Vec<CountedPlace>,
}

/// What the gathering of people works with.
pub(crate) struct WhyGathering<'a> {
    pub(crate) row_context: RowContext<'a>,
    pub(crate) job: &'a Job,
    pub(crate) block: &'a WhyBlock,
    /// The groups of a direction.
    pub(crate) groups: Option<&'a [Word; 2]>,
}

/// The people of a row group who count: place in the group, key, whether they switch.
type CountedPeople = Vec<(usize, u64, bool)>;

impl WhyGathering<'_> {
    /// The place of a declared group in the order in which metrics count.
    fn rank(&self, attribute: usize, group: &Word) -> Option<usize> {
        let of = &self.row_context.rows.layout().attributes[attribute];
        let place = of.groups.iter().position(|name| name == group.as_str())?;
        Some(ranks(of)[place])
    }

    /// The people of a switch rate.
    pub(crate) fn of_set(&self, scored: &CountInputs) -> Result<WhyPeople> {
        self.gather(scored.attribute, |g| ScoredGroup::read(self.row_context, scored, g, true))
    }

    /// The people of a rate of wrong predictions.
    pub(crate) fn of_rows(
        &self,
        rule: &DecisionRule,
        scores: &ScoreReader,
        attribute: usize,
    ) -> Result<WhyPeople> {
        self.gather(attribute, |g| {
            let (batch, roles) = self.row_context.read(g, Projection::NO_FEATURES)?;
            Ok(ScoredGroup {
                batch,
                roles,
                keys: CounterfactualKeys::default(),
                unsupported: Vec::new(),
                scores: scores.read(g)?,
                scores_cf: Vec::new(),
                rules: [rule.clone(), rule.clone()],
            })
        })
    }

    /// Gathers the people of all row groups, with their columns.
    fn gather(
        &self,
        attribute: usize,
        read: impl Fn(usize) -> Result<ScoredGroup> + Sync,
    ) -> Result<WhyPeople> {
        let layout = self.row_context.rows.layout();
        let mut rows = empty_rows(layout);
        let mut groups: Vec<Vec<u16>> = vec![Vec::new(); layout.attributes.len()];
        let (mut places, mut switched) = (Vec::<CountedPlace>::new(), Vec::new());
        let pair = self.groups.map(|pair| pair.each_ref().map(|group| self.rank(attribute, group)));
        let favours_positive = self.job.data.favours_positive();
        let find = |g: usize| {
            let group = read(g)?;
            let mut counted = CountedPeople::new();
            group.people(layout, attribute, |i, person, cfs| {
                if pair.is_some_and(|[from, _]| from != Some(person.group)) {
                    return;
                }
                let decisions = cfs
                    .iter()
                    .filter(|cf| pair.is_none_or(|[_, to]| to == Some(cf.to)))
                    .filter_map(|cf| cf.predicted);
                let switches = decisions.fold(None, |any: Option<bool>, cf| {
                    Some(any.unwrap_or(false) || Some(cf) != person.predicted)
                });
                let of = (person.label, person.predicted);
                let outcome = self.block.metric.outcome(of, favours_positive, switches);
                counted.extend(outcome.map(|is| (i, group.batch.row_key[i], is)));
            });
            let batch = self.row_context.rows.read(g, Projection::ALL)?;
            let places: Vec<usize> = counted.iter().map(|person| person.0).collect();
            let of = |of: &Vec<u16>| places.iter().map(|&i| of[i]).collect::<Vec<u16>>();
            let own: Vec<Vec<u16>> = batch.groups.iter().map(of).collect();
            let persons: Vec<u64> = places.iter().map(|&i| batch.person_keys()[i]).collect();
            Ok((batch.row.len() as u64, (counted, persons, own, batch.rows.take(&places))))
        };
        self.row_context.row_groups().in_order(find, |group, (counted, persons, own, part)| {
            for ((row, row_key, switches), person) in counted.into_iter().zip(persons) {
                places.push(CountedPlace { group, row, row_key, person });
                switched.push(switches);
            }
            groups.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            rows.append(part);
            Ok(())
        })?;
        if layout.person.is_some() {
            let seed = named_seed(self.job.run.seed.0, "why/row");
            let row = |place: &CountedPlace| DrawablePersonRow {
                person: place.person,
                row_key: place.row_key,
                spare: false,
            };
            let kept = one_row_each(seed, places.iter().map(row));
            rows = rows.take(&kept);
            groups.iter_mut().for_each(|of| *of = kept.iter().map(|&i| of[i]).collect());
            switched = kept.iter().map(|&i| switched[i]).collect();
            places = kept.iter().map(|&i| places[i]).collect();
        }
        let seed = named_seed(self.job.run.seed.0, "why/half");
        let second = places.iter().map(|place| is_second_half(seed, place.person)).collect();
        let columns = self.pattern_columns(&rows, &groups);
        Ok(WhyPeople { patterns: PatternPeople { columns, switched, second }, places })
    }
}
