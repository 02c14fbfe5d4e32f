//! Through what people switch: who is explained, by which counterfactual, and the table of what
//! each feature adds.

use crate::counterfactual::write_back::{WriteBack, binned_below, features_set_with};
use crate::data::rows::Projection;
use crate::data::rows::aligned::CounterfactualReader;
use crate::data::{FeatureRows, Layout};
use crate::error::Result;
use crate::exec::internal_error;
use crate::num::seed::named_seed;
use crate::param::{ColumnName, Name, Word};
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::evidence::{CountInputs, ScoredGroup};
use crate::stage::kinds::{DiscoverStage, GenerateStage, ScoreStage};
use crate::stage::models::{AskedModels, OpenModels};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_features::empty_rows;
use crate::stage::score::encoded_worlds::{EncodedModelRow, EncodedWorlds};
use crate::stage::score::rows::score_by_fold;
use crate::stage::score::worlds::WorldRows;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::stage::why::asking::ExplainedPeople;
use crate::stage::why::mixtures::{
    EncodedPerson, ExplainedSwitch, FeatureMixtures, FeaturePlayer, MixtureQuestion, MixtureValues,
};
use crate::stage::why::people::CountedPlace;
use crate::stage::why::sources::{ExpectedSwitches, KeyedSwitches, SwitchSource};
use crate::table::whole;
use crate::table::why::SwitchFeatureRow;
use crate::unit::AuditUnit;
use crate::why::draw::{DrawnPeople, one_counterfactual};
use crate::why::features::{
    MeanEffect, MeanSettings, NoPercentilesReason, PlayerMeans, player_means,
};
use crate::why::knobs::WhyBlock;
use crate::why::shapley::PlayerOrders;

/// What explaining a block reads in addition to its scores, not yet opened.
pub(crate) struct FeatureInputs<'a> {
    plan: &'a StagePlan<'a>,
    name: &'a Name,
    block: &'a WhyBlock,
    applied: AppliedSet<'a>,
    /// The audited models; of an arm those of each fold.
    asked: Vec<AskedModels<'a>>,
    /// The worlds of a graph-uncertain set.
    worlds: Option<WorldInputs>,
}

/// The worlds of a graph-uncertain set.
struct WorldInputs {
    found: StageInput<DiscoverStage>,
    /// Their rows, and the scores of these; none with expected levels.
    rows: Option<(StageInput<GenerateStage>, StageInput<ScoreStage>)>,
}

impl<'a> FeatureInputs<'a> {
    /// The inputs of a block, whose scores are those of the unit; none where the set or the model
    /// cannot be asked feature by feature.
    pub(crate) fn need(
        (name, block): (&'a Name, &'a WhyBlock),
        unit: &AuditUnit,
        b: &mut StageBuilder<'_, 'a>,
    ) -> Result<Option<Self>> {
        let plan = b.plan;
        if plan.job.lacks_features(block).is_some() {
            return Ok(None);
        }
        let applied = plan.set_of(unit)?;
        let worlds = match applied.graphs() {
            None => None,
            Some(graphs) => {
                let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
                b.texts([("scenario".to_owned(), applied.scenario().1.to_owned())]);
                let rows = if graphs.makes_rows() {
                    let made = b.need::<GenerateStage>(&applied.unit())?;
                    Some((made, b.need::<ScoreStage>(unit)?))
                } else {
                    b.value("clip", graphs.clip_rule());
                    None
                };
                Some(WorldInputs { found, rows })
            }
        };
        let units = plan.pooled_units(&unit.factual())?;
        let asked = units.iter().map(|unit| AskedModels::need(b, unit));
        let asked = asked.collect::<Result<_>>()?;
        b.input("metrics.bootstrap", |job| &job.metrics.bootstrap);
        Ok(Some(FeatureInputs { plan, name, block, applied, asked, worlds }))
    }

