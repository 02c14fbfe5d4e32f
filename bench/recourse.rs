//! What the fairness of recourse for subgroups costs in memory and CPU, phase by phase: no file is read or written while it is timed.
//!
//! Takes a folder in the layout of the oracles (`config.json`, `model.json`, `rows.parquet`) and, optionally, another support than its own.
//! Prints sizes, CPU seconds of all threads and the highest memory as JSON.

#![expect(clippy::print_stdout, reason = "the result goes to the script that asked")]
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a benchmark without its files ends")]

use std::path::Path;

use cfaudit::error::Result;
use cfaudit::recourse;
use cfaudit::recourse::actions::Plan;
use cfaudit::recourse::ask::Distinct;
use cfaudit::recourse::budget::{Percentile, budgets};
use cfaudit::recourse::chance::{Deals, false_discoveries, p_values};
use cfaudit::recourse::definition::{Definition, Question, View};
use cfaudit::recourse::effect::Effects;
use cfaudit::recourse::overlap::merged;
use cfaudit::recourse::overview::{agreement, analysis};
use cfaudit::recourse::rank::{Judged, RankBy};
use cfaudit::recourse::sentence::Sentence;
use cfaudit::recourse::{Search, Share};

#[expect(dead_code, reason = "the tests read more of it")]
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

fn share(text: &str) -> Share {
    Share::new(text.parse().unwrap()).unwrap()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let case = case::Case::read(Path::new(&args[0]));
    let support = args.get(1).map_or_else(|| case.config["min_support"].to_string(), Clone::clone);
    let search = Search::new(share(&support), share(&support));
    let before = megabytes("VmRSS");

    let mut clock = cpu_seconds();
    let mut phases = Vec::new();
    let mut phase = |name: &str| {
        let now = cpu_seconds();
        phases.push(format!("\"{name}\": {:.3}", now - clock));
        clock = cpu_seconds();
    };
    let plan = Plan::new(&case.audited, &case.pair, &search).unwrap();
    phase("plan");
    let needed = plan.needed();
    phase("needed");
    let helped = plan.ask(&needed, &case.model).unwrap();
    phase("scoring");
    let effects = Effects::new(&plan, &helped);
    phase("effects");
    let percentiles = ["30", "60", "90"].map(|q| Percentile::new(q.parse().unwrap()).unwrap());
    let phis = [share("0.3"), share("0.7")];
    let mut definitions = vec![Definition::EqualEffectiveness, Definition::FairTradeOff, Definition::ConditionalMean];
    definitions.extend(phis.iter().flat_map(|&phi| [Definition::EqualChoice(phi), Definition::EqualCost(phi)]));
    definitions.extend(budgets(&plan, &effects, &percentiles, share("0.5")).into_iter().map(Definition::WithinBudget));
    let views = [View::Macro, View::Micro];
    let questions = definitions.iter().flat_map(|&d| views.iter().filter_map(move |&view| Question::new(d, view)));
    let judged: Vec<Judged> = questions.map(|q| Judged::new(&plan, &effects, q, RankBy::Distance)).collect();
    phase("judged");
    let tables: Vec<_> = judged.iter().map(analysis).collect();
    let cells = judged.iter().flat_map(|a| judged.iter().map(move |b| agreement(a, b))).flatten().count();
    phase("tables");
    let mut text = String::new();
    for judged in &judged {
        for place in merged(&plan, judged, KEEP).iter().filter(|place| place.merged_into.is_none()) {
            text += &Sentence::new(&plan, &effects, judged.question, place.subgroup as usize).text(&plan);
        }
    }
    phase("texts");
    let peak = megabytes("VmHWM");
    let distinct = Distinct::new(&plan, &needed).rows.len();
    phase("distinct");
    let questions: Vec<Question> = judged.iter().map(|judged| judged.question).collect();
    let p = p_values(&plan, &effects, &helped, &questions, Deals::default(), 42, 0..plan.n_subgroups());
    phase("chance");
    let found = |q: usize| false_discoveries(&p.iter().map(|p| p[q]).collect::<Vec<_>>()).iter().filter(|q| **q <= 0.05).count();
    let found: Vec<usize> = (0..questions.len()).map(found).collect();
    println!(
        "{{\"affected\": {:?}, \"subgroups\": {}, \"actions\": {}, \"change_sets\": {}, \"questions\": {}, \"distinct\": {distinct}, \
         \"found\": {found:?}, \"definitions\": {}, \"tables\": {}, \"letters\": {}, \"cpu\": {{{}}}, \"mb_before\": {before:.0}, \"mb_peak\": {peak:.0}}}",
        plan.population().n,
        plan.n_subgroups(),
        plan.n_actions(),
        plan.n_changes(),
        needed.len(),
        judged.len(),
        tables.len() + cells,
        text.len(),
        phases.join(", ")
    );
}
