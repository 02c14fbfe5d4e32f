//! Section "Who switches": per attribute, set and model the confusion matrices of factual against
//! counterfactual predictions of each direction, and the rates with counts and intervals.
//!
//! CCM and ECCM after "The Matrix Reloaded": rows are factual predictions, columns counterfactual
//! ones; the ECCM is split by label. The matrices are tables, so that screen readers and text
//! browsers read the same numbers.

use crate::metric::catalog::place::PageList;
use crate::report::draw::chart::{self, IntervalWhisker};
use crate::report::draw::palette;
use crate::report::draw::plot::round_up;
use crate::report::page::cells::{cell, level_in_words};
use crate::report::page::number::{self, NumberFormat};
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{
    MatrixCell, MatrixRow, PageBlock, PageCell, PageSection, PageTable, ReportRow, SwitchMatrix,
};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::{
    AuditPanel, EccmTallies, PanelDirection, ReportedValue, ResultKey,
};
use crate::report::read::tally::WeightedCount;
use crate::report::section::{classes, graphs};

/// Groups up to which the overview of all pairs is drawn.
const OVERVIEW_UP_TO: usize = 24;

/// Groups up to which the overview has room for counts, and for names of so many letters.
const NAMED_UP_TO: usize = 8;
const LETTERS_UP_TO: usize = 14;

/// The section; none where no counterfactual was counted.
pub(crate) fn section(
    audit: &AuditFolder,
    panels: &[AuditPanel],
    glossary: &mut PageGlossary<'_>,
) -> Option<PageSection> {
    let has = |p: &&AuditPanel| {
        p.directions.iter().any(|d| {
            let key = p.direction(d);
            audit.cells(&key).is_some()
                || PageList::SwitchRows.ids().iter().any(|m| audit.measure(&key, m).is_some())
        })
    };
    let panels: Vec<&AuditPanel> = panels.iter().filter(has).collect();
    if panels.is_empty() {
        return None;
    }
    let mut blocks = vec![PageBlock::Text(if audit.classes.are_there() {
        classes::introduction()
    } else {
        "Each matrix compares the factual prediction (rows) with the counterfactual prediction \
         (columns). Outlined cells switch. Every cell contains its symbol, the count and its share \
         of the row; a stronger shade means a larger share."
            .into()
    })];
    if audit.manifest.weight.is_some() {
        blocks.push(PageBlock::Note(
            "The counts in the matrices are counterfactuals; their shares \
             are weighted, and so is the shade."
                .into(),
        ));
    }
    let hidden = panels.iter().filter(|p| p.drawn == 0).count();
    if hidden > 0 {
        blocks.push(PageBlock::Note(
            format!(
                "{hidden} of {} combinations of attribute, set and model, those with the \
                 lowest switch rates, are only in tables/counts.parquet and \
                 tables/metrics.parquet.",
                panels.len()
            )
            .into(),
        ));
    }
    for panel in panels.into_iter().filter(|p| p.drawn > 0) {
        blocks.extend(panel_blocks(audit, panel, glossary));
    }
    Some(PageSection { id: "switches", title: "Who switches", blocks })
}

/// `sex, set flip (naive), model gbm`.
pub(crate) fn heading(panel: &AuditPanel) -> RichText {
    RichText::new().name(&panel.attribute).text(": ").and(terms::origin(panel))
}

/// Which directions of a panel the page draws.
pub(crate) fn drawn_in_words(panel: &AuditPanel) -> Option<RichText> {
    (panel.drawn < panel.directions.len()).then(|| {
        if panel.still {
            return format!(
                "Nothing switches in any of the {} ordered pairs of groups; {} are shown.",
                panel.directions.len(),
                panel.drawn
            )
            .into();
        }
        format!(
            "Shown are the {} of {} ordered pairs of groups with the highest switch rates; all are \
             in the folder tables.",
            panel.drawn,
            panel.directions.len()
        )
        .into()
    })
}

