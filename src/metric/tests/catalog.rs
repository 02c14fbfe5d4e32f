//! The catalog is sound: ids, formulas, ranges and ideals, and how ids are found.

use super::*;
use crate::metric::catalog::cf_quality::REASONS;
use crate::metric::catalog::texts::MetricText;
use crate::metric::rate::WORDS;
use crate::metric::{GapTransform, ImpairedGroupRule, Metric, MetricFamily};

#[test]
fn the_catalog_is_sound() {
    let mut ids = BTreeSet::new();
    for metric in catalog() {
        let id = metric.id;
        assert!(ids.insert(id), "{id} occurs twice");
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
            "{id}"
        );
        for text in [
            metric.symbol(),
            metric.name(),
            metric.text(MetricText::Formula),
            metric.text(MetricText::Sign),
            metric.text(MetricText::UndefinedWhen),
            metric.text(MetricText::Source),
        ] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{id}: `{text}`");
        }
        let (lo, hi) = metric.range;
        assert!(lo < hi && metric.ideal.is_none_or(|ideal| (lo..=hi).contains(&ideal)), "{id}");
        let fits = match metric.reads {
            Reads::Group(_, None) => {
                let clarify = metric.id == "ge";
                metric.family
                    == if clarify { MetricFamily::Clarify } else { MetricFamily::Performance }
            }
            Reads::Group(GroupValue::MeanOfLabelled(_), _)
            | Reads::Group(_, Some(GapTransform::Rise)) => metric.family == MetricFamily::Clarify,
            Reads::Group(_, Some(GapTransform::Difference)) => {
                matches!(metric.family, MetricFamily::Group | MetricFamily::Clarify)
            }
            Reads::Group(..) => metric.family == MetricFamily::Group,
            Reads::Strata(_) | Reads::StrataRate(_) | Reads::Flips => {
                metric.family == MetricFamily::Clarify
            }
            Reads::SwitchRate(_)
            | Reads::SwitchByFavour { .. }
            | Reads::SwitchScore(_)
            | Reads::SwitchRatio(_)
            | Reads::AnySwitch(_) => {
                matches!(metric.family, MetricFamily::Ccm | MetricFamily::Eccm)
            }
            Reads::Shift(_) => metric.family == MetricFamily::Shift,
            Reads::Graphs => metric.family == MetricFamily::Graph,
            Reads::Amount(_) => metric.family == MetricFamily::Amounts,
            Reads::Scored(..) => metric.family == MetricFamily::Scores,
        };
        assert!(fits, "{id} reads evidence of another family");
        assert!(
            !matches!(metric.impaired, ImpairedGroupRule::Switch { .. }) || metric.ideal.is_some(),
            "{id}"
        );
    }
    let n = 14 + (37 + 14) + (15 + 3) + (8 + 6) + 8 + (15 + 2) + 12 + 18 + (5 + 1);
    assert_eq!(ids.len(), n, "a new metric, and each of its gaps, raises this number");
    let symbols: BTreeSet<&str> = catalog().map(Metric::symbol).collect();
    assert_eq!(symbols.len(), ids.len(), "a symbol stands twice");
    let codes: BTreeSet<&str> = Undefined::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes.len(), Undefined::ALL.len());
    for reason in Undefined::ALL {
        let clause = reason.clause();
        assert!(reason.meaning().ends_with('.') && !clause.ends_with('.'), "{reason}");
        assert!(clause.starts_with(|c: char| c.is_lowercase()), "{reason}: `{clause}`");
        assert_eq!(Undefined::of_code(reason.code()), Some(*reason));
    }
    // No text is of an unknown reason.
    let of_pages = ["boundary", "no_reason", "no_valid_counterfactual", "not_finite"];
    let known: BTreeSet<&str> = codes.into_iter().chain(REASONS).chain(of_pages).collect();
    assert_eq!(WORDS.ids().collect::<BTreeSet<_>>(), known);
    assert_eq!(WORDS.keys(), BTreeSet::from(["because", "means"]));
}

#[test]
fn ids_are_found() {
    assert_eq!(find("nsr").unwrap().symbol, "NSR");
    assert!(find("NSR").is_none());
}
