//! The lists of metrics on the page, collected from the places that the records name.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::metric::catalog::catalog;
use crate::metric::catalog::place::{PageList, PagePlace};

static LISTS: LazyLock<BTreeMap<PageList, Vec<&'static str>>> = LazyLock::new(|| {
    let mut placed: Vec<(PageList, u8, &'static str)> = catalog()
        .flat_map(|metric| {
            metric.shown.iter().filter_map(|place| match place {
                PagePlace::At(list, place) => Some((*list, *place, metric.id)),
                _ => None,
            })
        })
        .collect();
    placed.sort_unstable();
    let mut lists: BTreeMap<PageList, Vec<&'static str>> = BTreeMap::new();
    for (list, _, id) in placed {
        lists.entry(list).or_default().push(id);
    }
    lists
});

impl PageList {
    /// The ids of its metrics, in order.
    pub fn ids(self) -> &'static [&'static str] {
        LISTS.get(&self).map_or(&[], Vec::as_slice)
    }

    /// Whether it shows the metric of this id.
    pub fn shows(self, id: &str) -> bool {
        self.ids().contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::catalog::place::{PageList, PagePlace};
    use crate::metric::catalog::{catalog, find};
    use crate::metric::{
        AmountSubject, GapTransform, GroupValue, MetricFamily, MetricUnit, Reads, ScoreReading,
    };

    #[test]
    fn every_metric_has_a_place_and_every_list_an_order_without_holes() {
        for metric in catalog() {
            let id = metric.id;
            assert!(!metric.shown.is_empty(), "{id} does not say where the page shows it");
            assert!(
                metric.shown.len() == 1 || !metric.shown.contains(&PagePlace::TablesOnly),
                "{id} has a place and none"
            );
            let transform = metric.gap_of.map(|(_, transform)| transform);
            for place in metric.shown {
                match place {
                    PagePlace::BesideBase => {
                        let (base, transform) = metric.gap_of.expect("a base");
                        assert_ne!(transform, GapTransform::ToTotal, "{id}");
                        assert!(PageList::GroupRows.shows(base), "{id}: {base} has no row");
                    }
                    PagePlace::BesideWidest => {
                        assert_eq!(transform, Some(GapTransform::ToTotal), "{id}");
                        let is_widest = |row: &&str| {
                            find(row).and_then(|row| row.gap_of)
                                == metric.gap_of.map(|(base, _)| (base, GapTransform::Difference))
                        };
                        let rows = PageList::WidestGaps.ids().iter().filter(|id| is_widest(id));
                        assert_eq!(rows.count(), 1, "{id} needs one row of its base");
                    }
                    PagePlace::At(..) | PagePlace::TablesOnly => {}
                }
            }
        }
        for list in PageList::ALL {
            let mut places: Vec<u8> = catalog()
                .flat_map(|metric| metric.shown)
                .filter_map(|place| match place {
                    PagePlace::At(of, place) if of == list => Some(*place),
                    _ => None,
                })
                .collect();
            places.sort_unstable();
            let whole: Vec<u8> = (1..).take(places.len()).collect();
            assert!(!places.is_empty() && places == whole, "{list:?}: {places:?}");
        }
    }

    #[test]
    fn the_unit_of_a_metric_is_that_of_what_it_reads() {
        use GapTransform::{Difference, Rise, ToTotal, Widest};
        use MetricUnit::{Count, Distance, Number, Points, Share, Signed, Times};
        for metric in catalog() {
            let of_two = [Points, Signed];
            let units: &[MetricUnit] = match metric.reads {
                Reads::Group(of, transform) => match (of, transform) {
                    (GroupValue::Rate(_), None) => &[Share],
                    (GroupValue::Rate(_) | GroupValue::MeanOfLabelled(_), Some(Difference)) => {
                        &[Points]
                    }
                    (GroupValue::Rate(_), Some(ToTotal)) | (_, Some(Widest)) => &[Distance],
                    (_, Some(ToTotal)) => &[Distance, Number],
                    (_, Some(Difference | Rise)) => &of_two,
                    (_, Some(_)) => &[Times],
                    (_, None) => &[Share, Number],
                },
                Reads::StrataRate(_)
                | Reads::SwitchRate(_)
                | Reads::SwitchByFavour { .. }
                | Reads::AnySwitch(_) => &[Share],
                Reads::Flips => &[Points],
                Reads::SwitchRatio(_) => &[Times],
                Reads::SwitchScore(_) => &[Times, Number],
                Reads::Strata(_) => &[Points, Count],
                Reads::Shift(_) => &[Number, Signed],
                Reads::Graphs => &[Count, Number, Share],
                Reads::Scored(_, Some(_)) => &[Signed],
                Reads::Scored(ScoreReading::ObservedExpected, None) => &[Times],
                Reads::Scored(_, None) => &[Number],
                Reads::Amount(subject) => match subject {
                    AmountSubject::Group => &[Number],
                    AmountSubject::Gap | AmountSubject::Change => &[Signed],
                    AmountSubject::Ratio => &[Times],
                    AmountSubject::Share => &[Share],
                },
            };
            assert!(units.contains(&metric.unit), "{} is no {:?}", metric.id, metric.unit);
            let (lo, hi) = metric.range;
            let fits = match metric.unit {
                Share | Distance => (lo, hi) == (0.0, 1.0),
                Points => lo == -hi && [1.0, 2.0].contains(&hi),
                Count => lo == 0.0 && hi.is_infinite(),
                Signed => lo == -hi,
                Times | Number => true,
            };
            assert!(fits, "{}: {:?} from {lo} to {hi}", metric.id, metric.unit);
        }
    }

    /// What the page prints in a scope other than its own depends on these.
    #[test]
    fn gaps_are_those_that_their_bases_name() {
        let is_gap = |id: &str, base: &str, transform: GapTransform| {
            let gap = find(id).expect("a metric");
            assert_eq!(gap.gap_of, Some((base, transform)), "{id}");
            assert_eq!(gap.family, MetricFamily::Group);
        };
        let bases = catalog().filter_map(|metric| Some((metric, metric.gaps?)));
        let mut made = 0;
        for (base, gaps) in bases {
            for (transform, _) in gaps.each() {
                is_gap(&transform.id(base.id), base.id, transform);
                made += 1;
            }
        }
        assert_eq!(made, 3 * 14, "each metric with `gaps` makes three");
        for (id, base) in [
            ("demp_difference", "pprev"),
            ("eopp_difference", "tpr"),
            ("pred_eq_difference", "fpr"),
            ("pred_p_difference", "ppv"),
        ] {
            is_gap(id, base, GapTransform::Difference);
        }
        is_gap("demp_ratio", "pprev", GapTransform::Ratio);
    }
}
