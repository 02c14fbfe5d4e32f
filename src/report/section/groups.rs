//! Section "Groups as they are": how the model treats the groups without any counterfactual, the
//! gaps between them, the groups that are furthest apart, each group against all others, and
//! Clarify's metrics by comparison.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::metric::GapTransform;
use crate::metric::catalog::clarify::BiasChange;
use crate::metric::catalog::find;
use crate::metric::catalog::place::PageList;
use crate::report::brief::voice::AuditVoice;
use crate::report::page::cells::{ValuesByKey, cell, whiskers};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageCell, PageSection, PageTable, ReportRow};
use crate::report::read::audit::AuditFolder;
use crate::report::read::judged::JudgedValue;
use crate::report::read::panel::ResultKey;
use crate::report::read::words;
use crate::report::section::models::place_of;
use crate::report::section::{classes, present};
use crate::text::fact;

/// Groups in one table.
const GROUPS_AT_MOST: usize = 24;

/// Smallest groups that are listed.
const SMALLEST: usize = 5;

/// Attributes and models on one page.
const SUBJECTS_AT_MOST: usize = 24;

/// Comparisons beyond which the page shows the widest only.
const COMPARISONS_AT_MOST: usize = 6;

/// Attributes and models with group values, in the order of the manifest.
fn subjects(audit: &AuditFolder) -> Vec<(&str, &str)> {
    let m = &audit.manifest;
    let place = |k: &'_ ResultKey| {
        let attribute = AuditFolder::position(m.attributes.iter().map(|a| &a.name), &k.attribute);
        (attribute, AuditFolder::position(m.models.iter().map(|x| &x.name), &k.model))
    };
    let keys = audit.of_all_rows().map(|(key, _)| key);
    let of_groups = keys.filter(|k| k.set.is_empty() && !k.attribute.is_empty());
    let found: BTreeSet<(usize, &str, usize, &str)> = of_groups
        .map(|k| (place(k).0, k.attribute.as_str(), place(k).1, k.model.as_str()))
        .collect();
    found.into_iter().map(|(_, attribute, _, model)| (attribute, model)).collect()
}

/// The anchor of a group's share of positive predictions, or of its table, or of the section,
/// whichever the page shows.
pub(crate) fn anchor(audit: &AuditFolder, key: &ResultKey) -> String {
    let subject = subjects(audit)
        .iter()
        .take(SUBJECTS_AT_MOST)
        .position(|(a, m)| *a == key.attribute && *m == key.model);
    let group =
        audit.groups_of(&key.attribute).iter().take(GROUPS_AT_MOST).position(|g| *g == key.from);
    match (subject, group) {
        (Some(subject), Some(group)) => format!("g{subject}-{group}-pprev"),
        (Some(subject), None) => format!("g{subject}"),
        (None, _) => "groups".to_owned(),
    }
}

/// The section; none where no group was measured.
pub(crate) fn section(audit: &AuditFolder, glossary: &mut PageGlossary<'_>) -> Option<PageSection> {
    let subjects = subjects(audit);
    let turned =
        !audit.classes.are_there() && audit.manifest.favourable_is_positive() == Some(false);
    let more = subjects.len().saturating_sub(SUBJECTS_AT_MOST);
    let mut blocks = Vec::new();
    for (t, (attribute, model)) in subjects.iter().take(SUBJECTS_AT_MOST).enumerate() {
        let groups = audit.groups_of(attribute);
        let subject = GroupsSubject { audit, id: format!("g{t}"), attribute, model, groups };
        let turned = turned && t == 0;
        let groups = match subject.groups.as_slice() {
            [a, b] => Some(subject.two_groups([a, b], glossary)),
            _ => subject.many_groups(glossary),
        };
        let facts = context! {
            part => "groups", turned, id => &subject.id, attribute => *attribute, model => *model,
            groups, names => &subject.groups, shown => subject.groups.len().min(GROUPS_AT_MOST),
            smallest => subject.smallest(),
        };
        blocks.push(PageBlock("groups.html", facts));
        let at = |scope: &str, from: &str, to: &str| subject.at(scope, from, to);
        blocks.extend(classes::of_groups(audit, &subject.groups, &at, glossary));
        let facts = context! {
            part => "gaps", gaps => subject.gaps(glossary),
            reversed => subject.asked_in_reverse(glossary), worst => subject.worst(glossary),
            rests => subject.rests(glossary),
        };
        blocks.push(PageBlock("groups.html", facts));
        blocks.push(subject.clarify(glossary));
    }
    blocks.extend((more > 0).then(|| PageBlock("groups.html", context!(part => "", more))));
    let has_any = !blocks.is_empty();
    has_any.then(|| PageSection::new("groups", blocks))
}

