//! Groups as they are: the share of each with the favourable decision, and which groups differ
//! clearly.

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::metric::value::largest::joint_ends;
use crate::report::brief::harm::speaks;
use crate::report::brief::population::without_group;
use crate::report::brief::voice::{
    AuditVoice, CalledAttribute, CalledGroup, CalledModel, DecisionVoice,
};
use crate::report::draw::plot::PlotPoint;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::section::groups;
use crate::text::fact;

/// Gaps in errors of two groups.
const ERROR_GAPS: [&str; 3] = ["acc_difference", "eopp_difference", "pred_eq_difference"];

/// The share of a group, or of the people without one, with the favourable decision; a row of the
/// chart of groups as they are.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupFavourableShare {
    /// None of people without a group.
    group: Option<CalledGroup>,
    attribute: CalledAttribute,
    /// The share and its interval.
    pub(crate) point: PlotPoint,
    /// People with the decision, of how many.
    pub(crate) counts: (i64, i64),
    /// The share with the favourable label; none without labels, or where some lack one.
    pub(crate) labelled: Option<f64>,
    /// Its row in the annex; empty = none.
    anchor: String,
    /// Whether the group has fewer people than a group needs: no sentence compares it.
    #[serde(skip)]
    pub(crate) is_small: bool,
}

/// The groups of an attribute under a model, the reference first.
#[derive(Debug, Clone)]
pub(crate) struct ModelShares {
    /// The model.
    pub(crate) model: CalledModel,
    /// The attribute.
    pub(crate) attribute: CalledAttribute,
    /// Of a label of several classes the one that is shared; else empty.
    class: String,
    /// Its groups.
    pub(crate) groups: Vec<GroupFavourableShare>,
}

/// Two groups of which one clearly has the favourable decision less often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClearGap<'a> {
    /// The group that has it less often.
    pub(crate) low: &'a GroupFavourableShare,
    /// The other one.
    pub(crate) high: &'a GroupFavourableShare,
    /// People harmed at least: the lower end of the difference times the people of the worse group.
    pub(crate) harmed: f64,
    /// The lower end of the difference.
    least: f64,
    /// The level of its interval.
    level: f64,
}

impl ClearGap<'_> {
    /// Whether the groups differ clearly also where theirs is the largest of several gaps.
    pub(crate) fn is_clear_of(&self, compared: usize) -> bool {
        if compared <= 1 {
            return true;
        }
        let value = self.high.point.value - self.low.point.value;
        joint_ends(value, (self.least, value), self.level, compared).0 > 0.0
    }
}

impl GroupFavourableShare {
    /// The name of the group.
    pub(crate) fn name(&self) -> &str {
        self.group.as_ref().map_or("", |group| &group.name)
    }
}

