//! The map of a set, for a job that asks for one: a drawing of each direction that the page shows
//! feature by feature, all on one scale.

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{NumberFormat, ROUNDING};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::{DirectionQuality, whole};
use crate::table::CfMapRow;

/// The map; none where the folder has none.
pub(super) fn facts(
    audit: &AuditFolder,
    of: &ResultKey,
    shown: &[DirectionQuality<'_>],
) -> Option<Value> {
    let is_of_set = |row: &&CfMapRow| {
        (row.pair.counterfactual.as_str(), row.pair.sensitive.as_str()) == (&of.set, &of.attribute)
    };
    let rows: Vec<&CfMapRow> = audit.map.iter().filter(is_of_set).collect();
    let first = rows.first()?;
    let Some([x, y]) = first.share_x.zip(first.share_y).map(<[f64; 2]>::from) else {
        return Some(context!(undefined => first.undefined.as_str()));
    };
    let place = |row: &&&CfMapRow| Some([row.x?, row.y?, row.x_cf?, row.y_cf?]);
    let places: Vec<[f64; 4]> = rows.iter().filter_map(|row| place(&row)).collect();
    let ends = |k: usize| {
        let all = places.iter().flat_map(|of| [of[k], of[k + 2]]);
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], v| [lo.min(v), hi.max(v)])
    };
    let drawn = |d: &DirectionQuality<'_>| {
        let here = rows.iter().filter(|row| ResultKey::from(&row.pair) == *d.pair);
        let pairs: Vec<[f64; 4]> = here.filter_map(|row| place(&row)).collect();
        context! {
            from => &d.pair.from, to => &d.pair.to, n => pairs.len(),
            all => whole(d.values, "n_pairs_valid"), pairs,
        }
    };
    let share = |share: f64| NumberFormat::Share.value(share);
    Some(context! {
        undefined => (), across => share(x), up => share(y), both => share(x + y),
        rest => Some(1.0 - x - y).filter(|rest| *rest > ROUNDING).map(share), tied => first.tied,
        ends => [ends(0), ends(1)], drawn => shown.iter().map(drawn).collect::<Value>(),
    })
}
