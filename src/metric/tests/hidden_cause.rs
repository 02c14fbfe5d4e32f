//! Rates and turning points under a hidden cause, against a numpy program
//! (`tests/expected/hidden`).

use super::*;
use crate::metric::value::hidden_cause::{
    GroupMargins, HIDDEN_RATES, HiddenPush, HiddenStrength, MovingWorld, SwitchingSide,
    middle_of_crossings, turning_point,
};
use crate::tests::floats;

/// Whether the middle 95 % of worlds keep the limit, break it, or neither.
fn verdict(
    people: &GroupMargins,
    (of, worlds, limit): (SwitchingSide, &[MovingWorld], f64),
    under: (HiddenStrength, HiddenPush),
) -> Option<bool> {
    let found = people.over_worlds(of, worlds, under, 0.95).unwrap();
    let (lo, hi) = found.spread.map_or((found.mean, found.mean), |of| (of.lo, of.hi));
    (lo > limit || hi <= limit).then_some(hi <= limit)
}

#[test]
fn every_rate_and_turning_point_of_the_cases() {
    let (mut turned, mut reversed) = (0, 0);
    for file in std::fs::read_dir(expected("hidden")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|of| of != "json") {
            continue;
        }
        let case = json(path);
        let name = case["name"].as_str().unwrap();
        let of = case["rate"].as_str().unwrap();
        let of = SwitchingSide::of_metric(of, FavourableClass::Positive).unwrap();
        let (limit, strengths) = (case["limit"].as_f64().unwrap(), floats(&case["strengths"]));
        let margins = floats(&case["margins"]);
        let people = margins.iter().enumerate().map(|(i, &m)| (m > 0.0, m, i as u64));
        let people = GroupMargins::new(false, false, people);
        let wanted = &case["expected"];
        let [moved, regression] = ["h", "h_regression"].map(|key| floats(&wanted[key]));
        for (target, wanted) in wanted["targets"].as_object().unwrap() {
            let units = floats(&wanted["unit"]);
            let used = case["used"].as_array().unwrap().iter().enumerate();
            let worlds: Vec<MovingWorld> = used
                .map(|(u, w)| MovingWorld {
                    copies: case["worlds"][usize::try_from(w.as_u64().unwrap()).unwrap()]["copies"]
                        .as_u64()
                        .unwrap(),
                    movement: moved[u],
                    regression: regression[u],
                    unit: units[u],
                })
                .collect();
            for push in HiddenPush::ALL {
                let word = push.word();
                let at = |s: f64| match s {
                    0.0 => HiddenStrength::None,
                    s => HiddenStrength::Share(s),
                };
                for (i, &s) in strengths.iter().enumerate() {
                    let what = format!("{name} {target} {word} {s}");
                    let found = people.over_worlds(of, &worlds, (at(s), push), 0.95).unwrap();
                    let ends = found.spread.map_or((found.mean, found.mean), |of| (of.lo, of.hi));
                    for (key, found) in
                        [("rate", found.mean), ("world_lo", ends.0), ("world_hi", ends.1)]
                    {
                        let wanted = wanted[key][word][i].as_f64().unwrap();
                        assert!((found - wanted).abs() < 1e-15, "{key} of {what}: {found}");
                    }
                    // Each graph is one more row of a person.
                    let share = people.share(of, &worlds, (at(s), push)).unwrap();
                    assert!((share.value - found.mean).abs() < 1e-15, "{what}");
                    assert_eq!(share.n_units, people.people(of), "{what}");
                }
                let asked = (of, worlds.as_slice(), limit);
                let base = verdict(&people, asked, (HiddenStrength::None, push));
                let word_of = match base {
                    Some(true) => "pass",
                    Some(false) => "fail",
                    None => "inconclusive",
                };
                assert_eq!(word_of, wanted["verdict"].as_str().unwrap(), "{name} {target}");
                let found = turning_point(base, |s| verdict(&people, asked, (s, push)), 1e-12);
                let (ends, wanted) = (wanted, wanted["turns_at"][word].as_f64());
                let near = match (found, wanted) {
                    (Some(found), Some(wanted)) => (found - wanted).abs() <= 1e-9 * wanted,
                    (found, wanted) => found == wanted,
                };
                assert!(near, "{name} {target} {word}: {found:?}, not {wanted:?}");
                turned += usize::from(found.is_some());
                let Some(kept) = base else { continue };
                let is_opposite = |s| verdict(&people, asked, (s, push)) == Some(!kept);
                let opposite = turning_point(false, is_opposite, 1e-12);
                assert!(opposite.is_none_or(|at| found.is_some_and(|turns| turns <= at)));
                // The ends of the program at each strength tell on which side of it they are.
                for (i, &s) in strengths.iter().enumerate().filter(|(_, s)| **s > 0.0) {
                    let end = if kept { "world_lo" } else { "world_hi" };
                    let keeps = ends[end][word][i].as_f64().unwrap() <= limit;
                    let what = format!("{name} {target} {word} {s}: {opposite:?}");
                    assert_eq!(keeps != kept, opposite.is_some_and(|at| at <= s), "{what}");
                    reversed += usize::from(keeps != kept);
                }
            }
        }
    }
    assert!(turned > 20 && reversed > 20, "{turned} {reversed}");
}

