//! Gates that are decided over causal graphs, over fits and trainings, or over all doubts.

use super::*;

/// A question about a set whose graphs depend on so many bootstraps.
fn of_bootstraps(n: u64) -> GateQuestion {
    GateQuestion { bootstraps: Some(n), ..question(direction()) }
}

/// The interval across graphs keeps a limit that the interval of people does not; of a single graph
/// there is none.
#[test]
fn graphs_decide_where_the_gate_asks_them() {
    let q = question(direction());
    check(&q, by(&[nsr()]), "<= 0.15, worlds | inconclusive");
    check(
        &q,
        by(&[nsr().with("world_lo=0.12, world_hi=0.14")]),
        "<= 0.15, interval | inconclusive
         <= 0.15, worlds | pass | =the whole interval over graphs and refits keeps the limit
         <= 0.13, worlds | inconclusive
         <= 0.11, worlds | fail",
    );
}

/// The line of a gate that the interval over graphs decides has the level of that interval, says
/// that few bootstraps are few, and that the mean lies outside of it.
#[test]
fn the_line_of_a_gate_on_graphs_says_how_much_its_interval_is_worth() {
    let row = [nsr().with("level=0.9, world_level=0.95, world_lo=0.12, world_hi=0.14")];
    let plain = "<= 0.15, worlds | pass | =the whole 95 % interval over graphs and refits keeps \
                 the limit";
    for n in [40, 100] {
        check(&of_bootstraps(n), by(&row), plain);
    }
    let few = "; it is based on 10 bootstraps, fewer than 40, so another seed may change its ends \
               greatly";
    check(&of_bootstraps(10), by(&row), &format!("{plain}{few}"));
    let people = "<= 0.15 | inconclusive | =the limit lies inside the interval";
    check(&of_bootstraps(10), by(&row), people);
    // The value is 0.131.
    let outside = "; the mean over graphs lies outside it, because a few graphs differ greatly \
                   from the others";
    let at_0 = [row[0].with("world_lo=0, world_hi=0")];
    check(&of_bootstraps(100), by(&at_0), &format!("{plain}{outside}"));
}

/// Fits decide where the gate asks them, and every doubt together only where each of them does.
#[test]
fn fits_and_all_doubts_decide_where_the_gate_asks_them() {
    let q = question(direction());
    let of = |cells: &str, lines: &str| check(&q, by(&[nsr().with(cells)]), lines);
    of("", "<= 0.15, fit | inconclusive | add `doubt: {fit: 20}` to it");
    // People: 0.082 to 0.202.
    let few = "; it is based on 20 fits, fewer than 40, so another seed may change its ends";
    let by_fit = "verdict=fail, lo=0.12, hi=0.25, rule=at_most, fit, needed_how=by_fit";
    let by_all = "verdict=inconclusive, lo=0.082, hi=0.25, rule=at_most, all, level=fail, \
                  needed_how=by_all";
    of(
        "fit_lo=0.12, fit_hi=0.25, fit_repeats=20",
        &format!(
            "<= 0.1, fit | {by_fit} | =the whole range over 20 fits breaks the limit{few}
             <= 0.1, all | {by_all} | =the limit lies inside the range over people and 20 fits{few}
             <= 0.22, all | inconclusive
             <= 0.25, all | pass
             <= 0.08, all | fail"
        ),
    );
    // Many fits need no caution; a doubt without ends decides nothing.
    of(
        "fit_lo=0.12, fit_hi=0.25, fit_repeats=40",
        "<= 0.25, all | pass | =the whole range over people and 40 fits keeps the limit",
    );
    of(
        "fit_hi=0.25, fit_repeats=40",
        "<= 0.25, all | inconclusive | none over 40 fits: fewer than 95 % of the repeats",
    );
    // Trainings decide alone, and are one of all doubts.
    let fits = "fit_lo=0.12, fit_hi=0.25";
    of(
        &format!("{fits}, fit_repeats=40, training_lo=0.05, training_hi=0.14, training_repeats=5"),
        "<= 0.14, training | pass | the whole range over 5 trainings keeps the limit; it is based
         <= 0.25, all | verdict=pass, lo=0.05, hi=0.25 | people, 40 fits and 5 trainings keeps",
    );
    // The value, 0.131, need not lie in the range: on the other side of the limit it decides
    // nothing.
    of(
        &format!("{fits}, fit_repeats=20, training_lo=0.05, training_hi=0.125, training_repeats=5"),
        "<= 0.13, training | inconclusive | keeps the limit, but the value itself breaks it
         <= 0.13, all | inconclusive | it is based on 20 fits and 5 trainings, fewer than 40",
    );
    // Graphs are a doubt of the set, too.
    of(
        "n_worlds=9, world_lo=0.1, world_hi=0.3",
        "<= 0.3, all | verdict=pass, lo=0.082, hi=0.3 | the whole range over people and graphs and",
    );
}

