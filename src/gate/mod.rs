//! Gates: one question each about one metric, with a limit; judged only from the table of metrics.
//!
//! With `decide_by: interval` (or `worlds`, where the interval is the one over causal graphs and
//! refits of their coefficients) and `at_most L`: *pass* where the whole interval is at or below L,
//! *fail* where all of it is above, else *inconclusive*; mirrored for `at_least`. With
//! `decide_by: estimate` only the value decides; with `fit` the range over fits, with
//! `training` that over trainings, with `all` every
//! doubt that the set has. Fewer cases than `min_cases` below a rate, an
//! undefined value or a missing interval are inconclusive, never a pass; so is a gap or a distance
//! that depends on a small group or on a small denominator, as the table of metrics flags it. With
//! `family_error: holm` the comparisons of a gate are judged together, see [`holm`]. Gates on
//! recourse and on patterns are counted in [`counted`]. `run`, `gate`, `diff` and the report share
//! this code.
//!
//! A gate on harm ([`GateSubject::HarmTo`]) has two parts for each other group, and the worst of
//! them decides. No gate passes that the people who were not measured could break: those without a
//! score, without a valid counterfactual or without a group, see [`unmeasured`]; nor on groups
//! without a value, or on changes that no scorer was shown, see [`unshown`]. No gate decides
//! because Katz's interval takes a rate of 1 as certain, see [`boundary`], or because of switches
//! between scores that differ only by rounding, see [`rounding`].
//!
//! A gate against a baseline judges the change of a value by the interval of the change, from the
//! table of changes. Without a baseline it is skipped, which is neither a pass nor a failure; where
//! the two runs define the value differently it is inconclusive.
//!
//! Everything that prevents a verdict is an [`objection`] with a code: it makes the gate
//! inconclusive, unless the job accepts it by name.
//!
//! A pass may have to withstand a hidden cause of a stated strength, see [`hidden_cause`].
//!
//! Each row also says how many people would decide it, see [`power`]. Power, Holm's method and the
//! rule for a rate of 1 use the same [`evidence`]: rates with the number of people who would be as
//! precise.

mod all_gates;
mod boundary;
mod counted;
pub(crate) mod decide_by;
pub(crate) mod evidence;
pub(crate) mod hidden_cause;
mod holm;
pub(crate) mod objection;
mod observe;
mod people;
pub(crate) mod power;
pub(crate) mod question;
pub(crate) mod reason;
mod remark;
mod rounding;
mod support;
pub(crate) mod unmeasured;
mod unshown;
mod verdict;

pub(crate) use self::all_gates::judge;
pub(crate) use self::observe::add_old_extremes;
pub(crate) use self::rounding::rounded_switches;

#[cfg(test)]
mod tests;
