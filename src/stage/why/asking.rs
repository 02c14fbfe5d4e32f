//! Asks a model about mixtures of rows, by the calls of the stage `score`.
//!
//! A model that runs here is asked about the mixtures of some people at a time, on all threads. A
//! command, a Python model or an endpoint is asked in one call about all distinct rows of a
//! direction, by what it reads: at most `asks_at_most` of them. If it would take more, half as many
//! people are explained, and so on until it does not.

use crate::data::FeatureRows;
use crate::error::Result;
use crate::exec::internal_error;
use crate::num::seed::h;
use crate::stage::row_context::RowContext;
use crate::stage::score::asked_rows::{BATCH, PairedRows};
use crate::stage::score::command::{CommandCall, ProgramFiles};
use crate::stage::score::equal_rows::{EqualRows, KnownRows, RowHash, read_features, row_hashes};
use crate::stage::why::mixtures::{FeatureMixtures, MixtureQuestion};
use crate::why::draw::DrawnPeople;
use crate::why::features::ExplainedPerson;
use crate::why::shapley::PlayerCoalitions;

/// People whose rows are compared between two looks at whether there are too many.
const PEOPLE_PER_LOOK: usize = 64;

/// Who was explained.
#[derive(Debug, Default)]
pub(crate) struct ExplainedPeople {
    /// Those whose mixtures all have scores, in the order in which they were drawn.
    pub(crate) people: Vec<ExplainedPerson>,
    /// People with a mixture that has none.
    pub(crate) unscored: u64,
    /// Whether fewer were explained, because the model would be asked too many rows.
    pub(crate) cut: bool,
}

impl ExplainedPeople {
    fn of(found: Vec<Option<ExplainedPerson>>, cut: bool) -> Self {
        let unscored = found.iter().filter(|person| person.is_none()).count() as u64;
        ExplainedPeople { people: found.into_iter().flatten().collect(), unscored, cut }
    }
}

/// A model that is asked from outside, with its files.
pub(crate) type ModelCall<'a> = (CommandCall<'a>, ProgramFiles<'a>);