fn panel_blocks(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Vec<PageBlock> {
    let mut blocks = vec![PageBlock::Heading(format!("p{}", panel.id), heading(panel))];
    if let Some(words) = terms::strategy_in_words(&panel.strategy, !panel.written.is_empty()) {
        blocks.push(PageBlock::Text(words.into()));
    }
    if terms::follows_graphs(&panel.strategy) {
        blocks.push(PageBlock::Note(
            RichText::from(
                "The matrices count each person once, by the mean of the person's \
                 scores over all graphs. The rates below them are means over graphs of \
                 the rate in each, so the two may differ: a person who switches in a \
                 few graphs stays in the matrices. Their intervals are over people with \
                 all graphs fixed: the disagreement of the graphs is in ",
            )
            .link(
                "How certain are the causal graphs",
                "graphs",
                "How certain are the causal graphs",
            )
            .text("."),
        ));
    }
    blocks.extend(
        graphs::knowledge::caution(audit, &panel.set, &panel.attribute).map(PageBlock::Note),
    );
    if let Some(repeats) = audit
        .manifest
        .counterfactuals
        .iter()
        .find(|set| set.name == panel.set)
        .and_then(|set| set.placebo)
    {
        blocks.push(PageBlock::Note(terms::placebo(
            &panel.strategy,
            !panel.written.is_empty(),
            repeats,
        )));
    }
    let sets = &audit.manifest.counterfactuals;
    let doubt = sets.iter().find(|set| set.name == panel.set).and_then(|set| set.doubt);
    blocks.extend(doubt.map(terms::fit_doubt).map(PageBlock::Note));
    if panel.groups.len() > 2 {
        blocks.extend(overview(audit, panel, glossary));
    }
    blocks.extend(drawn_in_words(panel).map(PageBlock::Note));
    let drawn = panel.directions.iter().take(panel.drawn).enumerate();
    let heats = drawn.filter_map(|(d, direction)| {
        let cells = audit.cells(&panel.direction(direction))?;
        let weighted = audit.manifest.weight.is_some();
        Some(heat(
            format!("p{}-{d}", panel.id),
            RichText::direction(&direction.from, &direction.to),
            cells,
            weighted,
        ))
    });
    let heats: Vec<SwitchMatrix> = heats.collect();
    blocks.extend((!heats.is_empty()).then_some(PageBlock::Heats(heats)));
    blocks.extend(classes::of_panel(audit, panel, glossary));
    blocks.extend(written(panel));
    blocks.push(PageBlock::Table(if panel.directions.len() <= 2 {
        by_metric(audit, panel, glossary)
    } else {
        by_direction(audit, panel, glossary)
    }));
    blocks.extend(against_the_rest(audit, panel, glossary));
    blocks
}

/// What represents the groups of a derived attribute, for the directions that are drawn.
fn written(panel: &AuditPanel) -> Option<PageBlock> {
    let row = |d: &PanelDirection| {
        let values = panel.written_in(&d.from, &d.to)?;
        Some(ReportRow {
            id: String::new(),
            head: RichText::direction(&d.from, &d.to),
            cells: vec![values.into()],
        })
    };
    let rows: Vec<ReportRow> = panel.directions.iter().take(panel.drawn).filter_map(row).collect();
    let several =
        panel.directions.iter().take(panel.drawn).any(|d| panel.writes_several(&d.from, &d.to));
    let caption = RichText::from("Values written to the columns that models read")
        .text(if several { "; in brackets the number of counterfactuals" } else { "" });
    let head = ["Direction", "Written"].map(RichText::from).to_vec();
    (!rows.is_empty()).then_some(PageBlock::Table(PageTable { caption, head, rows, prose: true }))
}

fn heat(id: String, title: RichText, cells: &EccmTallies, weighted: bool) -> SwitchMatrix {
    let [[cn, sp], [sn, cp]] = cells.all();
    let (switched, all) = (sp.plus(sn), sp.plus(sn).plus(cn).plus(cp));
    let sentence = match all.n {
        0 => RichText::from("There is no counterfactual in this direction."),
        n => RichText::new()
            .text(if n == 1 {
                "1 counterfactual, ".to_owned()
            } else {
                format!("{} counterfactuals, ", number::count(n))
            })
            .strong(format!("{} switch", number::count(switched.n)))
            .text(format!(
                " ({}): {} to positive, {} to negative.",
                number::share(switched, all, weighted).unwrap_or_else(|| WEIGHS_NOTHING.to_owned()),
                number::count(sp.n),
                number::count(sn.n)
            )),
    };
    let ccm = [["CP", "SN"], ["SP", "CN"]];
    if !cells.labelled() {
        return SwitchMatrix {
            id,
            title,
            sentence,
            caption: "CCM",
            rows: rows("", &cells.all(), ccm).into(),
        };
    }
    let all = rows("any", &cells.all(), ccm);
    let positive = rows("positive", &cells.0[2], [["TCP", "TSN"], ["FSP", "FCN"]]);
    let negative = rows("negative", &cells.0[1], [["FCP", "FSN"], ["TSP", "TCN"]]);
    let unknown = &cells.0[0];
    let has_unknown = unknown.iter().flatten().any(|tally| tally.n > 0);
    let without = has_unknown.then(|| rows("none", unknown, ccm)).into_iter().flatten();
    let rows = all.into_iter().chain(positive).chain(negative).chain(without).collect();
    SwitchMatrix { id, title, sentence, caption: "CCM (any label) and ECCM (by label)", rows }
}

/// In place of a share of those who weigh nothing together.
const WEIGHS_NOTHING: &str = "no weight";

/// The rows "predicted positive" and "predicted negative" of counts by factual and counterfactual
/// prediction.
fn rows(
    label: &'static str,
    counts: &[[WeightedCount; 2]; 2],
    symbols: [[&'static str; 2]; 2],
) -> [MatrixRow; 2] {
    let row = |factual: usize, label, head, symbols: [&'static str; 2]| {
        let whole = counts[factual][0].plus(counts[factual][1]);
        let cell = |cf: usize, symbol| {
            let tally = counts[factual][cf];
            let none = || if whole.n > 0 { WEIGHS_NOTHING } else { "no row" }.to_owned();
            MatrixCell {
                symbol,
                n: number::count(tally.n),
                share: number::share(tally, whole, false).unwrap_or_else(none),
                step: tally.part_of(whole).map_or(0, palette::step),
                switches: factual != cf,
            }
        };
        MatrixRow { label, head, cells: [cell(1, symbols[0]), cell(0, symbols[1])] }
    };
    [row(1, label, "positive", symbols[0]), row(0, "", "negative", symbols[1])]
}

/// A value with counts and interval, and the band of the placebo and the range of other fits where
/// there are such.
pub(crate) fn cell_with_placebo(measure: Option<&ReportedValue>, kind: NumberFormat) -> PageCell {
    let mut cell = cell(measure, kind);
    if let Some((value, (lo, hi))) = measure.and_then(|m| m.value.zip(m.placebo)) {
        cell.small.push(format!("noise {}", terms::noise(kind, value, lo, hi)).into());
    }
    if let Some((value, (lo, hi))) = measure.and_then(|m| m.value.zip(m.fit)) {
        cell.small.push(format!("other fits {}", terms::noise(kind, value, lo, hi)).into());
    }
    if let Some((value, (lo, hi))) = measure.and_then(|m| m.value.zip(m.training)) {
        cell.small.push(format!("other trainings {}", terms::noise(kind, value, lo, hi)).into());
    }
    cell
}

/// The values of these metrics under these keys: what a table shows.
pub(crate) fn measures_of<'a>(
    audit: &'a AuditFolder,
    keys: &[&ResultKey],
    metrics: &[&str],
) -> Vec<&'a ReportedValue> {
    keys.iter()
        .flat_map(|key| metrics.iter().filter_map(|metric| audit.measure(key, metric)))
        .collect()
}

/// Where values of a set that draws on samples are next to those of its placebo: what these are.
pub(crate) fn noise_in_words<'a>(measures: impl IntoIterator<Item = &'a ReportedValue>) -> String {
    let repeats = measures
        .into_iter()
        .filter(|m| m.placebo.is_some_and(|(lo, hi)| lo < hi))
        .filter_map(|m| m.repeats)
        .max();
    repeats.map_or_else(String::new, |n| {
        format!("; noise: the band of {} repeats with shuffled group names", number::count(n))
    })
}

