//! Which stages a run has: each names what it needs, and can read only that.
//!
//! The plan grows backwards from its last stage. While a stage is planned it asks its
//! [`StageBuilder`] for other stages, parts of the job, the seed and files, and the builder adds to
//! the key whatever it gives. A stage can only be read through the [`StageInput`] that the builder
//! made.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::marker::PhantomData;
use std::path::Path;

use indexmap::IndexSet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::exec::{PlannedStage, StageContext, StageWork, files, internal_error};
use crate::folder::manifest::InputFile;
use crate::job::Job;
use crate::stage::applied_set::key_text;
use crate::stage::kinds::{KnownStage, LabelStage, ReportStage};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::settings::CODE;
use crate::stage::sharding::share::{RowShare, StageRows};
use crate::unit::{AuditUnit, StageKind, StageUnit, UnitKind, is_forced};

/// The work of a planned stage, unless it cannot be.
pub(crate) type Planned<'a> = Result<Box<StageWork<'a>>>;

/// What a stage has requested from others, opened when its work runs.
pub(crate) type Opens<'a, T> = Box<dyn Fn(&StageContext<'_>) -> Result<T> + Sync + 'a>;

/// As [`Opens`], for what belongs to rows.
pub(crate) type OpensOfRows<'a, T> = Box<dyn Fn(RowContext<'_>) -> Result<T> + Sync + 'a>;

/// How a stage is planned. A new one is its row in [`kinds`](crate::stage::kinds), its word in
/// [`UnitKind`], and its readers.
pub(crate) trait Stage: KnownStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a>;
}

/// The right to read a stage. Only a builder makes one, for the stage that is being planned.
#[derive(Debug)]
pub(crate) struct StageInput<A> {
    id: String,
    opens: PhantomData<fn() -> A>,
}

impl<A> Clone for StageInput<A> {
    fn clone(&self) -> Self {
        StageInput { id: self.id.clone(), opens: PhantomData }
    }
}

impl<A> StageInput<A> {
    /// The folder of the stage.
    pub(crate) fn folder<'c>(&self, ctx: &'c StageContext<'_>) -> &'c Path {
        ctx.need(&self.id)
    }

    /// This input where it does not matter which kind of stage it is.
    pub(crate) fn untyped(self) -> StageInput<()> {
        StageInput { id: self.id, opens: PhantomData }
    }

    /// The text of a file of the stage.
    pub(crate) fn text(&self, ctx: &StageContext<'_>, file: &str) -> Result<String> {
        files::read_text(&self.folder(ctx).join(file))
    }

    /// The value in such a text.
    pub(crate) fn parse<T: DeserializeOwned>(&self, text: &str) -> Result<T> {
        files::from_json(text, &self.id)
    }

    /// The value in a JSON file of the stage.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        ctx: &StageContext<'_>,
        file: &str,
    ) -> Result<T> {
        self.parse(&self.text(ctx, file)?)
    }

    /// As [`Self::read`], for a file that the stage writes only where its contents were asked for.
    pub(crate) fn read_if_written<T: DeserializeOwned>(
        &self,
        ctx: &StageContext<'_>,
        file: &str,
    ) -> Result<Option<T>> {
        self.folder(ctx).join(file).exists().then(|| self.read(ctx, file)).transpose()
    }
}

/// The folders of stages of one kind, each with what it is about.
pub(crate) struct StageFolders(Vec<(String, StageInput<()>)>);

impl StageFolders {
    /// The folders of these stages.
    pub(crate) fn of<A>(stages: Vec<(String, StageInput<A>)>) -> Self {
        StageFolders(stages.into_iter().map(|(name, stage)| (name, stage.untyped())).collect())
    }

    /// The name and folder of each.
    pub(crate) fn open<'c>(&self, ctx: &'c StageContext<'_>) -> Vec<(&str, &'c Path)> {
        self.0.iter().map(|(name, of)| (name.as_str(), of.folder(ctx))).collect()
    }
}

impl<A> From<Option<StageInput<A>>> for StageFolders {
    fn from(stage: Option<StageInput<A>>) -> Self {
        StageFolders::of(stage.map(|stage| (String::new(), stage)).into_iter().collect())
    }
}

/// The stages of a run, in order.
pub(crate) struct RunStages<'a> {
    pub(crate) stages: Vec<PlannedStage<'a>>,
    /// All that were planned, also those that wait for scores.
    known: Vec<StageUnit>,
}