impl FeatureMixtures<'_> {
    /// Cuts people into runs of about this number of rows.
    fn runs<'p>(&self, people: &'p [usize]) -> Vec<&'p [usize]> {
        let mut runs = Vec::new();
        let (mut start, mut rows) = (0, 0);
        for (at, &person) in people.iter().enumerate() {
            let d = self.differing(person).len();
            rows += PlayerCoalitions::at_most(d, self.orders.permutations);
            if rows >= BATCH || at + 1 == people.len() {
                runs.push(&people[start..=at]);
                (start, rows) = (at + 1, 0);
            }
        }
        runs
    }

    /// Explains people by what gives the scores of questions in this process.
    ///
    /// # Errors
    /// It fails, or the run is to stop.
    pub(crate) fn ask_here(
        &self,
        row_context: RowContext<'_>,
        people: &[usize],
        score: &(dyn Fn(&[MixtureQuestion<'_>]) -> Result<Vec<f64>> + Sync),
    ) -> Result<ExplainedPeople> {
        let runs = self.runs(people);
        let mut all = Vec::with_capacity(people.len());
        row_context.pieces(runs.len()).in_turn(
            |run| {
                let coalitions: Vec<PlayerCoalitions> =
                    runs[run].iter().map(|&person| self.coalitions(person)).collect();
                let people = || runs[run].iter().copied().zip(&coalitions);
                let asked: Vec<MixtureQuestion<'_>> =
                    people().flat_map(|(person, of)| self.questions(person, of)).collect();
                let mut scores = Vec::with_capacity(asked.len());
                for part in asked.chunks(BATCH) {
                    scores.extend(score(part)?);
                }
                if scores.len() != asked.len() {
                    return Err(internal_error("a model left mixtures without a score".to_owned()));
                }
                let mut answers = scores.into_iter();
                let effects = |(person, of): (usize, &PlayerCoalitions)| {
                    let n = self.questions(person, of).count();
                    self.effects(person, of, answers.by_ref().take(n))
                };
                let found: Vec<Option<ExplainedPerson>> = people().map(effects).collect();
                Ok((0, found))
            },
            |found| all.extend(found),
        )?;
        Ok(ExplainedPeople::of(all, false))
    }

    /// Explains the people who were drawn, this many who switch at most, by a model that is asked
    /// from outside: one call for all, or one for each fold.
    ///
    /// # Errors
    /// The model fails, or the run is to stop.
    pub(crate) fn ask_calls(
        &self,
        row_context: RowContext<'_>,
        calls: &[ModelCall<'_>],
        (drawn, mut width): (&DrawnPeople, usize),
        asks_at_most: usize,
    ) -> Result<ExplainedPeople> {
        let Some((first, files)) = calls.first() else { return Ok(ExplainedPeople::default()) };
        let names = files.contract.column_names();
        let columns = read_features(row_context.rows.layout(), &names);
        let read = (columns.as_slice(), first.scores_by_fold());
        let mut cut = false;
        while width > 0 {
            let people = drawn.first(width);
            let found = different(self, row_context, read, (&people, asks_at_most))?;
            let Some(DifferentMixtures { equal, asked: different }) = found else {
                (width, cut) = (width / 2, true);
                continue;
            };
            let mut scores = vec![f64::NAN; different.len()];
            for (fold, (call, files)) in calls.iter().enumerate() {
                let is_mine = |&i: &usize| {
                    let person = different[i].0 as usize;
                    calls.len() == 1 || usize::from(self.people[person].fold) == fold
                };
                let mine: Vec<usize> = (0..different.len()).filter(is_mine).collect();
                if mine.is_empty() {
                    continue;
                }
                let asked: Vec<(u32, u32)> = mine.iter().map(|&i| different[i]).collect();
                let asked = PairedRows {
                    pairs: &asked,
                    fold: &|person| self.people[person as usize].fold,
                    make: &|pairs| self.asked_rows(pairs),
                    name: &|(person, coalition)| {
                        let of = self.coalitions(person as usize);
                        self.name((person as usize, &of, coalition as usize))
                    },
                };
                let mut places = mine.into_iter();
                let mut take = |part: Vec<f64>| {
                    part.into_iter().zip(places.by_ref()).for_each(|(score, i)| scores[i] = score);
                    Ok(())
                };
                let given = call.score_into(row_context, &asked, files, &mut take);
                given.map_err(|error| call.with_place(error, "score"))?;
            }
            let mut found = Vec::with_capacity(people.len());
            let effects = |i: usize| {
                let answers = equal.numbers[i].iter().map(|&number| scores[number as usize]);
                Ok((0, self.effects(people[i], &self.coalitions(people[i]), answers)))
            };
            row_context.pieces(people.len()).in_turn(effects, |person| found.push(person))?;
            return Ok(ExplainedPeople::of(found, cut));
        }
        Ok(ExplainedPeople { cut, ..ExplainedPeople::default() })
    }

    /// The rows of people and coalitions; those of a person are next to each other.
    fn asked_rows(&self, pairs: &[(u32, u32)]) -> FeatureRows {
        let runs: Vec<(PlayerCoalitions, &[(u32, u32)])> = pairs
            .chunk_by(|a, b| a.0 == b.0)
            .map(|run| (self.coalitions(run[0].0 as usize), run))
            .collect();
        let questions: Vec<MixtureQuestion<'_>> = runs
            .iter()
            .flat_map(|(of, run)| run.iter().map(move |(p, c)| (*p as usize, of, *c as usize)))
            .collect();
        self.rows(&questions)
    }
}

/// The mixtures of some people by what a model reads of them.
struct DifferentMixtures {
    equal: EqualRows,
    /// Somebody and a coalition that has each of the different ones.
    asked: Vec<(u32, u32)>,
}

/// The different mixtures of some people; none where there are more than `at_most`.
fn different(
    mixtures: &FeatureMixtures<'_>,
    row_context: RowContext<'_>,
    (columns, by_fold): (&[usize], bool),
    (people, at_most): (&[usize], usize),
) -> Result<Option<DifferentMixtures>> {
    let hashes = |person: usize| {
        let of = mixtures.coalitions(person);
        let asked: Vec<MixtureQuestion<'_>> = mixtures.questions(person, &of).collect();
        let of_part = |part: &[MixtureQuestion<'_>]| row_hashes(columns, &mixtures.rows(part));
        let mut hashes: Vec<RowHash> = asked.chunks(BATCH).flat_map(of_part).collect();
        let fold = u64::from(mixtures.people[person].fold);
        let of_fold = hashes.iter_mut().filter(|_| by_fold);
        of_fold.for_each(|hash| hash[0] = h(hash[0], fold, 0));
        Ok(hashes)
    };
    let (mut equal, mut known) = (EqualRows::default(), KnownRows::default());
    for some in people.chunks(PEOPLE_PER_LOOK) {
        equal.add(&mut known, row_context.pieces(some.len()), |i| hashes(some[i]))?;
        if equal.n > at_most {
            return Ok(None);
        }
    }
    let mut asked = Vec::with_capacity(equal.n);
    for (&person, first) in people.iter().zip(&equal.first).filter(|(_, first)| !first.is_empty()) {
        let of = mixtures.coalitions(person);
        let coalitions: Vec<usize> = mixtures.questions(person, &of).map(|asked| asked.2).collect();
        asked.extend(first.iter().map(|&i| (person as u32, coalitions[i] as u32)));
    }
    Ok(Some(DifferentMixtures { equal, asked }))
}
