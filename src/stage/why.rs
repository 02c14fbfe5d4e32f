//! The stage `why`: for each block of the job the people who count, whether they switch, their
//! traits, and the patterns that are found in them.
//!
//! Memory: the features of the people who count, once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::data::prepare::derive::DerivationRule;
use crate::data::rows::aligned::ScoreReader;
use crate::data::values::float_text;
use crate::data::{FeatureColumn, FeatureKind, FeatureRows, Layout, MISSING_GROUP};
use crate::error::Result;
use crate::exec::{StageContext, misfit};
use crate::job::Job;
use crate::num::seed::{h, named_seed};
use crate::num::short_number::short_text;
use crate::param::{ColumnName, Name};
use crate::stage::count::evidence::{CountInputs, ScoredGroup, label, ranks};
use crate::stage::count::{RowScoreInputs, SetScoreInputs};
use crate::stage::kinds::WhyStage;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::{DecisionRule, RowContext};
use crate::stage::row_features::{append_rows, empty_column};
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::table::file::write_rows;
use crate::table::why::SwitchPatternRow;
use crate::table::{finite, whole};
use crate::unit::{AuditUnit, UnitField, UnitKind};
use crate::why::is_second_half;
use crate::why::knobs::WhyBlock;
use crate::why::levels::PatternColumn;
use crate::why::patterns::{PatternFindings, PatternPeople, PatternSettings, find_patterns};

/// The stages of all blocks, to be opened.
pub(crate) struct WhyFolders(Vec<(String, StageInput<WhyStage>)>);

impl WhyFolders {
    /// Those of the job, by name.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let names: Vec<&Name> = b.plan.job.why.keys().collect();
        let block = |name: &Name| {
            let unit = AuditUnit { block: name.to_string(), ..AuditUnit::default() };
            Ok((name.to_string(), b.need::<WhyStage>(&unit)?))
        };
        Ok(WhyFolders(names.into_iter().map(block).collect::<Result<_>>()?))
    }

    /// The name and folder of each block.
    pub(crate) fn open<'c>(&self, ctx: &'c StageContext<'_>) -> Vec<(&str, &'c Path)> {
        self.0.iter().map(|(name, of)| (name.as_str(), of.folder(ctx))).collect()
    }
}

/// The scores that a block looks at.
enum WhyScores<'a> {
    /// Of the rows as they are.
    Rows(RowScoreInputs<'a>),
    /// Of these and of the counterfactuals of a set.
    Set(SetScoreInputs<'a>),
}

impl Stage for WhyStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Why;
    const FIELDS: &'static [UnitField] = &[UnitField::Block];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan: &'a StagePlan<'a> = b.plan;
        let path = format!("why.{}", unit.block);
        let found = plan.job.why.iter().find(|(name, _)| name.as_str() == unit.block);
        let Some(((name, block), subject)) =
            found.and_then(|found| Some((found, found.1.subject()?)))
        else {
            return Err(misfit(format!("the job has no block `{path}`")));
        };
        let (attribute, groups) = subject;
        let of = AuditUnit {
            attribute: attribute.to_string(),
            set: block.counterfactual.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..AuditUnit::of_model(block.model.as_str())
        };
        let scores = match block.metric.is_of_errors() {
            true => WhyScores::Rows(RowScoreInputs::need(&of, b)?),
            false => WhyScores::Set(SetScoreInputs::need(&of, false, b)?),
        };
        b.value(&path, block);
        b.input("data.bins", |job| &job.data.bins);
        b.input("data.features", |job| &job.data.features);
        b.input("favourable", |job| job.data.favourable_side());
        b.input("metrics.min_denominator", |job| job.metrics.min_denominator);
        b.input("metrics.interval.level", |job| job.metrics.interval.level);
        b.seed();
        work(move |ctx| {
            let rows = match &scores {
                WhyScores::Rows(of) => &of.rows,
                WhyScores::Set(of) => &of.rows,
            };
            rows.with(ctx, 1, |row_context| {
                let gathering = WhyGathering { row_context, job: plan.job, block, groups };
                let people = match &scores {
                    WhyScores::Rows(of) => {
                        let (rule, scores) =
                            (of.rule.open(ctx, row_context)?, of.scores.open(ctx, row_context)?);
                        gathering.of_rows(&rule, &scores, of.position)?
                    }
                    WhyScores::Set(of) => {
                        of.with_scores(ctx, row_context, |scored| gathering.of_set(scored))?
                    }
                };
                ctx.check()?;
                let settings = PatternSettings {
                    support: block.share().ok_or_else(|| misfit(format!("{path}.support")))?,
                    longest: usize::try_from(block.longest.get()).unwrap_or(usize::MAX),
                    min_denominator: plan.job.metrics.min_denominator.get(),
                    level: plan.job.metrics.interval.level.get(),
                };
                let found = row_context.workers.within(|| find_patterns(&people, &settings))?;
                let weighed = row_context.rows.layout().weight.is_some();
                let rows = rows_of(name, block, &found, settings.min_denominator, weighed);
                write_rows(ctx.out(), &rows)
            })
        })
    }
}