/// Two worlds by hand: of four positive people the lowest two switch in the first, of two graphs,
/// and none in the second.
#[test]
fn a_person_has_a_row_for_every_graph() {
    let world =
        |copies, movement| MovingWorld { copies, movement, regression: movement, unit: 1.0 };
    let worlds = [world(2, -0.5), world(1, 0.0)];
    let people = [(true, 0.1, 7), (true, 0.5, 8), (true, 0.6, 7), (true, 2.0, 9)];
    let under = (HiddenStrength::None, HiddenPush::Highest);
    let apart = GroupMargins::new(false, false, people.into_iter());
    let share = apart.share(SwitchingSide::Positive, &worlds, under).unwrap();
    assert_eq!((share.value, share.n_units, share.n_rows), (4.0 / 12.0, 4, 12));
    let persons = GroupMargins::new(false, true, people.into_iter());
    let share = persons.share(SwitchingSide::Positive, &worlds, under).unwrap();
    assert_eq!((share.value, share.n_units, share.n_rows), (4.0 / 12.0, 3, 12));
    // At the threshold itself the rule decides.
    let at = GroupMargins::new(true, false, people.into_iter());
    assert_eq!(at.rate(SwitchingSide::Positive, &worlds[0], under), Some(0.25));
    assert_eq!(at.rate(SwitchingSide::Negative, &worlds[0], under), None);
}

/// Of all switches the highest rate is at an end of the range, the lowest at the point nearest to
/// nothing.
#[test]
fn the_rate_of_all_switches_is_no_monotone_function_of_the_movement() {
    let people = [(true, 0.2, 0), (true, 0.9, 1), (false, -0.1, 2), (false, -0.3, 3)];
    let people = GroupMargins::new(false, false, people.into_iter());
    let world = MovingWorld { copies: 1, movement: -0.25, regression: -0.25, unit: 1.0 };
    let rate = |s: f64, push| {
        people.rate(SwitchingSide::Both, &world, (HiddenStrength::Share(s), push)).unwrap()
    };
    assert_eq!([rate(0.0, HiddenPush::Highest), rate(0.0, HiddenPush::Lowest)], [0.25, 0.25]);
    // g = 0.5 reaches from -0.75 to 0.25, over no movement at all.
    let s = 0.390_388_203_202_207_6;
    assert_eq!([rate(s, HiddenPush::Highest), rate(s, HiddenPush::Lowest)], [0.25, 0.0]);
    // g = 0.9: up to 0.65 two negative people switch.
    let s = 0.582_3;
    assert_eq!([rate(s, HiddenPush::Highest), rate(s, HiddenPush::Lowest)], [0.5, 0.0]);
}

/// Denied is who has the decision that nobody wants, favoured who has the other.
#[test]
fn rates_count_the_people_of_their_metrics() {
    let side = |metric, favourable| SwitchingSide::of_metric(metric, favourable);
    let (positive, negative) = (FavourableClass::Positive, FavourableClass::Negative);
    assert_eq!(side("psr", negative), Some(SwitchingSide::Negative));
    assert_eq!(side("nsr", negative), Some(SwitchingSide::Positive));
    assert_eq!(side("denied_by_group", positive), side("psr", positive));
    assert_eq!(side("favoured_by_group", positive), side("nsr", positive));
    assert_eq!(side("denied_by_group", negative), side("nsr", negative));
    assert_eq!(side("favoured_by_group", negative), side("psr", negative));
    assert!(HIDDEN_RATES.iter().all(|metric| side(metric, positive).is_some()));
    assert_eq!(side("fpsr", positive), None);
}

#[test]
fn worlds_that_never_cross_leave_no_middle() {
    assert_eq!(middle_of_crossings(&[(0.1, 40), (f64::INFINITY, 2)]), None);
    let found = middle_of_crossings(&[(0.1, 40), (0.2, 40), (f64::INFINITY, 1)]);
    assert_eq!(found, Some((0.1, 0.2)));
    assert_eq!(middle_of_crossings(&[(0.3, 1)]), Some((0.3, 0.3)));
}
