//! The chart below the main sentence of the page as facts, which `shares.html` draws: who holds the
//! favourable decision as people are, and as members of another group.

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::report::brief::harm::{HarmResult, ranked, switch_cells, switches};
use crate::report::brief::hero::{HeroFinding, HeroSubject};
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::voice::CalledGroup;
use crate::report::draw::panel::SwitchCounts;
use crate::report::draw::plot::PlotScale;
use crate::report::read::panel::ResultKey;
use crate::text::fact;

/// Groups in the hero chart of several.
const GROUPS_AT_MOST: usize = 12;

/// A group as it is and as members of another one.
#[derive(Serialize)]
struct TurnedGroup {
    group: CalledGroup,
    other: CalledGroup,
    counts: SwitchCounts,
    all: i64,
    held: i64,
    /// The shares that hold the favourable decision both times, as they are, and as members of the
    /// other group; weighted where people have weights.
    kept: f64,
    before: f64,
    after: f64,
}

impl TurnedGroup {
    fn ends(&self) -> [f64; 2] {
        [self.before, self.after]
    }
}

impl<'a> BriefInputs<'a> {
    /// The result whose model, set and attribute the chart and the cases show.
    pub(crate) fn drawn_result(&self, finding: &HeroFinding<'a>) -> Option<&'a HarmResult> {
        match finding.subject {
            HeroSubject::Switch(result) => Some(result),
            HeroSubject::Total | HeroSubject::Limit => {
                let key = &finding.limit?.parts.first()?.judged.key;
                ranked(self.results).into_iter().find(|result| {
                    (&result.key.model, &result.key.attribute) == (&key.model, &key.attribute)
                        && (key.set.is_empty() || result.key.set == key.set)
                })
            }
            HeroSubject::Gap(shares, _) => ranked(self.results).into_iter().find(|result| {
                result.key.model == shares.model.name
                    && result.key.attribute == shares.attribute.name
            }),
            _ => ranked(self.results).into_iter().next(),
        }
    }

    /// The chart below the sentence: of the model, set and attribute that it is about; none where
    /// no group was measured.
    pub(crate) fn hero_chart(&self, finding: &HeroFinding<'a>) -> Value {
        let own = self.drawn_result(finding);
        // Counts of several counterfactuals of a person are not people as they are.
        let drawn = own.filter(|own| !own.set.several).and_then(|own| self.switch_chart(own));
        drawn.or_else(|| self.share_chart(finding)).into()
    }

    fn turned(&self, key: &ResultKey, from: &str, to: &str) -> Option<TurnedGroup> {
        let of = ResultKey { from: from.to_owned(), to: to.to_owned(), ..key.clone() };
        let counts = switches(self.audit, &of)?;
        let [keep, lose, gain, without] = switch_cells(self.audit, &of)?.map(|cell| cell.weight);
        let all = keep + lose + (gain + without);
        let share = |weight: f64| (all > 0.0).then(|| weight / all);
        Some(TurnedGroup {
            group: self.voice.called_group(&key.attribute, from),
            other: self.voice.called_group(&key.attribute, to),
            counts,
            all: counts.all(),
            held: counts.held(),
            kept: share(keep)?,
            before: share(keep + lose)?,
            after: share(keep + gain)?,
        })
    }

    /// Of two groups two `bars` each; of several `rows`, from their share as they are to that as
    /// members of the reference.
    fn switch_chart(&self, result: &HarmResult) -> Option<Value> {
        let key = &result.key;
        let mut names = self.audit.groups_of(&key.attribute);
        if let [first, second] = names.as_slice() {
            let both = [(first, second), (second, first)];
            let groups: Vec<TurnedGroup> =
                both.into_iter().filter_map(|(from, to)| self.turned(key, from, to)).collect();
            let top = groups.iter().flat_map(TurnedGroup::ends).fold(0.0, f64::max) / 0.8;
            let [result, of] = [fact(result), fact(&groups)];
            return (!groups.is_empty())
                .then(|| context!(kind => "bars", result, groups => of, top));
        }
        let is_reference = names.first().is_none_or(|first| key.from == *first);
        // If the finding is about two groups without the reference, all are shown as members of its
        // other group.
        let turned_to = names.iter().position(|name| *name == key.to && !is_reference);
        if let Some(at) = turned_to {
            let to = names.remove(at);
            names.insert(0, to);
        }
        let (reference, others) = names.split_first()?;
        let mut groups: Vec<TurnedGroup> =
            others.iter().filter_map(|name| self.turned(key, name, reference)).collect();
        if groups.is_empty() {
            return None;
        }
        // The other group of the finding is next to the reference.
        groups.sort_by_key(|of| of.group.name != key.from && of.group.name != key.to);
        // Where the finding is about members of the reference, its row shows them as that group.
        let other = Some(&key.to).filter(|to| key.from == *reference && others.contains(to));
        let own =
            other.into_iter().chain(others).find_map(|other| self.turned(key, reference, other));
        let ends =
            own.iter().flat_map(|own| std::iter::once(own.before).chain(other.map(|_| own.after)));
        let scale =
            PlotScale::from_zero(groups.iter().flat_map(TurnedGroup::ends).chain(ends), 1.0);
        let more = groups.len().saturating_sub(GROUPS_AT_MOST);
        groups.truncate(GROUPS_AT_MOST);
        let called = |name: &String| self.voice.called_group(&key.attribute, name);
        Some(context! {
            kind => "rows", result => fact(result), reference => fact(&called(reference)),
            is_reference => self.audit.groups_of(&key.attribute).first() == Some(reference),
            own => fact(&own), other => fact(&other.map(called)), groups => fact(&groups), more,
            scale => fact(&scale),
        })
    }

    /// The chart without a counterfactual: the shares of the groups as they are.
    fn share_chart(&self, finding: &HeroFinding<'a>) -> Option<Value> {
        let own = match finding.subject {
            HeroSubject::Gap(shares, _) => Some(shares),
            // The attribute and the model that the sentence is about.
            HeroSubject::Switch(_) | HeroSubject::Total | HeroSubject::Limit => {
                let of_limit = finding.limit.and_then(|of| Some(&of.parts.first()?.judged.key));
                let of_result = self.drawn_result(finding).map(|result| &result.key);
                of_result.or(of_limit).and_then(|key| {
                    self.shares.iter().find(|shares| {
                        (&shares.attribute.name, &shares.model.name) == (&key.attribute, &key.model)
                    })
                })
            }
            _ => None,
        };
        let shares = own.or_else(|| self.shares.first())?;
        Some(context! {
            kind => "shares", model => fact(&shares.model),
            groups => fact(&shares.rows(self.audit, self.voice)),
            labelled => shares.groups.iter().any(|group| group.labelled.is_some()),
            scale => fact(&PlotScale::from_zero(shares.extent(), 1.0)),
        })
    }
}