/// An interval over graphs in which nothing was refitted passes nothing, and breaks nothing.
#[test]
fn graphs_that_were_fitted_once_decide_nothing() {
    let table = [nsr().with("world_lo=0.12, world_hi=0.14")];
    check(
        &of_bootstraps(2),
        by(&table),
        "<= 0.15, worlds | verdict=pass, lo=0.12, hi=0.14
         <= 0.1, worlds | verdict=fail, lo=0.12, hi=0.14",
    );
    // One bootstrap, or none, has refitted nothing: there is no such interval.
    for n in [0, 1] {
        let none = "verdict=inconclusive, lo=, hi= | =no refit of the coefficients was measured: \
                    add `bootstraps` to the set; 100 is usual";
        let lines = format!("<= 0.15, worlds | {none}\n<= 0.1, worlds | {none}");
        check(&of_bootstraps(n), by(&table), &lines);
    }
}

/// A gate on the graphs themselves says that few bootstraps are few, too.
#[test]
fn a_gate_on_graphs_themselves_says_what_it_rests_on() {
    let graphs = "scope=total, from_group=, to_group=, value=0.2, lo=, hi=, denominator=";
    let of = |metric: &str, bootstraps: Option<u64>, more: &str| {
        let q = GateQuestion { bootstraps, ..asked(metric, GateSubject::Total) };
        let row = nsr().with(&format!("metric={metric}, {graphs}"));
        let says = format!("<= 0.5, estimate | pass | =the value keeps the limit{more}");
        check(&q, by(&[row]), &says);
    };
    let few = |n: &str| {
        format!("; it is based on {n}, fewer than 40, so another seed may change it greatly")
    };
    of("h_ga", Some(40), "");
    for metric in ["h_g", "h_ga", "n_graphs"] {
        of(metric, Some(39), &few("39 bootstraps"));
    }
    of("h_ga", Some(1), &few("1 bootstrap"));
    let none = "; it is based on the training rows without bootstraps, and does not show which \
                graphs other rows would give";
    of("h_ga", Some(0), none);
    // An estimate of a rate is not one of graphs.
    of("nsr", Some(3), "");
    of("nsr", None, "");
}

/// The line of a gate says that the graphs of its set may contradict domain knowledge, regardless
/// of the verdict.
#[test]
fn a_gate_says_that_the_attribute_follows_from_other_variables() {
    let told = "; in the graphs of the set the attribute is an effect of other variables, which \
                may contradict domain knowledge";
    let q = question(GateSubject::AnyDirection);
    for (rule, line) in [
        ("<= 0.3", "pass | =the whole interval keeps the limit"),
        ("<= 0.01", "fail | =the whole interval breaks the limit"),
        ("<= 0.1", "inconclusive | =the limit lies inside the interval"),
    ] {
        for (flags, told) in [("sampled,attribute_follows", told), ("sampled", "")] {
            let back = nsr().with("from_group=Male, to_group=Female");
            let table = [nsr().with(&format!("flags={flags}")), back];
            check_rows(&asked_by(&q, rule), by(&table), &format!("{line}{told}\n{line}"));
        }
    }
}
