//! The chart below the sentence of the page: who holds the favourable decision as people are, and
//! as members of another group.

use minijinja::context;
use minijinja::value::Value;

use crate::report::brief::digits::value_text;
use crate::report::brief::harm::{HarmResult, ranked, switches};
use crate::report::brief::hero::HeroFinding;
use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::voice::capital;
use crate::report::draw::panel::{SwitchCounts, SwitchLabels, share_bars};
use crate::report::draw::plot::{AxisUnit, KeyShape, PlotScale, SwitchSide, axis, share_row};
use crate::report::page::PageBlock;
use crate::report::page::number::{NumberFormat, count};
use crate::report::page::plots::{BriefBlock, PlotBody, PlotLine, PlotRow, PlotTable};
use crate::report::page::words::RichText;
use crate::report::read::panel::ResultKey;
use crate::report::read::words::people;

/// Groups in the hero chart of several.
const GROUPS_AT_MOST: usize = 12;

impl<'a> BriefInputs<'a> {
    /// The result whose model, set and attribute the chart and the cases show.
    pub(crate) fn drawn_result(&self, finding: &HeroFinding<'a>) -> Option<&'a HarmResult> {
        match finding {
            HeroFinding::Switch(result, ..) => Some(*result),
            HeroFinding::Total(limit) | HeroFinding::Limit(limit) => {
                let part = limit.parts.first();
                let of = |result: &&HarmResult| {
                    part.is_some_and(|part| {
                        result.key.model == part.key.model
                            && result.key.attribute == part.key.attribute
                            && (part.key.set.is_empty() || result.key.set == part.key.set)
                    })
                };
                ranked(self.results).into_iter().find(of)
            }
            HeroFinding::Gap(shares, ..) => ranked(self.results).into_iter().find(|result| {
                result.key.model == shares.model && result.key.attribute == shares.attribute
            }),
            _ => ranked(self.results).into_iter().next(),
        }
    }

    /// The chart below the sentence: of the model, set and attribute that it is about.
    pub(crate) fn hero_chart(
        &self,
        finding: &HeroFinding<'a>,
        href: &dyn Fn(&str) -> String,
    ) -> Vec<PageBlock> {
        let own = self.drawn_result(finding);
        let drawn = own.and_then(|own| self.switch_chart(&own.key, href));
        drawn.unwrap_or_else(|| self.share_chart(finding, href))
    }

    fn caption(&self, key: &ResultKey) -> RichText {
        let voice = self.voice;
        let other = if voice.is_of_the_entry(&key.set) {
            format!("with the other entry for {}", voice.attribute(&key.attribute))
        } else {
            "as members of the other group".to_owned()
        };
        let mut words = RichText::new()
            .strong(format!("Share {}: as people are, and {other}.", voice.holding()))
            .text(" ")
            .quote(format!(
                "{}, {}.",
                capital(&voice.model(&key.model)),
                voice.set_label(&key.set)
            ));
        if voice.set(&key.set).is_some_and(|set| set.strategy == "graph-uncertain") {
            words =
                words.text(" Decisions use the mean of each person\u{2019}s score over graphs.");
        }
        if self.audit.manifest.weight.is_some() {
            words = words.text(" People are counted once each, without weights.");
        }
        words
    }

    fn switch_chart(
        &self,
        key: &ResultKey,
        href: &dyn Fn(&str) -> String,
    ) -> Option<Vec<PageBlock>> {
        let voice = self.voice;
        let mut groups = self.audit.groups_of(&key.attribute);
        let direction = |from: &str, to: &str| {
            let key = ResultKey { from: from.to_owned(), to: to.to_owned(), ..key.clone() };
            switches(self.audit, &key).filter(|counts| counts.all() > 0)
        };
        let share = |n: i64, all: i64| n as f64 / all.max(1) as f64;
        if let [first, second] = groups.as_slice() {
            let both: Vec<(&String, &String, SwitchCounts)> = [(first, second), (second, first)]
                .into_iter()
                .filter_map(|(from, to)| Some((from, to, direction(from, to)?)))
                .collect();
            let top = both
                .iter()
                .flat_map(|(.., c)| [share(c.held(), c.all()), share(c.held_after(), c.all())])
                .fold(0.0, f64::max)
                / 0.8;
            let group = |(from, to, counts): &(&String, &String, SwitchCounts)| {
                let name = voice.group_heading(&key.attribute, from);
                let percent = |n| value_text(NumberFormat::Share, share(n, counts.all()), None);
                context! {
                    people => people(self.audit, counts.all()), before => percent(counts.held()),
                    after => percent(counts.held_after()), name => &name,
                    other => voice.as_group(&key.attribute, to),
                    drawing => share_bars(&name, *counts, top, &labels()),
                }
            };
            let groups: Value = both.iter().map(group).collect();
            let facts = context!(caption => self.caption(key), groups);
            return (!both.is_empty()).then(|| vec![PageBlock::Part("shares.html", facts)]);
        }
        // Where the finding is about two groups without the reference, all are shown as its other.
        if groups.first().is_some_and(|first| key.from != *first)
            && let Some(at) = groups.iter().position(|group| *group == key.to)
        {
            let to = groups.remove(at);
            groups.insert(0, to);
        }
        self.many_groups(key, &groups, &direction, href)
    }

    /// Several groups: a row each, from their share as they are to that as members of the
    /// reference.
    fn many_groups(
        &self,
        key: &ResultKey,
        groups: &[String],
        direction: &dyn Fn(&str, &str) -> Option<SwitchCounts>,
        href: &dyn Fn(&str) -> String,
    ) -> Option<Vec<PageBlock>> {
        let voice = self.voice;
        let (reference, others) = groups.split_first()?;
        let mut rows: Vec<(&String, SwitchCounts)> =
            others.iter().filter_map(|group| Some((group, direction(group, reference)?))).collect();
        if rows.is_empty() {
            return None;
        }
        let share = |n: i64, all: i64| n as f64 / all.max(1) as f64;
        // Where the finding is about members of the reference, its row shows them as that group.
        let other = Some(&key.to).filter(|to| key.from == *reference && others.contains(to));
        // The other group of the finding is next to the reference.
        rows.sort_by_key(|(group, _)| **group != key.from && **group != key.to);
        let own = other.into_iter().chain(others).find_map(|other| direction(reference, other));
        let line = own.map(|counts| share(counts.held(), counts.all()));
        let turned = own.filter(|_| other.is_some()).map(|c| share(c.held_after(), c.all()));
        let ends = rows
            .iter()
            .flat_map(|(_, c)| [share(c.held(), c.all()), share(c.held_after(), c.all())])
            .chain(line)
            .chain(turned);
        let scale = PlotScale::from_zero(ends, 1.0);
        let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        let percent = |x| value_text(NumberFormat::Share, x, None);
        let who_turns = |counts: SwitchCounts| {
            RichText::new()
                .side(SwitchSide::Gained)
                .text(format!("\u{a0}{}  ", count(counts.gain)))
                .side(SwitchSide::Lost)
                .text(format!("\u{a0}{}", count(counts.lose)))
        };
        if let (Some(counts), Some(line)) = (own, line) {
            let name = voice.group(&key.attribute, reference);
            let mut title = format!("{name}: {} as they are", percent(line));
            let mut label = RichText::new().quote(name);
            let is_reference = self.audit.groups_of(&key.attribute).first() == Some(reference);
            let mut tail = RichText::new();
            if is_reference {
                tail = tail.small("reference");
            }
            if let (Some(turned), Some(to)) = (turned, other) {
                let other = voice.as_group(&key.attribute, to);
                title += &format!(", {} {other}", percent(turned));
                label = label.text(" ").small(other);
                tail = who_turns(counts);
            }
            lines.push(PlotLine::Row(Box::new(PlotRow {
                people: format!("{} of {}", count(counts.held()), count(counts.all())).into(),
                drawing: share_row(scale, line, turned, Some(line), &title),
                value: if turned.is_some() { String::new() } else { percent(line) },
                tail,
                label,
                ..PlotRow::default()
            })));
        }
        for (group, counts) in rows.iter().take(GROUPS_AT_MOST) {
            let name = voice.group(&key.attribute, group);
            let [before, after] =
                [counts.held(), counts.held_after()].map(|n| share(n, counts.all()));
            let title = format!(
                "{name}: {} as they are, {} {}",
                percent(before),
                percent(after),
                voice.as_group(&key.attribute, reference)
            );
            lines.push(PlotLine::Row(Box::new(PlotRow {
                people: format!("{} of {}", count(counts.held()), count(counts.all())).into(),
                drawing: share_row(scale, before, Some(after), line, &title),
                value: String::new(),
                tail: who_turns(*counts),
                label: RichText::new().quote(name),
                href: href("switches"),
                ..PlotRow::default()
            })));
        }
        let more = rows.len().saturating_sub(GROUPS_AT_MOST);
        if more > 0 {
            lines.push(PlotLine::Fold(format!("{more} more groups are in the tables.").into()));
        }
        let caption = self
            .caption(key)
            .text(" ")
            .key(KeyShape::Ring, "as they are")
            .key(
                KeyShape::Triangle,
                format!("{}: who gains and who loses", voice.as_group(&key.attribute, reference)),
            )
            .key(
                KeyShape::Reference,
                format!("{} as they are", voice.group(&key.attribute, reference)),
            );
        let table = PlotTable {
            label: "Shares of the groups as they are and as the reference group".to_owned(),
            class: "share",
            bodies: vec![PlotBody { block: false, lines }],
        };
        Some(vec![PageBlock::Note(caption), BriefBlock::Plots(table).into()])
    }

    /// Without a counterfactual: the shares of the groups as they are.
    fn share_chart(
        &self,
        finding: &HeroFinding<'_>,
        href: &dyn Fn(&str) -> String,
    ) -> Vec<PageBlock> {
        let shares = match finding {
            HeroFinding::Gap(shares, ..) => Some(*shares),
            // The attribute and the model that the sentence is about.
            HeroFinding::Total(limit) | HeroFinding::Limit(limit) => {
                let own = limit.parts.first().and_then(|part| {
                    self.shares.iter().find(|shares| {
                        shares.attribute == part.key.attribute && shares.model == part.key.model
                    })
                });
                own.or_else(|| self.shares.first())
            }
            _ => self.shares.first(),
        };
        let Some(shares) = shares else { return Vec::new() };
        let scale = PlotScale::from_zero(shares.extent(), 1.0);
        let mut lines = vec![PlotLine::Axis(axis(scale, AxisUnit::Percent, None))];
        lines.extend(shares.lines(self.audit, self.voice, scale, href));
        let caption = RichText::new()
            .strong(format!("Share {}, as people are.", self.voice.holding()))
            .text(" ")
            .quote(capital(&self.voice.model(&shares.model)))
            .text(". ")
            .key(KeyShape::Interval, "share and its interval");
        let labelled = shares.groups.iter().any(|group| group.labelled.is_some());
        let caption = if labelled {
            caption.key(KeyShape::GreyRing, "share whose label is the favourable one")
        } else {
            caption
        };
        let table = PlotTable {
            label: "Shares of the groups".to_owned(),
            class: "share",
            bodies: vec![PlotBody { block: false, lines }],
        };
        vec![PageBlock::Note(caption), BriefBlock::Plots(table).into()]
    }
}

/// What the parts of the charts are called.
pub(crate) fn labels() -> SwitchLabels {
    SwitchLabels { keep: "keep it", lose: "lose it", gain: "gain it", without: "without" }
}