/// What the gathering of people works with.
struct WhyGathering<'a> {
    row_context: RowContext<'a>,
    job: &'a Job,
    block: &'a WhyBlock,
    /// The groups of a direction.
    groups: Option<&'a [crate::param::Word; 2]>,
}

/// The people of a row group who count: place in the group, key, whether they switch.
type CountedPeople = Vec<(usize, u64, bool)>;

impl WhyGathering<'_> {
    /// The place of a declared group in the order in which metrics count.
    fn rank(&self, attribute: usize, group: &str) -> Option<usize> {
        let of = &self.row_context.rows.layout().attributes[attribute];
        let place = of.groups.iter().position(|name| name == group)?;
        Some(ranks(of)[place])
    }

    fn of_set(&self, scored: CountInputs<'_>) -> Result<PatternPeople> {
        let layout = self.row_context.rows.layout();
        let attribute = &layout.attributes[scored.attribute];
        let pair = self
            .groups
            .map(|[from, to]| [from, to].map(|group| self.rank(scored.attribute, group.as_str())));
        let favours_positive = self.job.data.favours_positive();
        self.gather(|g| {
            let group = ScoredGroup::read(self.row_context, scored, g)?;
            let own = &group.batch.groups[scored.attribute];
            let mut counted = CountedPeople::new();
            group.people(layout, attribute, own, scored.rule, |i, person, cfs| {
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
            Ok(counted)
        })
    }

    fn of_rows(
        &self,
        rule: &DecisionRule,
        scores: &ScoreReader,
        attribute: usize,
    ) -> Result<PatternPeople> {
        let layout = self.row_context.rows.layout();
        let from = self.groups.map(|[from, _]| {
            layout.attributes[attribute].groups.iter().position(|name| name == from.as_str())
        });
        self.gather(|g| {
            let batch = self.row_context.rows.read_keys(g)?;
            let (roles, scores) = (self.row_context.roles.read(g)?, scores.read(g)?);
            let mut counted = CountedPeople::new();
            for (i, &group) in batch.groups[attribute].iter().enumerate() {
                let Some(fold) = roles.audited(i).filter(|_| group != MISSING_GROUP) else {
                    continue;
                };
                if from.is_some_and(|from| from != Some(usize::from(group))) {
                    continue;
                }
                let predicted = rule.decide(&batch, Some(fold), i, scores[i]);
                let of = (label(layout, &batch, i), predicted);
                let outcome = self.block.metric.outcome(of, true, None);
                counted.extend(outcome.map(|is| (i, batch.row_key[i], is)));
            }
            Ok(counted)
        })
    }

    /// Gathers the people of all row groups, with their columns.
    fn gather(
        &self,
        count: impl Fn(usize) -> Result<CountedPeople> + Sync,
    ) -> Result<PatternPeople> {
        let layout = self.row_context.rows.layout();
        let columns = layout.features.iter().map(|f| empty_column(&f.kind)).collect();
        let mut rows = FeatureRows { n: 0, columns };
        let mut groups: Vec<Vec<u16>> = vec![Vec::new(); layout.attributes.len()];
        let (mut keys, mut persons, mut switched) = (Vec::new(), Vec::new(), Vec::new());
        let read = |g: usize| {
            let counted = count(g)?;
            let batch = self.row_context.rows.read(g)?;
            let places: Vec<usize> = counted.iter().map(|person| person.0).collect();
            let of = |of: &Vec<u16>| places.iter().map(|&i| of[i]).collect::<Vec<u16>>();
            let own: Vec<Vec<u16>> = batch.groups.iter().map(of).collect();
            let persons: Vec<u64> = places.iter().map(|&i| batch.person_keys()[i]).collect();
            Ok((batch.row.len() as u64, (counted, persons, own, batch.rows.take(&places))))
        };
        self.row_context.row_groups().in_order(read, |_, (counted, own_persons, own, part)| {
            for (_, key, switches) in counted {
                keys.push(key);
                switched.push(switches);
            }
            persons.extend(own_persons);
            groups.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
            append_rows(&mut rows, part);
            Ok(())
        })?;
        if layout.person.is_some() {
            let seed = named_seed(self.job.run.seed.0, "why/row");
            let kept = one_row_each(seed, &keys, &persons);
            rows = rows.take(&kept);
            groups.iter_mut().for_each(|of| *of = kept.iter().map(|&i| of[i]).collect());
            switched = kept.iter().map(|&i| switched[i]).collect();
            persons = kept.iter().map(|&i| persons[i]).collect();
        }
        let seed = named_seed(self.job.run.seed.0, "why/half");
        let second = persons.iter().map(|&key| is_second_half(seed, key)).collect();
        let mut people = PatternPeople { columns: Vec::new(), switched, second };
        people.columns = pattern_columns(layout, self.job, self.block, &rows, &groups);
        Ok(people)
    }
}

/// Of several rows of a person the one whose hash is the smallest; places in ascending order.
fn one_row_each(seed: u64, keys: &[u64], persons: &[u64]) -> Vec<usize> {
    let mut least: BTreeMap<u64, (u64, u64, usize)> = BTreeMap::new();
    for (i, (&key, &person)) in keys.iter().zip(persons).enumerate() {
        let row = (h(seed, key, 0), key, i);
        let of_person = least.entry(person).or_insert(row);
        *of_person = row.min(*of_person);
    }
    let mut kept: Vec<usize> = least.into_values().map(|(.., i)| i).collect();
    kept.sort_unstable();
    kept
}

/// The columns that traits are taken from: features, then attributes that are not feature and no
/// cross.
fn pattern_columns(
    layout: &Layout,
    job: &Job,
    block: &WhyBlock,
    rows: &FeatureRows,
    groups: &[Vec<u16>],
) -> Vec<PatternColumn> {
    let takes = |name: &str| block.columns.takes(name);
    let listed: BTreeSet<&str> = job.data.listed_features().map(ColumnName::as_str).collect();
    let onehot: BTreeSet<&str> =
        job.data.features.onehot.values().flatten().map(ColumnName::as_str).collect();
    let mut columns = Vec::new();
    for (f, feature) in layout.features.iter().enumerate() {
        let name = feature.name.as_str();
        if !listed.contains(name) || onehot.contains(name) || !takes(name) {
            continue;
        }
        columns.push(match &rows.columns[f] {
            FeatureColumn::Code(codes) => PatternColumn::of_words(name, &feature.levels, codes),
            FeatureColumn::Number(numbers) => {
                let name_of = ColumnName::new(name);
                let bins = name_of
                    .as_ref()
                    .and_then(|of| Some(job.data.bins.get(of)?.of(of)))
                    .unwrap_or_default();
                if !bins.is_empty() {
                    PatternColumn::of_bins(name, numbers, &bins)
                } else if feature.kind == FeatureKind::OrdinalNumber {
                    of_distinct_numbers(name, numbers)
                } else {
                    PatternColumn::of_quartiles(name, numbers)
                }
            }
        });
    }
    for (name, members) in &job.data.features.onehot {
        let at: Option<Vec<usize>> =
            members.iter().map(|member| layout.feature(member.as_str())).collect();
        if let Some(at) = at.filter(|_| takes(name.as_str())) {
            let levels: Vec<String> = members.iter().map(ToString::to_string).collect();
            let code = |i: usize| {
                let mut ones = (0_u32..)
                    .zip(&at)
                    .filter(|(_, column)| rows.numbers(**column).get(i) == Some(&1.0));
                match (ones.next(), ones.next()) {
                    (Some((only, _)), None) => only,
                    _ => u32::MAX,
                }
            };
            let codes: Vec<u32> = (0..rows.n).map(code).collect();
            columns.push(PatternColumn::of_words(name.as_str(), &levels, &codes));
        }
    }
    for (attribute, groups) in layout.attributes.iter().zip(groups) {
        let derived = layout.derivation(attribute.feature).map(|derived| &derived.rule);
        let name = attribute.name.as_str();
        let is_feature = columns.iter().any(|column: &PatternColumn| column.name == name);
        if matches!(derived, Some(DerivationRule::Cross(_))) || is_feature || !takes(name) {
            continue;
        }
        let code = |&group: &u16| if group == MISSING_GROUP { u32::MAX } else { u32::from(group) };
        let codes: Vec<u32> = groups.iter().map(code).collect();
        columns.push(PatternColumn::of_words(name, &attribute.groups, &codes));
    }
    columns
}

/// Numbers in an order without distances: each is a level.
fn of_distinct_numbers(name: &str, numbers: &[f64]) -> PatternColumn {
    let mut values: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    // 0 and -0 are one number.
    values.dedup_by(|a, b| *a == *b);
    let text = |(i, &x): (usize, &f64)| {
        short_text(x, values.get(i + 1).copied()).unwrap_or_else(|| float_text(x))
    };
    let levels: Vec<String> = values.iter().enumerate().map(text).collect();
    let code = |&x: &f64| {
        if x.is_nan() { u32::MAX } else { values.partition_point(|y| *y < x) as u32 }
    };
    let codes: Vec<u32> = numbers.iter().map(code).collect();
    PatternColumn::of_words(name, &levels, &codes)
}

/// The rows of the table.
fn rows_of(
    name: &Name,
    block: &WhyBlock,
    found: &PatternFindings,
    min_denominator: u64,
    weighed: bool,
) -> Vec<SwitchPatternRow> {
    const HALVES: [&str; 2] = ["first", "second"];
    if found.everybody.iter().all(|(counts, _)| counts.n == 0) {
        return Vec::new();
    }
    let (attribute, groups) = match block.subject() {
        Some((attribute, groups)) => (attribute.to_string(), groups),
        None => (String::new(), None),
    };
    let flags = |n: u64, of_pattern: bool| {
        let mut flags = Vec::new();
        if of_pattern && n < min_denominator {
            flags.push("small_denominator");
        }
        if weighed {
            flags.push("unweighted");
        }
        flags.join(",")
    };
    let row = |half: usize| SwitchPatternRow {
        why: name.as_str().into(),
        half: HALVES[half].into(),
        model: block.model.as_str().into(),
        counterfactual: block
            .counterfactual
            .as_ref()
            .map(|s| s.as_str())
            .unwrap_or_default()
            .into(),
        sensitive: attribute.as_str().into(),
        from_group: groups.map_or("", |[from, _]| from.as_str()).into(),
        to_group: groups.map_or("", |[_, to]| to.as_str()).into(),
        metric: block.metric.id().into(),
        ..SwitchPatternRow::default()
    };
    let share = |k: u64, n: u64| (n > 0).then(|| k as f64 / n as f64);
    let mut rows = Vec::new();
    for (half, (counts, interval)) in found.everybody.iter().enumerate() {
        rows.push(SwitchPatternRow {
            n: whole(counts.n),
            k: whole(counts.k),
            rate: share(counts.k, counts.n),
            lo: interval.map(|i| i.lo),
            hi: interval.map(|i| i.hi),
            least: (half == 0).then_some(whole(found.least)),
            searched: (half == 0).then_some(whole(found.frequent as u64)),
            candidates: (half == 0).then_some(whole(found.candidates as u64)),
            flags: flags(counts.n, false).into(),
            ..row(half)
        });
    }
    for (rank, pattern) in (1..).zip(&found.carried) {
        for (half, of) in pattern.halves.iter().enumerate() {
            let second = half == 1;
            let rates = share(of.own.k, of.own.n).zip(share(of.others.k, of.others.n));
            rows.push(SwitchPatternRow {
                pattern: pattern.text.as_str().into(),
                rank,
                items: whole(pattern.items.len() as u64),
                n: whole(of.own.n),
                k: whole(of.own.k),
                rate: share(of.own.k, of.own.n),
                lo: of.rate.map(|i| i.lo),
                hi: of.rate.map(|i| i.hi),
                n_others: Some(whole(of.others.n)),
                k_others: Some(whole(of.others.k)),
                difference: rates.map(|(own, others)| own - others),
                difference_lo: of.excess.map(|i| i.lo),
                difference_hi: of.excess.map(|i| i.hi),
                p: finite(of.p),
                p_holm: finite(pattern.p_holm).filter(|_| second),
                confirmed: second.then_some(i64::from(pattern.confirmed)),
                adds: second.then_some(i64::from(pattern.adds)),
                told: pattern.told.filter(|_| second).map(|place| whole(place as u64)),
                flags: flags(of.own.n, true).into(),
                ..row(half)
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::one_row_each;
    use crate::num::seed::{h, named_seed};

    #[test]
    fn a_person_has_one_row() {
        let seed = named_seed(5, "why/row");
        let (keys, persons) = ([10, 11, 12, 13], [7, 8, 7, 7]);
        let first = [0, 2, 3].into_iter().min_by_key(|&i: &usize| h(seed, keys[i], 0)).unwrap();
        let mut wanted = vec![first, 1];
        wanted.sort_unstable();
        assert_eq!(one_row_each(seed, &keys, &persons), wanted);
        assert_eq!(one_row_each(seed, &keys, &keys), [0, 1, 2, 3]);
    }
}