/// The largest gap in errors of two groups that is clear as the largest of all; none where none is.
pub(crate) fn error_gap(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Option<Value> {
    let pairs = audit.measures().filter(|(key, _)| key.scope == "pair" && key.set.is_empty());
    let gaps = pairs.flat_map(|(key, values)| {
        ERROR_GAPS.iter().filter_map(move |metric| Some((key, *metric, values.get(*metric)?)))
    });
    let gaps = gaps.filter(|(.., of)| !of.is_small());
    let gaps: Vec<_> =
        gaps.filter_map(|(key, id, of)| Some((key, id, of.value?, of.ends()?))).collect();
    let is_clear = |(_, _, value, ends): &&(&ResultKey, &str, f64, (f64, f64))| {
        let (lo, hi) = joint_ends(*value, *ends, audit.manifest.level.get(), gaps.len());
        lo > 0.0 || hi < 0.0
    };
    let clear = gaps.iter().filter(is_clear);
    let (key, metric, value, ends) = clear.max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
    let [from, to] = [&key.from, &key.to].map(|of| voice.called_group(&key.attribute, of));
    Some(context! {
        measured => voice.measured(metric)?, from => fact(&from), to => fact(&to), value,
        ends => fact(ends), model => fact(&voice.called_model(&key.model)), of => gaps.len(),
    })
}

/// The shares of all groups under all models, in the order of the job.
pub(crate) fn all(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<ModelShares> {
    let turned = match voice.decision() {
        DecisionVoice::Predicted { unwanted, .. } => *unwanted,
        _ => audit.manifest.favourable_is_positive() == Some(false),
    };
    let mut found = Vec::new();
    for attribute in &audit.manifest.attributes {
        for model in &audit.manifest.models {
            let mut of = ModelShares {
                model: voice.called_model(&model.name),
                attribute: voice.called_attribute(&attribute.name),
                class: voice.positive_class().to_owned(),
                groups: Vec::new(),
            };
            let groups = audit.groups_of(&attribute.name);
            let shares =
                groups.iter().filter_map(|group| share((audit, voice), &of, group, turned));
            of.groups = shares.collect();
            found.extend(Some(of).filter(|of| !of.groups.is_empty()));
        }
    }
    found
}

fn share(
    (audit, voice): (&AuditFolder, &AuditVoice<'_>),
    of: &ModelShares,
    group: &str,
    turned: bool,
) -> Option<GroupFavourableShare> {
    let (model, attribute) = (of.model.name.as_str(), of.attribute.name.as_str());
    let of_all = ResultKey::new([model, "", attribute], "group", [group, ""]);
    let key = of_all.of_class(&of.class);
    let measure = audit.measure(&key, "pprev")?;
    let (part, whole) = measure.counts()?;
    let value = measure.value?;
    let turn = |value: f64| if turned { 1.0 - value } else { value };
    let row = audit.group_rows(attribute, group).find(|row| row.model == *model);
    let labelled = row.and_then(|row| {
        let (n, positive) = (row.n, row.n_positive?);
        let share = match audit.manifest.weight {
            Some(_) => audit.measure(&key, "prev")?.value?,
            None => positive as f64 / n as f64,
        };
        (n > 0 && row.n_missing_label == 0).then(|| turn(share))
    });
    Some(GroupFavourableShare {
        group: Some(voice.called_group(attribute, group)),
        attribute: of.attribute.clone(),
        // The annex has no row for one class.
        anchor: if key == of_all { groups::anchor(audit, &key) } else { String::new() },
        point: PlotPoint::new(
            turn(value),
            measure.ends().map(|(lo, hi)| if turned { (1.0 - hi, 1.0 - lo) } else { (lo, hi) }),
        ),
        counts: (if turned { whole - part } else { part }, whole),
        labelled,
        is_small: measure.is_small(),
    })
}

impl ModelShares {
    /// Pairs of groups.
    pub(crate) fn n_pairs(&self) -> usize {
        self.groups.len() * self.groups.len().saturating_sub(1) / 2
    }

    /// The gap between the reference and another group that harms most, unless two other groups
    /// harm twice as many; none where no interval of a difference leaves out zero.
    pub(crate) fn clear_gap(&self, audit: &AuditFolder) -> Option<ClearGap<'_>> {
        let least = |low: &GroupFavourableShare, high: &GroupFavourableShare| {
            let of = [self.model.name.as_str(), "", self.attribute.name.as_str()];
            let ends = [low.name(), high.name()];
            let pairs = [ends, [ends[1], ends[0]]]
                .map(|ends| ResultKey::new(of, "pair", ends).of_class(&self.class));
            let difference = pairs.iter().find_map(|key| audit.measure(key, "pprev_difference"));
            // Where the job does not measure the difference, intervals that do not meet are clear.
            let apart = low.point.interval.zip(high.point.interval);
            let apart = apart.map(|((_, below), (above, _))| above - below);
            match (difference.and_then(|m| m.ends()), apart) {
                (Some((lo, hi)), _) => lo.max(-hi).max(0.0),
                (None, apart) => apart.unwrap_or(0.0).max(0.0),
            }
        };
        let words = audit.manifest.attribute(&self.attribute.name);
        let reference = words.map(|words| words.reference.as_str());
        let large = || self.groups.iter().filter(|group| !group.is_small);
        let gap = |low, high| {
            let least = least(low, high);
            let harmed = least * low.counts.1 as f64;
            ClearGap { low, high, harmed, least, level: audit.manifest.level.get() }
        };
        let above = |low: &'_ GroupFavourableShare| {
            let value = low.point.value;
            large().filter(move |high| high.point.value > value)
        };
        let gaps = large().flat_map(|low| above(low).map(move |high| gap(low, high)));
        let mut gaps: Vec<ClearGap<'_>> = gaps.filter(|gap| gap.harmed > 0.0).collect();
        gaps.sort_by(|a, b| b.harmed.total_cmp(&a.harmed));
        let is_of_reference =
            |gap: &ClearGap<'_>| [gap.low, gap.high].iter().any(|of| Some(of.name()) == reference);
        speaks(&gaps, is_of_reference, |gap| gap.harmed).copied()
    }

    /// The rows of the attribute, one for each group, and one for the people without a group where
    /// they are many.
    pub(crate) fn rows(
        &self,
        audit: &AuditFolder,
        voice: &AuditVoice<'_>,
    ) -> Vec<GroupFavourableShare> {
        let names = (self.attribute.name.as_str(), self.model.name.as_str());
        let none = without_group(audit, voice, names).map(|(point, counts)| GroupFavourableShare {
            group: None,
            attribute: self.attribute.clone(),
            point,
            counts,
            labelled: None,
            anchor: String::new(),
            is_small: false,
        });
        self.groups.iter().cloned().chain(none).collect()
    }

    /// Their values, for a common scale.
    pub(crate) fn extent(&self) -> impl Iterator<Item = f64> + '_ {
        self.groups.iter().flat_map(|share| share.point.extent().chain(share.labelled))
    }
}
