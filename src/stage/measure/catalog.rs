//! The catalog of metrics as a job and the page know it.

use crate::job;
use crate::job::check::{CheckedJob, KnownMetric, KnownNames};
use crate::metric::{self, AmountSubject, MetricFamily, Reads, ScoreReading};
use std::sync::OnceLock;

/// What a job may name without declaring it: the metrics and the public data sets.
pub fn catalog() -> KnownNames<'static> {
    static METRICS: OnceLock<Vec<KnownMetric>> = OnceLock::new();
    static MEASURES: OnceLock<Vec<&str>> = OnceLock::new();
    static DATA_SETS: OnceLock<Vec<&str>> = OnceLock::new();
    KnownNames {
        metrics: METRICS.get_or_init(|| metric::catalog::catalog().map(known_metric).collect()),
        measures: MEASURES.get_or_init(|| {
            crate::metric::catalog::cf_quality::MEASURES.iter().map(|measure| measure.id).collect()
        }),
        data_sets: DATA_SETS.get_or_init(|| {
            crate::data::source::catalog::DATA_SETS.iter().map(|set| set.name).collect()
        }),
    }
}

pub(crate) fn known_metric(metric: &'static metric::Metric) -> KnownMetric {
    use job::check::GateScope::{Direction, Group, Pair, Total, WorstCase};
    let mut scopes: &'static [job::check::GateScope] = match metric.family {
        MetricFamily::Performance => &[Total, Group],
        MetricFamily::Group => &[Pair, WorstCase],
        MetricFamily::Clarify => &[Pair],
        MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift => &[Total, Direction, Pair],
        MetricFamily::Amounts => &[Direction],
        MetricFamily::Scores => &[Total, Group],
        MetricFamily::Graph => &[Total],
        MetricFamily::CfQuality => &[],
    };
    let any = matches!(metric.reads, Reads::AnySwitch(_));
    match metric.reads {
        Reads::AnySwitch(_) | Reads::Benefit(_) => scopes = &[Total],
        Reads::SwitchRatio(_) => scopes = &[Pair],
        Reads::RateToTotal(_) | Reads::ScoreToTotal(_) => scopes = &[WorstCase],
        Reads::Amount(AmountSubject::Group) => scopes = &[Group],
        Reads::Scored(ScoreReading::CrossAuc) => scopes = &[Direction],
        Reads::Scored(
            ScoreReading::AucGap | ScoreReading::CrossAucGap | ScoreReading::BrierGap,
        ) => scopes = &[Pair],
        Reads::Amount(AmountSubject::Gap | AmountSubject::Ratio) => scopes = &[Pair],
        _ => {}
    }
    let asked_by = match metric.reads {
        Reads::Strata(_) | Reads::StrataRate(_) => Some("strata"),
        Reads::Flips => Some("flip_test"),
        _ => None,
    };
    // Clarify's disparate impact is that of the family group.
    let also = matches!(metric.reads, Reads::FavourableRatio).then_some(MetricFamily::Clarify);
    let needs_counterfactual =
        matches!(
            metric.family,
            MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift | MetricFamily::Graph
        ) || matches!(metric.reads, Reads::Amount(AmountSubject::Change | AmountSubject::Share));
    let min_groups = if any { 3 } else { 2 };
    let family = metric.family;
    KnownMetric {
        id: metric.id,
        family,
        also,
        asked_by,
        has_interval: !matches!(
            metric.reads,
            Reads::Scored(ScoreReading::Ecce | ScoreReading::EcceDistance | ScoreReading::EcceP)
        ),
        measured_again: family != MetricFamily::Scores && !matches!(metric.reads, Reads::Flips),
        needs_label: metric.needs_label,
        needs_counterfactual,
        scopes,
        min_groups,
        range: metric.range,
        by_favourable: matches!(metric.reads, Reads::SwitchByFavour { .. }),
    }
}

/// The families that a job measures of its models; what is measured of graphs has tables of its
/// own.
pub fn families(checked: &CheckedJob) -> Vec<MetricFamily> {
    let wanted = job::check::defaults::families(&checked.job, &catalog());
    MetricFamily::OF_CATALOG
        .into_iter()
        .filter(|family| *family != MetricFamily::Graph && wanted.contains(family))
        .collect()
}