/// Two directions: a row per metric, both directions side by side and drawn on one axis.
fn by_metric(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> PageTable {
    let keys: Vec<_> = panel.directions.iter().map(|d| panel.direction(d)).collect();
    let total = panel.total();
    let (a, b) = (panel.groups.first(), panel.groups.get(1));
    let difference = a
        .zip(b)
        .map(|(a, b)| panel.difference(a, b))
        .filter(|key| audit.measures.contains_key(key));
    let shown: Vec<&str> = PageList::SwitchRows
        .ids()
        .iter()
        .copied()
        .filter(|m| keys.iter().any(|k| audit.measure(k, m).is_some()))
        .collect();
    let of_shares = || {
        shown
            .iter()
            .filter(|m| PageList::SwitchWhiskers.shows(m))
            .flat_map(|m| keys.iter().filter_map(|k| audit.measure(k, m)))
    };
    let highest = of_shares()
        .flat_map(|m| [m.interval.map(|i| i.1).or(m.value), m.placebo.map(|p| p.1)])
        .flatten()
        .fold(0.0, f64::max);
    let end = round_up(highest).min(1.0);
    let mut head = vec!["Metric".into()];
    head.extend(panel.directions.iter().map(|d| RichText::direction(&d.from, &d.to)));
    head.push(format!("0 to {}", number::level(end)).into());
    if keys.len() > 1 {
        head.push("Both directions".into());
    }
    if difference.is_some() {
        let of = |(a, b): (&String, &String)| {
            RichText::direction(a, b).text(" minus ").and(RichText::direction(b, a))
        };
        head.push(a.zip(b).map(of).unwrap_or_default());
    }
    let rows = shown
        .iter()
        .map(|metric| {
            let kind = terms::kind(metric, "direction");
            let measures: Vec<Option<&ReportedValue>> =
                keys.iter().map(|k| audit.measure(k, metric)).collect();
            let mut cells: Vec<PageCell> = measures
                .iter()
                .enumerate()
                .map(|(d, m)| PageCell {
                    id: format!("p{}-{d}-{metric}", panel.id),
                    ..cell_with_placebo(*m, kind)
                })
                .collect();
            let whisker = |m: &ReportedValue| {
                let noise = m.placebo;
                Some(IntervalWhisker { value: m.value?, interval: m.interval, noise })
            };
            let drawn: Vec<IntervalWhisker> =
                measures.iter().flatten().filter_map(|m| whisker(m)).collect();
            let whole = PageList::SwitchWhiskers.shows(metric) && drawn.len() == keys.len();
            cells.push(if whole {
                RichText::new().drawing(chart::whiskers(&drawn, end)).into()
            } else {
                RichText::new().into()
            });
            if keys.len() > 1 {
                cells.push(cell_with_placebo(audit.measure(&total, metric), kind));
            }
            if let Some(key) = &difference {
                cells.push(cell_with_placebo(
                    audit.measure(key, metric),
                    terms::kind(metric, "difference"),
                ));
            }
            ReportRow { id: String::new(), head: glossary.title(metric), cells }
        })
        .collect();
    let all = measures_of(audit, &keys.iter().collect::<Vec<_>>(), &shown);
    let (levels, noise) = (level_in_words(all.iter().copied()), noise_in_words(all));
    let key = match panel.directions.as_slice() {
        [first, second] => RichText::new()
            .text(". Dot: ")
            .and(RichText::direction(&first.from, &first.to))
            .text("; ring: ")
            .and(RichText::direction(&second.from, &second.to)),
        _ => RichText::new(),
    };
    let key = if noise.is_empty() { key } else { key.text("; shaded: noise band") };
    PageTable {
        caption: RichText::new().text(format!("Rates{levels}{noise}")).and(key),
        head,
        rows,
        prose: false,
    }
}

/// More than two directions: a row per direction.
fn by_direction(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> PageTable {
    let directions: Vec<_> =
        panel.directions.iter().take(panel.drawn).map(|d| (d, panel.direction(d))).collect();
    let metrics: Vec<&str> = PageList::SwitchColumns
        .ids()
        .iter()
        .copied()
        .filter(|m| directions.iter().any(|(_, k)| audit.measure(k, m).is_some()))
        .collect();
    let mut head = vec!["Direction".into()];
    head.extend(metrics.iter().map(|m| glossary.head(m)));
    let cells = |key: &_, id: &dyn Fn(&str) -> String| {
        metrics
            .iter()
            .map(|m| PageCell {
                id: id(m),
                ..cell_with_placebo(audit.measure(key, m), terms::kind(m, "direction"))
            })
            .collect()
    };
    let mut rows: Vec<ReportRow> = directions
        .iter()
        .enumerate()
        .map(|(d, (direction, key))| ReportRow {
            id: String::new(),
            head: RichText::direction(&direction.from, &direction.to),
            cells: cells(key, &|m| format!("p{}-{d}-{m}", panel.id)),
        })
        .collect();
    if audit.measures.contains_key(&panel.total()) {
        rows.push(ReportRow {
            id: String::new(),
            head: "All directions".into(),
            cells: cells(&panel.total(), &|_| String::new()),
        });
    }
    let all =
        measures_of(audit, &directions.iter().map(|(_, key)| key).collect::<Vec<_>>(), &metrics);
    let caption = format!(
        "Rates, highest switch rate first{}{}",
        level_in_words(all.iter().copied()),
        noise_in_words(all)
    );
    PageTable { caption: caption.into(), head, rows, prose: false }
}

/// More than two groups: the people with any counterfactual that switches, and each group against
/// all others.
fn against_the_rest(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let metrics = PageList::AnySwitches.ids();
    let first = metrics.first()?;
    let any = |group: &str| audit.measure(&panel.one_to_rest(group), first).and_then(|m| m.value);
    let mut groups: Vec<&String> = panel
        .groups
        .iter()
        .filter(|group| audit.measures.contains_key(&panel.one_to_rest(group)))
        .collect();
    // The sort is stable, so ties stay in order.
    groups.sort_by(|a, b| any(b).unwrap_or(-1.0).total_cmp(&any(a).unwrap_or(-1.0)));
    let (all, shown) = (groups.len(), groups.len().min(panel.drawn));
    if shown == 0 {
        return None;
    }
    let mut head = vec!["Group".into()];
    head.extend(metrics.iter().map(|metric| glossary.head(metric)));
    head.extend(
        ["to all others", "from all others"].map(|words| glossary.head("sr").text(" ").text(words)),
    );
    let cells = |of: &_, to_rest: &_, from_rest: Option<&_>| {
        let mut cells: Vec<PageCell> = metrics
            .iter()
            .map(|metric| cell(audit.measure(of, metric), terms::kind(metric, "total")))
            .collect();
        cells.push(cell(audit.measure(to_rest, "sr"), NumberFormat::Share));
        cells.push(cell(
            from_rest.and_then(|from_rest| audit.measure(from_rest, "sr")),
            NumberFormat::Share,
        ));
        cells
    };
    let mut rows: Vec<ReportRow> = groups[..shown]
        .iter()
        .map(|group| {
            let to_rest = panel.one_to_rest(group);
            let cells = cells(&to_rest, &to_rest, Some(&panel.rest_to_one(group)));
            ReportRow { id: String::new(), head: RichText::new().name(group.as_str()), cells }
        })
        .collect();
    rows.push(ReportRow {
        id: String::new(),
        head: "All groups".into(),
        cells: cells(&panel.total(), &panel.total(), None),
    });
    let of = if shown < all { format!(" ({shown} of {all} groups)") } else { String::new() };
    let keys: Vec<ResultKey> = groups.iter().map(|group| panel.one_to_rest(group)).collect();
    let levels = level_in_words(measures_of(
        audit,
        &keys.iter().collect::<Vec<_>>(),
        &[metrics, &["sr"]].concat(),
    ));
    let caption = format!(
        "People whom any other group would switch, highest first{of}; each group's people as \
         members of all others, and the reverse{levels}"
    );
    Some(PageBlock::Table(PageTable { caption: caption.into(), head, rows, prose: false }))
}

/// Switch rates of all ordered pairs at one glance.
fn overview(
    audit: &AuditFolder,
    panel: &AuditPanel,
    glossary: &mut PageGlossary<'_>,
) -> Option<PageBlock> {
    let n = panel.groups.len();
    if n > OVERVIEW_UP_TO
        || !panel.directions.iter().any(|d| audit.measure(&panel.direction(d), "sr").is_some())
    {
        return None;
    }
    let rate = |direction: &PanelDirection| {
        audit.measure(&panel.direction(direction), "sr").and_then(|m| m.value)
    };
    let highest = panel.directions.iter().filter_map(rate).fold(0.0, f64::max);
    // Names where there is room for them, and counts with them; else the numbers of the rows.
    let named =
        n <= NAMED_UP_TO && panel.groups.iter().all(|group| group.chars().count() <= LETTERS_UP_TO);
    let mut head = vec!["Factual group".into()];
    let of_group = |(i, group): (usize, &String)| {
        if named { RichText::new().name(group) } else { RichText::from(format!("{}", i + 1)) }
    };
    head.extend(panel.groups.iter().enumerate().map(of_group));
    let rows = panel
        .groups
        .iter()
        .enumerate()
        .map(|(i, from)| {
            let cells = panel.groups.iter().map(|to| {
                if from == to {
                    return "\u{b7}".into();
                }
                let direction = PanelDirection { from: from.clone(), to: to.clone() };
                let counts = audit
                    .measure(&panel.direction(&direction), "sr")
                    .and_then(|m| m.counts)
                    .filter(|_| n <= NAMED_UP_TO);
                match rate(&direction) {
                    None => "\u{2013}".into(),
                    Some(rate) => {
                        let digits = NumberFormat::Share.value(rate);
                        let digits = digits.trim_end_matches(['%', '\u{202f}']).to_owned();
                        PageCell {
                            main: digits.into(),
                            small: counts
                                .map(|(part, whole)| {
                                    format!("{} of {}", number::count(part), number::count(whole))
                                        .into()
                                })
                                .into_iter()
                                .collect(),
                            heat: Some(palette::step(if highest > 0.0 {
                                rate / highest
                            } else {
                                0.0
                            })),
                            ..PageCell::default()
                        }
                    }
                }
            });
            let number = if named { String::new() } else { format!("{} ", i + 1) };
            ReportRow {
                id: String::new(),
                head: RichText::new().text(number).name(from),
                cells: cells.collect(),
            }
        })
        .collect();
    let entry = glossary.show("sr");
    let caption = format!(
        "{} {} in per cent, from the group of the row to the group of the column{}; the shade is \
         relative to the highest",
        entry.name,
        entry.symbol,
        if named { "" } else { "'s number" }
    );
    Some(PageBlock::Table(PageTable { caption: caption.into(), head, rows, prose: false }))
}
