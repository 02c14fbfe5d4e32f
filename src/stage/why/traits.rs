//! The traits of people, and the table of the patterns that were found in them.

use std::collections::BTreeSet;

use crate::data::prepare::derive::DerivationRule;
use crate::data::values::float_text;
use crate::data::{FeatureColumn, FeatureKind, FeatureRows, MISSING_GROUP};
use crate::num::short_number::short_text;
use crate::param::{ColumnName, Name};
use crate::stage::row_features::{codes_among, distinct_numbers, only_one};
use crate::stage::why::people::WhyGathering;
use crate::table::why::SwitchPatternRow;
use crate::table::{finite, whole};
use crate::why::levels::PatternColumn;
use crate::why::patterns::PatternFindings;

impl WhyGathering<'_> {
    /// The columns that traits are taken from: features, then attributes that are no feature and no
    /// cross.
    pub(super) fn pattern_columns(
        &self,
        rows: &FeatureRows,
        groups: &[Vec<u16>],
    ) -> Vec<PatternColumn> {
        let WhyGathering { row_context, job, block, .. } = *self;
        let layout = row_context.rows.layout();
        let takes = |name: &str| block.columns.takes(name);
        let listed: BTreeSet<&str> = job.data.listed_features().map(ColumnName::as_str).collect();
        let onehot: BTreeSet<&str> =
            job.data.features.onehot.values().flatten().map(ColumnName::as_str).collect();
        let derived = |feature: usize| layout.derivation(feature).map(|derived| &derived.rule);
        let bins_of = |feature: usize| match derived(feature) {
            Some(DerivationRule::Bins(bins)) => bins.as_slice(),
            _ => &[],
        };
        let mut columns = Vec::new();
        for (f, feature) in layout.features.iter().enumerate() {
            let name = feature.name.as_str();
            if !listed.contains(name) || onehot.contains(name) || !takes(name) {
                continue;
            }
            columns.push(match &rows.columns[f] {
                FeatureColumn::Code(codes) => {
                    PatternColumn::of_words(name, &feature.levels, codes).in_bins(bins_of(f))
                }
                FeatureColumn::Number(numbers) => match job.data.bins.get(name) {
                    Some(bins) => PatternColumn::of_bins(name, numbers, &bins.bins()),
                    None if feature.kind == FeatureKind::OrdinalNumber => {
                        of_distinct_numbers(name, numbers)
                    }
                    None => PatternColumn::of_quartiles(name, numbers),
                },
            });
        }
        for (name, members) in &job.data.features.onehot {
            let at: Option<Vec<usize>> =
                members.iter().map(|member| layout.feature(member.as_str())).collect();
            if let Some(at) = at.filter(|_| takes(name.as_str())) {
                let levels: Vec<String> = members.iter().map(ToString::to_string).collect();
                let code = |i: usize| only_one(rows, &at, i).unwrap_or(u32::MAX);
                let codes: Vec<u32> = (0..rows.n).map(code).collect();
                columns.push(PatternColumn::of_words(name.as_str(), &levels, &codes));
            }
        }
        for (attribute, groups) in layout.attributes.iter().zip(groups) {
            let name = attribute.name.as_str();
            let is_feature = columns.iter().any(|column: &PatternColumn| column.name == name);
            if matches!(derived(attribute.feature), Some(DerivationRule::Cross(_)))
                || is_feature
                || !takes(name)
            {
                continue;
            }
            let code =
                |&group: &u16| if group == MISSING_GROUP { u32::MAX } else { u32::from(group) };
            let codes: Vec<u32> = groups.iter().map(code).collect();
            let column = PatternColumn::of_words(name, &attribute.groups, &codes);
            columns.push(column.in_bins(bins_of(attribute.feature)));
        }
        columns
    }

    /// The rows of the table of patterns.
    pub(super) fn pattern_rows(
        &self,
        name: &Name,
        found: &PatternFindings,
    ) -> Vec<SwitchPatternRow> {
        const HALVES: [&str; 2] = ["first", "second"];
        let WhyGathering { row_context, job, block, groups } = *self;
        let min_denominator = job.metrics.min_denominator.get();
        let weighed = row_context.rows.layout().weight.is_some();
        let attribute = block.subject().map_or("", |(attribute, _)| attribute.as_str());
        let flags = |n: u64, of_pattern: bool| {
            let flags = [
                ("small_denominator", of_pattern && n < min_denominator),
                ("nobody_counted", !of_pattern && n == 0),
                ("unweighted", weighed),
            ];
            let held: Vec<&str> = flags.into_iter().filter(|flag| flag.1).map(|of| of.0).collect();
            held.join(",")
        };
        let row = |half: usize| SwitchPatternRow {
            why: name.as_str().into(),
            half: HALVES[half].into(),
            model: block.model.as_str().into(),
            arm: block.arm.as_deref().unwrap_or_default().into(),
            counterfactual: block.counterfactual.as_ref().map_or("", |set| set.as_str()).into(),
            sensitive: attribute.into(),
            from_group: groups.map_or("", |[from, _]| from.as_str()).into(),
            to_group: groups.map_or("", |[_, to]| to.as_str()).into(),
            metric: block.metric.id().as_str().into(),
            ..SwitchPatternRow::default()
        };
        let share = |k: u64, n: u64| (n > 0).then(|| k as f64 / n as f64);
        let mut rows = Vec::new();
        for (half, (counts, interval)) in found.everybody.iter().enumerate() {
            rows.push(SwitchPatternRow {
                n: whole(counts.n),
                k: whole(counts.k),
                rate: share(counts.k, counts.n),
                lo: interval.map(|i| i.lo),
                hi: interval.map(|i| i.hi),
                least: (half == 0).then_some(whole(found.least)),
                searched: (half == 0).then_some(whole(found.frequent as u64)),
                candidates: (half == 0).then_some(whole(found.candidates as u64)),
                flags: flags(counts.n, false).into(),
                ..row(half)
            });
        }
        for (rank, pattern) in (1..).zip(&found.carried) {
            for (half, of) in pattern.halves.iter().enumerate() {
                let second = half == 1;
                let rates = share(of.own.k, of.own.n).zip(share(of.others.k, of.others.n));
                rows.push(SwitchPatternRow {
                    pattern: pattern.text.as_str().into(),
                    rank,
                    traits: serde_json::json!(pattern.traits).to_string().into(),
                    items: whole(pattern.traits.len() as u64),
                    n: whole(of.own.n),
                    k: whole(of.own.k),
                    rate: share(of.own.k, of.own.n),
                    lo: of.rate.map(|i| i.lo),
                    hi: of.rate.map(|i| i.hi),
                    n_others: Some(whole(of.others.n)),
                    k_others: Some(whole(of.others.k)),
                    difference: rates.map(|(own, others)| own - others),
                    difference_lo: of.excess.map(|i| i.lo),
                    difference_hi: of.excess.map(|i| i.hi),
                    p: finite(of.p),
                    p_holm: finite(pattern.p_holm).filter(|_| second),
                    confirmed: second.then_some(i64::from(pattern.confirmed)),
                    adds: second.then_some(i64::from(pattern.adds)),
                    told: pattern.place.filter(|_| second).map(|place| whole(place as u64)),
                    flags: flags(of.own.n, true).into(),
                    ..row(half)
                });
            }
        }
        rows
    }
}

/// Numbers in an order without distances: each is a level.
fn of_distinct_numbers(name: &str, numbers: &[f64]) -> PatternColumn {
    let values = distinct_numbers(numbers);
    let text = |(i, &x): (usize, &f64)| {
        short_text(x, values.get(i + 1).copied()).unwrap_or_else(|| float_text(x))
    };
    let levels: Vec<String> = values.iter().enumerate().map(text).collect();
    PatternColumn::of_words(name, &levels, &codes_among(&values, numbers, u32::MAX))
}