/// An attribute under a model.
struct GroupsSubject<'a> {
    audit: &'a AuditFolder,
    /// Anchor of its tables.
    id: String,
    attribute: &'a str,
    model: &'a str,
    groups: Vec<String>,
}

impl<'a> GroupsSubject<'a> {
    fn at(&self, scope: &str, from: &str, to: &str) -> ResultKey {
        ResultKey::new([self.model, "", self.attribute], scope, [from, to])
    }

    fn keys(&self, scope: &str) -> Vec<ResultKey> {
        self.groups.iter().map(|group| self.at(scope, group, "")).collect()
    }

    fn people(&self, group: &str) -> Option<i64> {
        let mut rows = self.audit.groups.iter().filter(|row| row.slice.is_empty());
        let of = (self.model, self.attribute, group);
        rows.find(|r| (&*r.model, &*r.sensitive, &*r.group) == of).map(|r| r.n)
    }

    fn sized(&self, group: &str) -> RichText {
        let n = self.people(group).map_or_else(String::new, |n| format!(" ({})", number::count(n)));
        RichText::new().name(group).text(n)
    }

    fn value(&self, key: &ResultKey, metric: &str) -> PageCell {
        cell(self.audit.measure(key, metric), terms::kind(metric, &key.scope))
    }

    /// A row per key, a column per metric of a list.
    fn by_key(
        &self,
        first: &'static str,
        keys: &[(RichText, ResultKey)],
        list: PageList,
        head: &mut dyn FnMut(&str) -> RichText,
    ) -> Option<PageTable> {
        ValuesByKey::of(self.audit, first, keys, list.ids()).table(head)
    }

