//! What the fairness of recourse for subgroups costs in memory and CPU, phase by phase: no file is
//! read or written while it is timed.
//!
//! Takes a folder in the layout of the oracles (`config.json`, `model.json`, `rows.parquet`) and,
//! optionally, another support than its own. Prints sizes, CPU seconds of all threads and the
//! highest memory as JSON.

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark without its files ends"
)]

use std::path::Path;

use cfaudit::recourse;
use cfaudit::recourse::actions::RecoursePlan;
use cfaudit::recourse::budget::{Percentile, budgets};
use cfaudit::recourse::chance::{false_discoveries, p_values};
use cfaudit::recourse::definition::{RecourseCriterion, RecourseDefinition, RecourseView};
use cfaudit::recourse::effect::ActionEffects;
use cfaudit::recourse::overlap::merge_overlapping;
use cfaudit::recourse::overview::{agreement, analysis};
use cfaudit::recourse::rank::{DefinitionRanking, RankBy};
use cfaudit::recourse::sentence::GroupSentence;
use cfaudit::recourse::{ActionMatch, DecimalShare, SearchSettings};

#[path = "../src/recourse/tests/case.rs"]
mod case;

/// Subgroups that are written out per definition.
const KEEP: usize = 20;

/// CPU seconds of all threads of this process so far, as the kernel counts them in nanoseconds.
fn cpu_seconds() -> f64 {
    let of_thread = |task: std::io::Result<std::fs::DirEntry>| -> u64 {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse().unwrap()
    };
    std::fs::read_dir("/proc/self/task").unwrap().map(of_thread).sum::<u64>() as f64 / 1e9
}

/// A memory figure of this process in MB.
fn megabytes(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn share(text: &str) -> DecimalShare {
    DecimalShare::new(text.parse().unwrap()).unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let case = case::RecourseOracleCase::read(Path::new(&args[0]));
    let support = args.get(1).map_or_else(|| case.config["min_support"].to_string(), Clone::clone);
    let search = SearchSettings {
        subgroups: share(&support),
        actions: share(&support),
        max_items: None,
        matching: ActionMatch::SameFeatures,
        max_results: 5_000_000,
    };
    let before = megabytes("VmRSS");

    let mut clock = cpu_seconds();
    let mut phases = Vec::new();
    let mut phase = |name: &str| {
        let now = cpu_seconds();
        phases.push(format!("\"{name}\": {:.3}", now - clock));
        clock = cpu_seconds();
    };
    let plan = RecoursePlan::new(&case.audited, &case.pair, &search).unwrap();
    phase("plan");
    let needed = plan.needed();
    phase("needed");
    let helps = |change: usize, rows: &[u32]| {
        let changes = plan.change_set(change);
        Ok(rows.iter().map(|&row| case.model.changed(row, &changes) > 0.0).collect())
    };
    let helped = plan.helped(&needed, helps).unwrap();
    phase("scoring");
    let effects = ActionEffects::new(&plan, &helped);
    phase("effects");
    let percentiles = ["30", "60", "90"].map(|q| Percentile::new(q.parse().unwrap()).unwrap());
    let phis = [share("0.3"), share("0.7")];
    let mut definitions = vec![
        RecourseDefinition::EqualEffectiveness,
        RecourseDefinition::FairTradeOff,
        RecourseDefinition::ConditionalMean,
    ];
    definitions.extend(phis.iter().flat_map(|&phi| {
        [RecourseDefinition::EqualChoice(phi), RecourseDefinition::EqualCost(phi)]
    }));
    definitions.extend(
        budgets(&plan, &effects, &percentiles, share("0.5"))
            .into_iter()
            .map(RecourseDefinition::WithinBudget),
    );
    let views = [RecourseView::Macro, RecourseView::Micro];
    let questions = definitions
        .iter()
        .flat_map(|&d| views.iter().filter_map(move |&view| RecourseCriterion::new(d, view)));
    let judged: Vec<DefinitionRanking> =
        questions.map(|q| DefinitionRanking::new(&plan, &effects, q, RankBy::Distance)).collect();
    phase("judged");
    let tables: Vec<_> = judged.iter().map(analysis).collect();
    let cells =
        judged.iter().flat_map(|a| judged.iter().map(move |b| agreement(a, b))).flatten().count();
    phase("tables");
    let mut lines = 0;
    for judged in &judged {
        for place in merge_overlapping(&plan, judged, KEEP)
            .iter()
            .filter(|place| place.merged_into.is_none())
        {
            let (criterion, subgroup) = (judged.criterion, place.subgroup as usize);
            let told = GroupSentence::both(&plan, &effects, criterion, subgroup);
            lines += told.iter().map(|group| group.lines.len()).sum::<usize>();
        }
    }
    phase("sentences");
    let peak = megabytes("VmHWM");
    let questions: Vec<RecourseCriterion> = judged.iter().map(|judged| judged.criterion).collect();
    let p = p_values(
        &plan,
        &effects,
        &helped,
        &questions,
        serde_json::from_str("{}").unwrap(),
        42,
        0..plan.n_subgroups(),
    );
    phase("chance");
    let found = |q: usize| {
        false_discoveries(&p.iter().map(|p| p[q]).collect::<Vec<_>>())
            .iter()
            .filter(|q| **q <= 0.05)
            .count()
    };
    let found: Vec<usize> = (0..questions.len()).map(found).collect();
    println!(
        "{{\"affected\": {:?}, \"subgroups\": {}, \"actions\": {}, \"change_sets\": {}, \
         \"questions\": {}, \"found\": {found:?}, \"definitions\": {}, \
         \"tables\": {}, \"lines\": {}, \"cpu\": {{{}}}, \"mb_before\": {before:.0}, \
         \"mb_peak\": {peak:.0}}}",
        plan.population().n,
        plan.n_subgroups(),
        plan.n_actions(),
        plan.n_changes(),
        needed.n_pairs(),
        judged.len(),
        tables.len() + cells,
        lines,
        phases.join(", ")
    );
}
