//! Groups as they are: the share of each with the favourable decision, and which groups differ
//! clearly.

use serde::Serialize;

use crate::metric::value::largest::joint_ends;
use crate::report::brief::population::PeopleWithoutGroup;
use crate::report::brief::voice::{AuditVoice, CalledAttribute, CalledGroup, DecisionVoice};
use crate::report::draw::plot::PlotPoint;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::section::groups;

/// The share of a group with the favourable decision.
#[derive(Debug, Clone)]
pub(crate) struct GroupFavourableShare {
    /// Where it is in the tables.
    pub(crate) key: ResultKey,
    /// The share and its interval.
    pub(crate) point: PlotPoint,
    /// People with the decision, of how many.
    pub(crate) counts: (i64, i64),
    /// The share with the favourable label; none without labels, or where some lack one.
    pub(crate) labelled: Option<f64>,
    /// Whether the group has fewer people than a group needs: no sentence compares it.
    pub(crate) is_small: bool,
}

/// The groups of an attribute under a model, the reference first.
#[derive(Debug, Clone)]
pub(crate) struct ModelShares {
    /// The model.
    pub(crate) model: String,
    /// The attribute.
    pub(crate) attribute: String,
    /// Its groups.
    pub(crate) groups: Vec<GroupFavourableShare>,
}

/// A row of the chart of groups as they are.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct GroupRowFacts {
    /// None of people without a group.
    group: Option<CalledGroup>,
    attribute: CalledAttribute,
    point: PlotPoint,
    counts: (i64, i64),
    labelled: Option<f64>,
    /// Its row in the annex; empty = none.
    anchor: String,
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
    /// Whether the groups differ clearly also where theirs is the largest of so many gaps.
    pub(crate) fn is_clear_of(&self, compared: usize) -> bool {
        if compared <= 1 {
            return true;
        }
        let value = self.high.point.value - self.low.point.value;
        joint_ends(value, (self.least, value), self.level, compared).0 > 0.0
    }
}

/// The share of a group.
#[derive(Serialize)]
pub(crate) struct GroupShareFacts {
    group: CalledGroup,
    pub(crate) point: PlotPoint,
    counts: (i64, i64),
}

impl GroupFavourableShare {
    /// As sentences need it.
    pub(crate) fn facts(&self, voice: &AuditVoice<'_>) -> GroupShareFacts {
        let group = voice.called_group(&self.key.attribute, &self.key.from);
        GroupShareFacts { group, point: self.point, counts: self.counts }
    }
}

/// The shares of all groups under all models, in the order of the job.
pub(crate) fn all(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<ModelShares> {
    let turned = audit.manifest.favourable_is_positive() == Some(false)
        && *voice.decision() != DecisionVoice::Predicted;
    let mut found = Vec::new();
    for attribute in &audit.manifest.attributes {
        for model in &audit.manifest.models {
            let groups: Vec<GroupFavourableShare> = audit
                .groups_of(&attribute.name)
                .iter()
                .filter_map(|group| share(audit, (&attribute.name, &model.name, group), turned))
                .collect();
            if !groups.is_empty() {
                found.push(ModelShares {
                    model: model.name.clone(),
                    attribute: attribute.name.clone(),
                    groups,
                });
            }
        }
    }
    found
}

fn share(
    audit: &AuditFolder,
    (attribute, model, group): (&str, &str, &str),
    turned: bool,
) -> Option<GroupFavourableShare> {
    let key = ResultKey::new([model, "", attribute], "group", [group, ""]);
    let measure = audit.measure(&key, "pprev")?;
    let (part, whole) = measure.counts?;
    let value = measure.value?;
    let turn = |value: f64| if turned { 1.0 - value } else { value };
    let row = audit.groups.iter().find(|row| {
        row.model.as_str() == model
            && row.sensitive.as_str() == attribute
            && row.group.as_str() == group
            && row.slice.is_empty()
    });
    let labelled = row.and_then(|row| {
        let (n, positive) = (row.n, row.n_positive?);
        (n > 0 && row.n_missing_label == 0).then(|| turn(positive as f64 / n as f64))
    });
    Some(GroupFavourableShare {
        key,
        point: PlotPoint::new(
            turn(value),
            measure.interval.map(|(lo, hi)| if turned { (1.0 - hi, 1.0 - lo) } else { (lo, hi) }),
        ),
        counts: (if turned { whole - part } else { part }, whole),
        labelled,
        is_small: measure.small,
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
            let of = [self.model.as_str(), "", self.attribute.as_str()];
            let ends = [low.key.from.as_str(), high.key.from.as_str()];
            let pairs = [ends, [ends[1], ends[0]]].map(|ends| ResultKey::new(of, "pair", ends));
            let difference = pairs.iter().find_map(|key| audit.measure(key, "pprev_difference"));
            // Where the job does not measure the difference, intervals that do not meet are clear.
            let apart = low.point.interval.zip(high.point.interval);
            let apart = apart.map(|((_, below), (above, _))| above - below);
            match (difference.and_then(|m| m.interval), apart) {
                (Some((lo, hi)), _) => lo.max(-hi).max(0.0),
                (None, apart) => apart.unwrap_or(0.0).max(0.0),
            }
        };
        let reference = audit
            .manifest
            .attributes
            .iter()
            .find(|words| words.name == self.attribute)
            .map(|words| words.reference.as_str());
        let (mut worst, mut of_reference): (Option<ClearGap<'_>>, Option<ClearGap<'_>>) =
            (None, None);
        let large = || self.groups.iter().filter(|group| !group.is_small);
        for low in large() {
            for high in large().filter(|g| g.point.value > low.point.value) {
                let least = least(low, high);
                let harmed = least * low.counts.1 as f64;
                let gap = ClearGap { low, high, harmed, least, level: audit.manifest.level.get() };
                let is_worse =
                    |than: &Option<ClearGap<'_>>| than.is_none_or(|than| harmed > than.harmed);
                if harmed > 0.0 && is_worse(&worst) {
                    worst = Some(gap);
                }
                let with = [&low.key.from, &high.key.from];
                let of = with.iter().any(|group| Some(group.as_str()) == reference);
                if harmed > 0.0 && of && is_worse(&of_reference) {
                    of_reference = Some(gap);
                }
            }
        }
        let worst = worst?;
        Some(of_reference.filter(|of| worst.harmed < 2.0 * of.harmed).unwrap_or(worst))
    }

    /// Its rows, one a group, and one of the people without a group where they are many.
    pub(crate) fn rows(&self, audit: &AuditFolder, voice: &AuditVoice<'_>) -> Vec<GroupRowFacts> {
        let attribute = voice.called_attribute(&self.attribute);
        let row = |share: &GroupFavourableShare| GroupRowFacts {
            group: Some(voice.called_group(&self.attribute, &share.key.from)),
            attribute: attribute.clone(),
            point: share.point,
            counts: share.counts,
            labelled: share.labelled,
            anchor: groups::anchor(audit, &share.key),
        };
        let none = PeopleWithoutGroup::of(audit, voice, (&self.attribute, &self.model));
        let none = none.map(|none| GroupRowFacts {
            group: None,
            attribute: attribute.clone(),
            point: none.point,
            counts: none.counts,
            labelled: None,
            anchor: String::new(),
        });
        self.groups.iter().map(row).chain(none).collect()
    }

    /// Their values, for a common scale.
    pub(crate) fn extent(&self) -> impl Iterator<Item = f64> + '_ {
        self.groups.iter().flat_map(|share| share.point.extent().chain(share.labelled))
    }
}