impl RunStages<'_> {
    /// What `--force` names, if this run has it. In a run that waits, naming what exists only once
    /// scores are there is no mistake.
    pub(crate) fn force<'f>(&self, force: Option<&'f str>) -> Option<&'f str> {
        let force = force?;
        let is_run = self.stages.iter().any(|stage| is_forced(force, &stage.id));
        let later = self.known.iter().any(|unit| is_forced(force, &unit.to_string()));
        (is_run || !later).then_some(force)
    }
}

/// A stage with its place in the plan.
struct PlacedStage<'a> {
    unit: StageUnit,
    stage: PlannedStage<'a>,
    needs: Vec<usize>,
    /// Stages that run with it, and that it does not read.
    also: Vec<usize>,
    /// Length of the longest chain of needs.
    level: usize,
    waits: bool,
}

/// Plans a stage of one kind for a unit; its number.
type PlanStage<'a> = fn(&mut Planner<'a>, &AuditUnit) -> Result<usize>;

struct Planner<'a> {
    plan: &'a StagePlan<'a>,
    placed: Vec<PlacedStage<'a>>,
    /// None while a stage is being planned.
    numbers: BTreeMap<StageUnit, Option<usize>>,
}

/// What is gathered while one stage is planned.
pub(crate) struct StageBuilder<'b, 'a> {
    pub(crate) plan: &'a StagePlan<'a>,
    planner: &'b mut Planner<'a>,
    needs: IndexSet<usize>,
    also: Vec<usize>,
    inputs: IndexSet<(String, String)>,
    waits: bool,
    /// A value of the key that cannot be written.
    unwritable: Option<Error>,
}

/// The work of a stage from a closure.
pub(crate) fn work<'a>(run: impl Fn(&StageContext<'_>) -> Result<()> + Sync + 'a) -> Planned<'a> {
    Ok(Box::new(run))
}

impl<'a> StagePlan<'a> {
    /// The stages of the run, from the report backwards.
    pub(crate) fn stages(&'a self) -> Result<RunStages<'a>> {
        self.stages_to(&[Planner::stage::<ReportStage>])
    }

    /// The stages of the run, and those that only a look at the rows needs.
    pub(crate) fn stages_of_look(&'a self) -> Result<RunStages<'a>> {
        self.stages_to(&[Planner::stage::<ReportStage>, Planner::stage::<LabelStage>])
    }

    fn stages_to(&'a self, last: &[PlanStage<'a>]) -> Result<RunStages<'a>> {
        let mut planner = Planner { plan: self, placed: Vec::new(), numbers: BTreeMap::new() };
        let last = last.iter().map(|plan| plan(&mut planner, &AuditUnit::default()));
        let last = last.collect::<Result<_>>()?;
        Ok(planner.finish(last))
    }
}