    /// A row per metric with its value at one key, and the group that is worse off.
    fn by_metric(
        &self,
        key: &ResultKey,
        metrics: &[&'static str],
        head: &mut dyn FnMut(&str) -> RichText,
    ) -> PageTable {
        let row = |metric: &&str| {
            let impaired =
                self.audit.measure(key, metric).map_or("", |m| m.impaired_group.as_str());
            ReportRow::new(head(metric), [self.value(key, metric), PageCell::name(impaired)])
        };
        PageTable::new(["metric", "value", "group_at_a_disadvantage"], metrics.iter().map(row))
    }

    fn two_groups(&self, groups: [&String; 2], glossary: &mut PageGlossary<'_>) -> PageTable {
        let audit = self.audit;
        let voice = AuditVoice::of_audit(audit);
        let keys = groups.map(|g| self.at("group", g, ""));
        let (total, pair) = (self.at("total", "", ""), self.at("pair", groups[0], groups[1]));
        let [a, b] = groups.map(|group| RichText::new().name(group));
        let head = [
            "metric".into(),
            self.sized(groups[0]),
            self.sized(groups[1]),
            RichText::new().text("0 to 100\u{202f}%"),
            "all".into(),
            RichText::from("difference_of").and(a.clone()).word("minus").and(b.clone()),
            RichText::from("ratio_of").and(a).word("to").and(b),
        ];
        let row = |metric: &&str| {
            let id = |g: usize| format!("{}-{g}-{metric}", self.id);
            let at = |(g, key)| self.value(key, metric).at(id(g));
            let measures = keys.each_ref().map(|k| audit.measure(k, metric));
            let is_share = terms::kind(metric, "group") == NumberFormat::Share;
            let drawn = is_share.then(|| whiskers(&measures, 1.0, |_| None));
            let drawn = drawn.unwrap_or_else(|| RichText::new().into());
            let gaps = [GapTransform::Difference, GapTransform::Ratio]
                .map(|transform| self.value(&pair, &transform.id(metric)));
            let cells = keys.iter().enumerate().map(at).chain([drawn, self.value(&total, metric)]);
            let head = glossary.title(metric);
            let done = voice.by_label(metric);
            let done = done.map(|of| voice.say(("voice.html", "done"), &[fact(&of)]));
            let head = done.into_iter().fold(head, |head, of| head.text(" ").small(of));
            ReportRow::new(head, cells.chain(gaps))
        };
        PageTable::new(head, present(audit, PageList::GroupRows, &keys).iter().map(row))
    }

    fn many_groups(&self, glossary: &mut PageGlossary<'_>) -> Option<PageTable> {
        let groups = self.groups.iter().take(GROUPS_AT_MOST);
        let mut keys: Vec<(RichText, ResultKey)> =
            groups.map(|g| (self.sized(g), self.at("group", g, ""))).collect();
        let anchors = (self.id.as_str(), keys.len());
        keys.push(("all_groups".into(), self.at("total", "", "")));
        let metrics = PageList::GroupColumns.ids();
        let values = ValuesByKey::of(self.audit, "group_with_people", &keys, metrics);
        ValuesByKey { anchors, ..values }.table(&mut |m| glossary.head(m))
    }

    /// The smallest groups with their people: values of few people are uncertain, and groups of a
    /// crossed attribute may be small.
    fn smallest(&self) -> Option<Value> {
        let attributes = &self.audit.manifest.attributes;
        let derived = attributes.iter().any(|a| a.name == self.attribute && a.made_of.is_some());
        let keys = self.keys("group");
        let mut values = keys.iter().filter_map(|key| self.audit.at(key));
        let few = values.any(|metrics| metrics.values().any(|m| m.is_small()));
        let sized = |group: &'_ String| Some((self.people(group)?, group.clone()));
        let mut sizes: Vec<(i64, String)> = self.groups.iter().filter_map(sized).collect();
        if sizes.len() < 3 || !(derived || few) {
            return None;
        }
        // The sort is stable, so ties keep the order of the groups.
        sizes.sort_by_key(|(n, _)| *n);
        let more = sizes.len().saturating_sub(SMALLEST);
        let named = |(n, group)| context!(group, people => words::people(self.audit, n));
        let groups: Value = sizes.into_iter().take(SMALLEST).map(named).collect();
        Some(context!(groups, more))
    }

    /// Named gaps per pair, the pairs with the widest gap of positive predictions first.
    fn gaps(&self, glossary: &mut PageGlossary<'_>) -> Option<Value> {
        let audit = self.audit;
        let pairs = self.groups.iter().flat_map(|a| self.groups.iter().map(move |b| (a, b)));
        let keys = pairs.map(|(a, b)| self.at("pair", a, b));
        let keys = keys.filter(|key| audit.at(key).is_some());
        let mut pairs: Vec<_> = keys.map(|key| (place_of(&key), key)).collect();
        let gap = |key: &ResultKey| {
            audit.measure(key, "demp_difference").and_then(|m| m.value).map_or(-1.0, f64::abs)
        };
        pairs.sort_by(|x, y| gap(&y.1).total_cmp(&gap(&x.1)));
        let all = pairs.len();
        if self.groups.len() > 6 {
            pairs.truncate(audit.rows_shown());
        }
        let list = PageList::PairGaps;
        let table = match pairs.as_slice() {
            [(_, key)] => {
                let metrics = present(audit, list, std::slice::from_ref(key));
                let mut head = |m: &str| glossary.title(m).and(turned_by_name(m, key));
                self.by_metric(key, &metrics, &mut head).filled()
            }
            _ => self.by_key("pair", &pairs, list, &mut |m| {
                let sides = ["first_over_second", "second_over_first"];
                terms::above_and_below(glossary.head(m), m, sides)
            }),
        };
        Some(context!(shown => pairs.len(), all, ..Value::from(table?)))
    }

    /// The note that a gate asks for a gap in the other order, where its sign is the opposite.
    fn asked_in_reverse(&self, glossary: &mut PageGlossary<'_>) -> Value {
        let mut told: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
        for gate in self.audit.gates.iter().filter(|gate| gate.value.is_some()) {
            let Some(value) = JudgedValue::of_gate(gate) else { continue };
            let (metric, from, to) =
                (gate.metric.as_str(), gate.from_group.as_str(), gate.to_group.as_str());
            let same = value == JudgedValue::of(self.at("pair", from, to), metric);
            // Here only one order of a pair is shown.
            let shown = PageList::PairGaps.shows(metric)
                && self.audit.measure(&self.at("pair", to, from), metric).is_some();
            let kind = terms::kind(metric, "pair");
            if same && shown && matches!(kind, NumberFormat::Points | NumberFormat::Signed) {
                told.insert((metric, from, to));
            }
        }
        let mut note = |(metric, from, to)| context!(metric => glossary.title(metric), from, to);
        told.into_iter().map(&mut note).collect()
    }

    /// The groups that are furthest apart, where there are more than two.
    fn worst(&self, glossary: &mut PageGlossary<'_>) -> Option<PageTable> {
        let (key, voice) = (self.at("worst_case", "", ""), AuditVoice::of_audit(self.audit));
        let mut metrics = present(self.audit, PageList::WidestGaps, std::slice::from_ref(&key));
        metrics.retain(|_| self.groups.len() > 2);
        let row = |metric: &&str| {
            let measure = self.audit.measure(&key, metric);
            let mut value = self.value(&key, metric);
            let without = measure.and_then(|m| m.groups_undefined).filter(|n| *n > 0);
            let without = without.map(|n| number::count_of(n, "group", "groups"));
            value.small.extend(without.map(|n| RichText::from(n).word("without_a_value")));
            let ends =
                measure.map_or(["", ""], |m| [m.highest_group.as_str(), m.lowest_group.as_str()]);
            let distance = distance_to_all(metric).and_then(|metric| {
                let highest = &self.audit.measure(&key, &metric)?.highest_group;
                let mut cell = self.value(&key, &metric);
                cell.small
                    .extend((!highest.is_empty()).then(|| RichText::new().name(highest.as_str())));
                Some(cell)
            });
            let [highest, lowest] = ends.map(PageCell::name);
            let cells = [value, highest, lowest, distance.unwrap_or_else(PageCell::none)];
            // Highest and lowest of what: it may be the decision that nobody wants.
            let of = voice.rate_behind(metric);
            let of = of.map(|of| voice.say(("voice.html", "measured"), &[fact(&of)]));
            let head = glossary.title(metric);
            ReportRow::new(of.into_iter().fold(head, |head, of| head.text(" ").small(of)), cells)
        };
        let head = ["metric", "value", "highest", "lowest", "furthest_from_all"];
        PageTable::new(head, metrics.iter().map(row)).filled()
    }

    /// Each group against all others together.
    fn rests(&self, glossary: &mut PageGlossary<'_>) -> Option<Value> {
        let named = |key: ResultKey| (RichText::new().name(&key.from), key);
        let mut keys: Vec<(RichText, ResultKey)> =
            self.keys("one_vs_rest").into_iter().map(named).collect();
        keys.retain(|(_, key)| self.audit.at(key).is_some());
        let all = keys.len();
        keys.truncate(self.audit.rows_shown().max(COMPARISONS_AT_MOST));
        let table = self.by_key("group", &keys, PageList::PairGaps, &mut |m| {
            let sides = ["group_over_others", "others_over_group"];
            terms::above_and_below(glossary.head(m), m, sides)
        });
        Some(context!(shown => keys.len(), all, ..Value::from(table?)))
    }

    /// The comparisons that Clarify's metrics are measured for, those with the widest gap of
    /// favourable predictions first.
    fn comparisons(&self) -> Vec<(RichText, ResultKey)> {
        let (audit, groups) = (self.audit, &self.groups);
        let pairs = groups.iter().flat_map(|a| groups.iter().map(move |d| self.at("pair", a, d)));
        let rests = groups.iter().map(|d| self.at("one_vs_rest", "", d));
        let gap = |key: &ResultKey| {
            let names = audit.classes.names.iter();
            let of_classes = names.filter_map(|class| audit.measure(&key.of_class(class), "dppl"));
            let all = audit.measure(key, "dppl").into_iter().chain(of_classes);
            all.map(|m| m.value.map_or(-1.0, f64::abs)).reduce(f64::max)
        };
        let all = pairs.chain(rests);
        let mut found: Vec<(f64, ResultKey)> =
            all.filter_map(|key| Some((gap(&key)?, key))).collect();
        found.sort_by(|x, y| y.0.total_cmp(&x.0));
        found.into_iter().map(|(_, key)| (place_of(&key), key)).collect()
    }

    /// Clarify's metrics.
    fn clarify(&self, glossary: &mut PageGlossary<'_>) -> PageBlock {
        let audit = self.audit;
        let mut found = self.comparisons();
        let all = found.len();
        if all > COMPARISONS_AT_MOST {
            found.truncate(audit.rows_shown());
        }
        let weighted = audit.manifest.weight.is_some();
        let total = self.at("total", "", "");
        if audit.classes.are_there() {
            let lists = [PageList::ClarifyOutcomes, PageList::ClarifyDeserts];
            let tables = found.into_iter().filter_map(|(sides, key)| {
                classes::of_facets(audit, (&key, &total), sides, lists, glossary)
            });
            let tables: Value = tables.collect();
            return PageBlock("groups.html", context!(part => "clarify_classes", tables, weighted));
        }
        let of_all = present(audit, PageList::ClarifyTotals, std::slice::from_ref(&total));
        let lists = [PageList::ClarifyOutcomes, PageList::ClarifyDeserts, PageList::ClarifyNotes];
        let (mut tables, mut of_everybody) = (Vec::new(), Vec::new());
        if let [(sides, key)] = found.as_slice() {
            let mut metrics =
                lists.map(|list| present(audit, list, std::slice::from_ref(key))).concat();
            let says =
                |m: &str| audit.measure(key, m).and_then(|m| m.value).is_some_and(|v| v != 0.0);
            metrics.retain(|m| !PageList::ClarifyNotes.shows(m) || says(m));
            let mut table = self.by_metric(key, &metrics, &mut |m| glossary.title(m));
            table.rows.extend(of_all.iter().map(|metric| {
                let head = glossary.title(metric).word("of_everybody");
                ReportRow::new(head, [self.value(&total, metric), PageCell::none()])
            }));
            tables.push(context!(id => "clarify", sides, table));
        } else if !found.is_empty() {
            for (list, id) in lists.into_iter().zip(["outcomes", "deserts", "notes"]) {
                let first = "favoured_facet_and_other";
                let table = self.by_key(first, &found, list, &mut |m| glossary.head(m));
                tables.extend(table.map(|table| context!(id, table, shown => found.len(), all)));
            }
            of_everybody.extend(of_all.iter().map(|metric| {
                let PageCell { main, small, .. } = self.value(&total, metric);
                context!(metric => glossary.title(metric), main, small)
            }));
        }
        let changes = found.iter().filter_map(|(sides, key)| {
            let [dpl, change] = ["dpl", "bias_change"].map(|metric| audit.measure(key, metric));
            let (dpl, change) = (dpl?, change?);
            let change = match BiasChange::new(dpl.value?, dpl.ends(), change.ends())? {
                BiasChange::Amplified => "amplified",
                BiasChange::Reduced => "reduced",
                BiasChange::NotDistinguishable => "not_distinguishable",
            };
            Some(context!(sides, change))
        });
        let changes: Value = changes.collect();
        let facts = context!(part => "clarify", tables, of_everybody, changes, weighted);
        PageBlock("groups.html", facts)
    }
}

/// Which of the two groups is above in a ratio, with their names.
fn turned_by_name(metric: &str, key: &ResultKey) -> RichText {
    let sides = terms::ratio_sides(metric, [&key.from, &key.to]);
    sides.map_or_else(RichText::new, |[above, below]| {
        RichText::new().text(", ").name(above).word("over").name(below)
    })
}

/// The distance to all that is in the row of a gap: that of the metric whose difference it is.
fn distance_to_all(gap: &str) -> Option<String> {
    let (base, transform) = find(gap)?.gap_of?;
    (transform == GapTransform::Difference).then(|| GapTransform::ToTotal.id(base))
}