    /// The rows of the table; `places` are the people who count.
    pub(crate) fn explain(
        &self,
        row_context: RowContext<'_>,
        scored: &CountInputs,
        places: &[CountedPlace],
        groups: Option<&[Word; 2]>,
    ) -> Result<Vec<SwitchFeatureRow>> {
        let layout = row_context.rows.layout();
        let attribute = &layout.attributes[scored.attribute];
        let found = match &self.worlds {
            None => None,
            Some(of) => Some(of.found.open(row_context.ctx, self.applied.scenario().1)?.worlds),
        };
        let expected = self.worlds.as_ref().is_some_and(|of| of.rows.is_none());
        let mut trained = Vec::new();
        for asked in self.asked.iter().filter(|_| expected) {
            trained.extend(asked.trained_here(row_context.ctx)?);
        }
        let source = match (&self.worlds, &found) {
            (Some(WorldInputs { rows: Some((made, scores)), .. }), Some(found)) => {
                let rows = WorldRows::open((made, scores), row_context)?;
                SwitchSource::WorldRows(rows, found.worlds.len())
            }
            (Some(_), Some(found)) => {
                let (Some(model), Some(graphs)) = (trained.first(), self.applied.graphs()) else {
                    return Err(internal_error(
                        "expected levels need a model trained here".to_owned(),
                    ));
                };
                let of = (model.as_ref(), graphs.clip_rule());
                let saw = attribute
                    .level_of_group
                    .iter()
                    .map(|&code| found.saw(code).take(found.worlds.len()).collect());
                SwitchSource::Expected(ExpectedSwitches {
                    worlds: EncodedWorlds::new(found, attribute, of),
                    saw: saw.collect(),
                })
            }
            _ => SwitchSource::Rows,
        };
        let declared = &attribute.groups;
        let n = declared.len();
        let asked_for = |from: usize, to: usize| {
            let pair = [&declared[from], &declared[to]];
            groups.is_none_or(|of| of.each_ref().map(Word::as_str) == pair)
        };
        let directions: Vec<(usize, usize)> = (0..n)
            .flat_map(|from| (0..n).map(move |to| (from, to)))
            .filter(|&(from, to)| from != to && asked_for(from, to))
            .collect();
        let people = self.switches(row_context, (scored, &source), places, &directions)?;
        let players = self.players(layout, scored.attribute);
        let (mut scorers, mut calls) = (Vec::new(), Vec::new());
        for asked in self.asked.iter().filter(|_| !expected) {
            match asked.open(row_context)? {
                OpenModels::Here(of_fold) => scorers.extend(of_fold),
                OpenModels::Program(call, files) => calls.push((call, files)),
            }
        }
        let write_back = WriteBack::derived_only(layout);
        let mut rows = Vec::new();
        for (&(from, to), people) in directions.iter().zip(&people) {
            row_context.ctx.check()?;
            let drawn = self.drawn(people);
            let width = drawn.width(self.block.people.size());
            let chosen: Vec<ExplainedSwitch> =
                drawn.first(width).into_iter().map(|i| people[i]).collect();
            let both;
            let values = match &source {
                SwitchSource::Expected(of) => {
                    let people = (&*chosen, (from, to), &*players);
                    MixtureValues::Encoded(encoded(row_context, of, people)?)
                }
                SwitchSource::Rows | SwitchSource::WorldRows(..) => {
                    let made = match &source {
                        SwitchSource::WorldRows(worlds, _) => &worlds.made,
                        _ => &scored.counterfactuals,
                    };
                    both = read_rows(row_context, made, &chosen)?;
                    MixtureValues::Rows { own: &both[0], other: &both[1], write_back: &write_back }
                }
            };
            let mixtures = FeatureMixtures {
                people: &chosen,
                values,
                players: &players,
                orders: PlayerOrders {
                    seed: named_seed(self.plan.job.run.seed.0, "why/order"),
                    permutations: self.block.permutations.size(),
                },
                rule: &scored.rule,
            };
            let asked = drawn.chosen(width);
            let explained = match &source {
                SwitchSource::Expected(of) => {
                    let score = |part: &[MixtureQuestion<'_>]| {
                        let rows = mixtures.encoded(part).into_iter().flatten();
                        Ok(rows.map(|row| of.worlds.score(&row)).collect())
                    };
                    mixtures.ask_here(row_context, &asked.first(width), &score)?
                }
                _ if calls.is_empty() => {
                    // One scorer for each fold, or one for all.
                    let score = |part: &[MixtureQuestion<'_>]| {
                        let fold = |i: usize| Some(chosen[part[i].0].fold);
                        score_by_fold(&scorers, &mixtures.rows(part), fold)
                    };
                    mixtures.ask_here(row_context, &asked.first(width), &score)?
                }
                _ => {
                    let at_most = self.block.asks_at_most.size();
                    mixtures.ask_calls(row_context, &calls, (&asked, width), at_most)?
                }
            };
            let pair = [from, to].map(|group| declared[group].as_str());
            rows.extend(self.rows(row_context, pair, &mixtures, (drawn.of(), &explained)));
        }
        Ok(rows)
    }