impl<'a> Planner<'a> {
    /// The stage of a kind that a unit asks for.
    fn stage<K: Stage>(&mut self, of: &AuditUnit) -> Result<usize> {
        let unit = StageUnit::cut_to(K::KIND, K::FIELDS, of);
        match self.numbers.get(&unit) {
            Some(Some(number)) => return Ok(*number),
            Some(None) => return Err(internal_error(format!("stage `{unit}` needs itself"))),
            None => self.numbers.insert(unit.clone(), None),
        };
        let mut b = StageBuilder::new(self);
        let run = K::plan(unit.fields(), &mut b)?;
        let StageBuilder { plan, needs, also, inputs, waits, unwritable, .. } = b;
        unwritable.map_or(Ok(()), Err)?;
        let needs: Vec<usize> = needs.into_iter().collect();
        let id = |&need: &usize| self.placed[need].stage.id.clone();
        let input = plan.input;
        let stage = PlannedStage {
            id: unit.to_string(),
            kind: unit.stage_kind().word(),
            code: CODE.to_owned(),
            needs: needs.iter().map(id).collect(),
            inputs: inputs.into_iter().collect(),
            run: Box::new(move |ctx: &StageContext<'_>| {
                let done = run(ctx);
                // That a file changed is a better message than what was wrong with its bytes.
                if matches!(done, Ok(()) | Err(Error::Data(_))) {
                    input.unchanged()?;
                }
                done
            }),
        };
        let level = needs.iter().map(|&need| self.placed[need].level + 1).max().unwrap_or(0);
        let number = self.placed.len();
        self.numbers.insert(unit.clone(), Some(number));
        self.placed.push(PlacedStage { unit, stage, needs, also, level, waits });
        Ok(number)
    }

    /// The stages that the last ones depend on, needs first. Among those whose needs are done,
    /// always the one of the lowest kind and level: stages of a kind that do not need each other
    /// stand together.
    fn finish(self, last: Vec<usize>) -> RunStages<'a> {
        let placed = self.placed;
        let (mut wanted, mut open) = (BTreeSet::new(), last);
        while let Some(number) = open.pop() {
            if wanted.insert(number) {
                open.extend(placed[number].needs.iter().chain(&placed[number].also));
            }
        }
        let mut needed_by: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut missing: BTreeMap<usize, usize> = BTreeMap::new();
        for &number in &wanted {
            missing.insert(number, placed[number].needs.len());
            for &need in &placed[number].needs {
                needed_by.entry(need).or_default().push(number);
            }
        }
        let rank = |number: usize| {
            let of = &placed[number];
            Reverse((of.unit.stage_kind(), of.level, of.unit.kind(), number))
        };
        let mut ready: BinaryHeap<Reverse<(StageKind, usize, UnitKind, usize)>> =
            missing.iter().filter(|(_, n)| **n == 0).map(|(&number, _)| rank(number)).collect();
        let mut order = Vec::new();
        while let Some(Reverse((.., number))) = ready.pop() {
            order.push(number);
            for later in needed_by.remove(&number).unwrap_or_default() {
                if let Some(left) = missing.get_mut(&later) {
                    *left -= 1;
                    if *left == 0 {
                        ready.push(rank(later));
                    }
                }
            }
        }
        let (mut known, mut stages) = (Vec::new(), BTreeMap::new());
        for (number, of) in placed.into_iter().enumerate() {
            known.push(of.unit);
            stages.insert(number, of.stage);
        }
        let stages = order.iter().filter_map(|number| stages.remove(number)).collect();
        RunStages { stages, known }
    }
}

impl<'b, 'a> StageBuilder<'b, 'a> {
    fn new(planner: &'b mut Planner<'a>) -> Self {
        let plan = planner.plan;
        let (needs, also, inputs) = (IndexSet::new(), Vec::new(), IndexSet::new());
        StageBuilder { plan, planner, needs, also, inputs, waits: false, unwritable: None }
    }

    /// A stage that this one needs.
    pub(crate) fn need<K: Stage>(&mut self, of: &AuditUnit) -> Result<StageInput<K::Output>> {
        let number = self.planner.stage::<K>(of)?;
        self.needs.insert(number);
        let needed = &self.planner.placed[number];
        self.waits |= needed.waits;
        Ok(StageInput { id: needed.stage.id.clone(), opens: PhantomData })
    }

    /// As [`Self::need`], for each of some units, next to what each is about.
    pub(crate) fn need_each<K: Stage, T>(
        &mut self,
        units: impl IntoIterator<Item = (T, AuditUnit)>,
    ) -> Result<Vec<(T, StageInput<K::Output>)>> {
        units.into_iter().map(|(of, unit)| Ok((of, self.need::<K>(&unit)?))).collect()
    }