    fn drawn(&self, people: &[ExplainedSwitch]) -> DrawnPeople {
        let seed = named_seed(self.plan.job.run.seed.0, "why/people");
        DrawnPeople::new(seed, people.iter().map(|of| (of.place.row_key, of.switches)))
    }

    /// For each direction the people who count, each with one counterfactual that has a score.
    fn switches(
        &self,
        row_context: RowContext<'_>,
        (scored, source): (&CountInputs, &SwitchSource<'_>),
        places: &[CountedPlace],
        directions: &[(usize, usize)],
    ) -> Result<Vec<Vec<ExplainedSwitch>>> {
        let seed = named_seed(self.plan.job.run.seed.0, "why/one");
        let mut all = vec![Vec::new(); directions.len()];
        let find = |g: usize| {
            let places = of_group(places, |place| place.group, g);
            if places.is_empty() {
                return Ok((0, Vec::new()));
            }
            let group = ScoredGroup::read(row_context, scored, g, true)?;
            let keyed = match source {
                SwitchSource::Rows => KeyedSwitches::Rows(&group),
                SwitchSource::Expected(of) => {
                    KeyedSwitches::Expected(of, row_context.rows.read(g, Projection::ALL)?.rows)
                }
                SwitchSource::WorldRows(of, counted) => {
                    KeyedSwitches::Worlds(of.read(g, &group.keys)?, *counted)
                }
            };
            let own = &group.batch.groups[scored.attribute];
            let mut found = Vec::new();
            for &place in places {
                let i = place.row;
                let Some(fold) = group.roles.audited(i) else { continue };
                let threshold = scored.rule.threshold_at(&group.batch, Some(fold), i);
                let decide = |score| scored.rule.compare(score, threshold);
                let Some(factual) = decide(group.scores[i]) else { continue };
                let keys = {
                    let parents = &group.keys.parent;
                    let below = |n: usize| parents.partition_point(|&p| (p as usize) < n);
                    below(i)..below(i + 1)
                };
                for (d, &(from, to)) in directions.iter().enumerate() {
                    if usize::from(own[i]) != from {
                        continue;
                    }
                    let of_direction =
                        keys.clone().filter(|&key| usize::from(group.keys.to_group[key]) == to);
                    let draw = |numbers: Vec<u64>| {
                        one_counterfactual(seed, place.row_key, numbers.into_iter())
                    };
                    let decides = |score| decide(score).is_some();
                    let Some((counterfactual, score)) =
                        keyed.one((i, of_direction), (from, to), decides, draw)
                    else {
                        continue;
                    };
                    let of = ExplainedSwitch {
                        place,
                        source: group.batch.row[i],
                        counterfactual,
                        fold,
                        threshold,
                        scores: [group.scores[i], score],
                        switches: decide(score) != Some(factual),
                    };
                    found.push((d, of));
                }
            }
            Ok((group.batch.row.len() as u64, found))
        };
        row_context
            .row_groups()
            .in_turn(find, |found| found.into_iter().for_each(|(d, of)| all[d].push(of)))?;
        Ok(all)
    }

    /// The attribute with all columns that are set along with it, then the columns that the set may
    /// move, by the bytes of their names; a one-hot feature is one.
    fn players(&self, layout: &Layout, attribute: usize) -> Vec<FeaturePlayer> {
        let mut own = features_set_with(layout, attribute);
        own.extend(binned_below(layout, attribute));
        own.sort_unstable();
        own.dedup();
        let data = &self.plan.job.data;
        let columns = |name: &ColumnName| -> Vec<usize> {
            let members = data.features.onehot.get(name);
            let names = members.map_or(std::slice::from_ref(name), Vec::as_slice);
            names.iter().filter_map(|name| layout.feature(name.as_str())).collect()
        };
        let mut others: Vec<FeaturePlayer> = data
            .movable()
            .into_iter()
            .filter(|name| self.may_move(name))
            .map(|name| FeaturePlayer { name: name.to_string(), columns: columns(name) })
            .filter(|player| player.columns.iter().all(|column| !own.contains(column)))
            .collect();
        others.sort_by(|a, b| a.name.cmp(&b.name));
        let name = layout.attributes[attribute].name.clone();
        let mut players = vec![FeaturePlayer { name, columns: own }];
        players.extend(others);
        players
    }

    /// Whether the set may move a column or a one-hot feature.
    fn may_move(&self, name: &ColumnName) -> bool {
        if let Some(knobs) = self.applied.block.knobs() {
            return knobs.may_move(name.as_str());
        }
        match self.applied.graphs() {
            None => true,
            Some(graphs) => match &graphs.variables {
                Some(variables) => variables.contains(name),
                // No graph has a one-hot feature.
                None => !self.plan.job.data.features.onehot.contains_key(name),
            },
        }
    }

    /// The rows of a direction: for each player those who switch, those who stay, and all.
    fn rows(
        &self,
        row_context: RowContext<'_>,
        [from, to]: [&str; 2],
        mixtures: &FeatureMixtures<'_>,
        (of, explained): ([u64; 2], &ExplainedPeople),
    ) -> Vec<SwitchFeatureRow> {
        let (job, players) = (self.plan.job, mixtures.players);
        let gives_scores = mixtures.rule.gives_scores;
        let settings = MeanSettings {
            seed: job.run.seed.0,
            samples: job.metrics.bootstrap.samples.size(),
            level: job.metrics.interval.level.get(),
            of,
        };
        let found = row_context
            .workers
            .within(|| player_means(&explained.people, players.len(), &settings));
        let row = |player: &FeaturePlayer| SwitchFeatureRow {
            why: self.name.as_str().into(),
            from_group: from.into(),
            to_group: to.into(),
            feature: player.name.as_str().into(),
            model: self.block.model.as_str().into(),
            arm: self.block.arm.as_deref().unwrap_or_default().into(),
            counterfactual: self.applied.set.into(),
            sensitive: self.applied.attribute.into(),
            metric: self.block.metric.id().as_str().into(),
            ..SwitchFeatureRow::default()
        };
        let smallest = job.metrics.min_denominator.get();
        let of_all = of[0] + of[1];
        let flags = |means: Option<&PlayerMeans>| {
            let agree = |mean: MeanEffect| mean.interval == Err(NoPercentilesReason::AllAgree);
            let few = |mean: MeanEffect| {
                let reasons =
                    [NoPercentilesReason::TooManyUndefined, NoPercentilesReason::FewPersons];
                mean.interval.is_err_and(|reason| reasons.contains(&reason))
            };
            let flags = [
                ("asks_at_most", explained.cut),
                ("missing_scores", explained.unscored > 0),
                ("nobody_counted", of_all == 0),
                ("nobody_switches", of_all > 0 && of[0] == 0),
                ("unweighted", row_context.rows.layout().weight.is_some()),
                ("small_denominator", means.is_some_and(|of| of.n < smallest)),
                ("few_people", means.is_some_and(|of| few(of.score) || few(of.decision))),
                ("score_boundary", means.is_some_and(|of| gives_scores && agree(of.score))),
                ("decision_boundary", means.is_some_and(|of| agree(of.decision))),
            ];
            let held: Vec<&str> = flags.into_iter().filter(|flag| flag.1).map(|of| of.0).collect();
            held.join(",")
        };
        if found.is_empty() {
            // No person switches, or none could be explained.
            let nobody = |player: &FeaturePlayer| SwitchFeatureRow {
                people: "all".into(),
                of: whole(of_all),
                flags: flags(None).into(),
                ..row(player)
            };
            return players.iter().map(nobody).collect();
        }
        let filled = |means: &PlayerMeans| {
            let score = Some(means.score).filter(|_| gives_scores);
            let ends = |mean: MeanEffect| mean.interval.ok();
            let (score_ends, decision_ends) = (score.and_then(ends), ends(means.decision));
            let undone = means.undone;
            let undone_ends = undone.and_then(|(_, interval)| interval);
            SwitchFeatureRow {
                people: means.kind.as_str().into(),
                n: whole(means.n),
                of: whole(means.of),
                moved: whole(means.moved),
                sampled: whole(means.sampled),
                score: score.map(|mean| mean.value),
                score_lo: score_ends.map(|ends| ends.0),
                score_hi: score_ends.map(|ends| ends.1),
                score_se: score.map(|mean| mean.error),
                decision: Some(means.decision.value),
                decision_lo: decision_ends.map(|ends| ends.0),
                decision_hi: decision_ends.map(|ends| ends.1),
                decision_se: Some(means.decision.error),
                undone: undone.map(|(k, _)| whole(k)),
                undone_rate: undone.map(|(k, _)| k as f64 / means.n as f64),
                undone_lo: undone_ends.map(|i| i.lo),
                undone_hi: undone_ends.map(|i| i.hi),
                flags: flags(Some(means)).into(),
                ..row(&players[means.player])
            }
        };
        found.iter().map(filled).collect()
    }
}

/// The part of one row group, of a list in the order of row groups.
fn of_group<T>(all: &[T], group_of: impl Fn(&T) -> usize, group: usize) -> &[T] {
    let below = |n: usize| all.partition_point(|of| group_of(of) < n);
    &all[below(group)..below(group + 1)]
}

/// Makes something of the people of each row group, whom `make` gets by their positions, and hands
/// it on in the order of the row groups.
fn by_row_group<T: Send>(
    row_context: RowContext<'_>,
    people: &[ExplainedSwitch],
    make: impl Fn(usize, &[usize]) -> Result<(u64, T)> + Sync,
    mut take: impl FnMut(&[usize], T),
) -> Result<()> {
    let mut order: Vec<usize> = (0..people.len()).collect();
    order.sort_by_key(|&i| people[i].place.group);
    row_context.row_groups().in_turn(
        |g| {
            let here = of_group(&order, |&i| people[i].place.group, g);
            if here.is_empty() {
                return Ok((0, None));
            }
            let (n_rows, made) = make(g, here)?;
            Ok((n_rows, Some((here, made))))
        },
        |made| made.into_iter().for_each(|(here, made)| take(here, made)),
    )
}

/// People of a direction in the columns of a model, each in the world that was drawn.
fn encoded(
    row_context: RowContext<'_>,
    of: &ExpectedSwitches<'_>,
    (people, direction, players): (&[ExplainedSwitch], (usize, usize), &[FeaturePlayer]),
) -> Result<Vec<EncodedPerson>> {
    let mut found = vec![EncodedPerson::default(); people.len()];
    let player_of = |feature| players.iter().position(|of| of.columns.contains(&feature));
    by_row_group(
        row_context,
        people,
        |g, here| {
            let rows = row_context.rows.read(g, Projection::ALL)?.rows;
            let mut row = EncodedModelRow::default();
            let mut part = Vec::with_capacity(here.len());
            for &i in here {
                let mut person = EncodedPerson::default();
                if !of.worlds.encode(&rows, people[i].place.row, &mut row) {
                    return Err(internal_error("a counterfactual of an incomplete row".to_owned()));
                }
                let world = people[i].counterfactual;
                for change in of.worlds.changes(&mut row, direction, world) {
                    let Some(player) = player_of(change.feature) else {
                        return Err(internal_error("a graph moves what no player is".to_owned()));
                    };
                    person.changes.entry(player).or_default().extend(change.of_model);
                }
                person.row.clone_from(&row.model);
                part.push(person);
            }
            Ok((rows.n as u64, part))
        },
        |here, part| here.iter().zip(part).for_each(|(&i, person)| found[i] = person),
    )?;
    Ok(found)
}

/// The factual rows and the counterfactuals of people, in their order.
fn read_rows(
    row_context: RowContext<'_>,
    made: &CounterfactualReader,
    people: &[ExplainedSwitch],
) -> Result<[FeatureRows; 2]> {
    let layout = row_context.rows.layout();
    let (mut own, mut other) = (empty_rows(layout), empty_rows(layout));
    let (mut place, mut places) = (vec![0; people.len()], 0..);
    by_row_group(
        row_context,
        people,
        |g, here| {
            let rows: Vec<usize> = here.iter().map(|&i| people[i].place.row).collect();
            let moved: Vec<usize> = here.iter().map(|&i| people[i].counterfactual).collect();
            let own = row_context.rows.read(g, Projection::ALL)?.rows;
            let (_, other) = made.rows(g, layout)?;
            Ok((own.n as u64, (own.take(&rows), other.take(&moved))))
        },
        |here, (part_own, part_other)| {
            own.append(part_own);
            other.append(part_other);
            here.iter().zip(&mut places).for_each(|(&i, at)| place[i] = at);
        },
    )?;
    Ok([own.take(&place), other.take(&place)])
}