    /// As [`Self::need_each`], for what a JSON file of each stage holds.
    pub(crate) fn read_each<
        K: Stage<Output: 'a>,
        T: Clone + Sync + 'a,
        R: DeserializeOwned + 'a,
    >(
        &mut self,
        units: impl IntoIterator<Item = (T, AuditUnit)>,
        file: &'static str,
    ) -> Result<Opens<'a, Vec<(T, R)>>> {
        let stages = self.need_each::<K, _>(units)?;
        Ok(Box::new(move |ctx| {
            stages.iter().map(|(of, stage)| Ok((of.clone(), stage.read(ctx, file)?))).collect()
        }))
    }

    /// As [`Self::need_each`], without those that wait for scores.
    pub(crate) fn want_each<K: Stage, T>(
        &mut self,
        units: impl IntoIterator<Item = (T, AuditUnit)>,
    ) -> Result<Vec<(T, StageInput<K::Output>)>> {
        let mut found = Vec::new();
        for (of, unit) in units {
            found.extend(self.want_part(|b| b.need::<K>(&unit))?.map(|stage| (of, stage)));
        }
        Ok(found)
    }

    /// The folders of these.
    pub(crate) fn want_folders<K: Stage>(
        &mut self,
        units: impl IntoIterator<Item = (String, AuditUnit)>,
    ) -> Result<StageFolders> {
        self.want_each::<K, _>(units).map(StageFolders::of)
    }

    /// A stage that runs with this one. Nothing of it is read.
    pub(crate) fn also<K: Stage>(&mut self, of: &AuditUnit) -> Result<()> {
        let number = self.planner.stage::<K>(of)?;
        self.also.push(number);
        Ok(())
    }

    /// What `ask` needs, or nothing if any of it waits for a file of scores: then none of it is
    /// part of this stage.
    pub(crate) fn want<T>(
        &mut self,
        ask: impl FnOnce(&mut StageBuilder<'_, 'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut asked = StageBuilder::new(self.planner);
        let found = ask(&mut asked)?;
        let StageBuilder { needs, also, inputs, waits, unwritable, .. } = asked;
        self.unwritable = self.unwritable.take().or(unwritable);
        if waits {
            return Ok(None);
        }
        self.needs.extend(needs);
        self.also.extend(also);
        self.inputs.extend(inputs);
        Ok(Some(found))
    }

    /// As [`Self::want`], for a stage that is worth running without it: what it writes is then a
    /// part, and the stages that need all of it wait.
    pub(crate) fn want_part<T>(
        &mut self,
        ask: impl FnOnce(&mut StageBuilder<'_, 'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        let found = self.want(ask)?;
        self.waits |= found.is_none();
        Ok(found)
    }

    /// The stage cannot run before a file of scores is there.
    pub(crate) fn wait(&mut self) -> Planned<'a> {
        self.waits = true;
        work(|_| Ok(()))
    }

    /// What the stage reads of the job, put into the key by this name.
    pub(crate) fn input<T: Serialize>(&mut self, name: &str, pick: impl FnOnce(&'a Job) -> T) -> T {
        self.value(name, pick(self.plan.job))
    }

    /// A value that the stage depends on, put into the key by this name.
    pub(crate) fn value<T: Serialize>(&mut self, name: &str, value: T) -> T {
        match key_text(&value) {
            Ok(text) => self.put((name.to_owned(), text)),
            Err(error) => _ = self.unwritable.get_or_insert(error),
        }
        value
    }

    /// The fields of what the stage reads of the job, each put into the key by its name: within
    /// `path`, or as it is where it has a dot or a blank.
    pub(crate) fn fields(&mut self, path: &str, told: &impl Serialize) {
        match serde_json::to_value(told) {
            Ok(Value::Object(fields)) => {
                for (name, of) in fields.into_iter().filter(|(_, of)| !of.is_null()) {
                    let is_whole = name.contains(['.', ' ']);
                    self.value(&if is_whole { name } else { format!("{path}.{name}") }, of);
                }
            }
            _ => _ = self.value(path, told),
        }
    }

    /// The seed of the job.
    pub(crate) fn seed(&mut self) -> crate::param::Seed {
        let seed = self.plan.job.run.seed;
        self.put(("run.seed".to_owned(), seed.0.to_string()));
        seed
    }

    /// A file of the user's, by its hash.
    pub(crate) fn file(&mut self, file: &'a InputFile) -> &'a Path {
        self.put((format!("file {}", file.path), file.identity()));
        Path::new(&file.path)
    }

    /// The files of the user's that the manifest calls so.
    pub(crate) fn files(&mut self, what: &str) {
        self.plan.input.of(what).for_each(|file| _ = self.file(file));
    }

    /// The passes over rows of a stage that gathers states and does something else in each pass.
    pub(crate) fn passes(&mut self) -> &'a RowShare {
        self.share(StageRows::InPass)
    }

    /// As [`Self::passes`], for a stage that writes the same rows whatever the pass.
    pub(crate) fn row_passes(&mut self) -> &'a RowShare {
        self.share(StageRows::Surveyed)
    }

    /// As [`Self::row_passes`], for a stage for which it does not matter what the other shards
    /// hold.
    pub(crate) fn rows_alone(&mut self) -> &'a RowShare {
        self.share(StageRows::Alone)
    }

    fn share(&mut self, rows: StageRows) -> &'a RowShare {
        let share = self.plan.share;
        self.texts(share.inputs(rows));
        share
    }

    /// What others say that the stage depends on: names and texts.
    pub(crate) fn texts(&mut self, inputs: impl IntoIterator<Item = (String, String)>) {
        inputs.into_iter().for_each(|input| self.put(input));
    }

    /// Each input once: two parts of a stage may read the same.
    fn put(&mut self, input: (String, String)) {
        self.inputs.insert(input);
    }
}
