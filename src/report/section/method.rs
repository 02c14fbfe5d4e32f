//! Section "How it was done": sets, models, rows, intervals, and the formula of every metric the
//! page shows.

use std::collections::{BTreeMap, BTreeSet};

use crate::folder::manifest::{ModelWords, RecheckWords, SetWords};
use crate::metric::interval::INTERVAL_METHODS;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow, number};
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ReportedValue;
use crate::report::read::words;
use crate::report::section::recourse;
use crate::table::ThresholdRow;

/// The section; comes after every section that shows metrics.
pub(crate) fn section(audit: &AuditFolder, glossary: &PageGlossary<'_>) -> PageSection {
    let m = &audit.manifest;
    let has_sets = !m.counterfactuals.is_empty();
    let mut blocks = questions(has_sets, recourse::is_there(audit));
    blocks.extend(sets(audit));
    blocks.extend(models(audit));
    blocks.extend(contracts(audit));
    blocks.extend(thresholds(audit));
    let scales = audit.manifest.models.iter().filter_map(ModelWords::scale_in_words);
    blocks.extend(scales.map(|words| PageBlock::Text(RichText::new().quote(&words))));
    blocks.extend(rechecks(audit));
    blocks.extend(expected(audit));
    let mut facts = audited(audit);
    facts.push(("Split".into(), RichText::new().quote(&m.split)));
    let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
    facts.push((
        "Rows".into(),
        format!(
            "{} in the source, {} kept, {} for training, {} audited",
            count(m.rows.source),
            count(m.rows.kept),
            count(m.rows.trained),
            count(m.rows.audited)
        )
        .into(),
    ));
    facts.push(("A row is".into(), RichText::new().text("identified by ").quote(&m.row_id)));
    facts.extend(
        derived_attributes(audit, has_sets).map(|words| ("Derived attributes".into(), words)),
    );
    facts.push((
        "Order of groups".into(),
        if has_sets {
            "the reference group comes first and differences are first minus second; if a \
             direction is compared with its reverse, the worse one names the group at a \
             disadvantage"
        } else {
            "the reference group comes first and differences are first minus second"
        }
        .into(),
    ));
    facts.extend(persons(audit).map(|words| ("Persons".into(), words)));
    facts.extend(weights(audit).map(|words| ("Weights".into(), words)));
    facts.push(("Intervals".into(), intervals(audit)));
    facts.extend(few_cases(audit).map(|words| ("Few cases".into(), words)));
    facts.push((
        "A dash in a table".into(),
        "no value: not requested, not measured for this row, or not applicable to the \
         metric, such as a group at a disadvantage. A requested value that cannot be \
         computed is shown as undefined, with the reason"
            .into(),
    ));
    blocks.push(PageBlock::Facts(facts));
    if !glossary.shown.is_empty() {
        blocks.push(PageBlock::Heading("glossary".to_owned(), "Metrics on this page".into()));
        let letters = if has_sets {
            "T, F: the factual prediction is right or wrong. C, S: the counterfactual prediction \
             stays or switches. P, N: the counterfactual prediction is positive or negative. CF: \
             counterfactual. CCM: counterfactual confusion matrix; ECCM: the same split by label."
        } else {
            "T, F: the prediction is right or wrong. P, N: it is positive or negative. N next to a \
             group: its number of people."
        };
        blocks.push(PageBlock::Note(letters.into()));
        if audit.classes.are_there() {
            blocks.push(PageBlock::Note(
                "For all classes together CR is the share on the diagonal of their matrix, SR the \
                 share off it, CMCC its correlation (Gorodkin 2004); ACC and MCC are the same for \
                 labels and predictions. Every other metric compares one class with all others: P \
                 is that class, N any other, the score is that of the class. Then NSR is how often \
                 predictions leave the class, PSR how often they join it."
                    .into(),
            ));
        }
        if glossary.shown.iter().any(|entry| entry.family == "clarify") {
            blocks.push(PageBlock::Note(
                "Clarify: a is the favoured facet, d the other; T, F, P and N are counted by the \
                 favourable outcome, whichever class that is."
                    .into(),
            ));
        }
        blocks.push(PageBlock::Glossary(glossary.shown.clone()));
    }
    PageSection { id: "method", title: "How it was done", blocks }
}

/// What the page asks, and how it is answered: of counterfactual sets, of recourse, of both, or of
/// neither.
fn questions(sets: bool, recourse: bool) -> Vec<PageBlock> {
    let asked = match (sets, recourse) {
        (true, false) => {
            "Counterfactual fairness asks whether a person would have received a different \
             decision as a member of another group. A counterfactual explanation asks what a \
             person could change to get a different decision. This page is about the first."
        }
        (true, true) => {
            "This page answers two questions. Counterfactual fairness: would a person have \
             received a different decision as a member of another group? Recourse: what could \
             people change to get a different decision, as in counterfactual explanations, and is \
             that harder for one group than for another? They are measured separately, and the \
             answer to one does not determine the other."
        }
        (false, true) => {
            "Recourse asks what people could change to get a different decision, as in \
             counterfactual explanations, and whether that is harder for one group than for \
             another. Counterfactual fairness asks whether a person would have received a \
             different decision as a member of another group. This page is about the first."
        }
        (false, false) => {
            "This page compares actual groups. It does not ask whether a person would have \
             received a different decision as a member of another group (counterfactual fairness)."
        }
    };
    let of_sets = "For each audited person a set generates the same person in another group; the \
                   model scores both; the two predictions are compared. A share of switched \
                   predictions describes the model on these people. It does not explain the \
                   behaviour of the model.";
    let of_recourse = "For recourse the model scores each audited person with the unfavourable \
        decision after every action of their subgroups, with the same threshold. Labels are not \
        used, and every person counts once. The result describes the model on these people: it \
        does not show whether a change is possible for a person, what else would change with it, \
        or why the model decides this way.";
    let mut blocks = vec![PageBlock::Text(asked.into())];
    blocks.extend(sets.then(|| PageBlock::Text(of_sets.into())));
    blocks.extend(recourse.then(|| PageBlock::Text(of_recourse.into())));
    blocks
}

/// What takes the person as its unit, where a person may have several rows.
fn persons(audit: &AuditFolder) -> Option<RichText> {
    let words = words::persons(audit)?;
    Some(words.text(
        " The flags for few cases and what a gate calls enough count persons, and all rows of a \
         person are on one side of a split or fold. The tables hold both numbers.",
    ))
}

/// What weights have a part in, and in what they have none.
fn weights(audit: &AuditFolder) -> Option<RichText> {
    let words = words::weights(audit)?;
    let words = words.text(
        " Every value, interval, gate and chart uses the weights; numbers of people, \
         rows or counterfactuals, the flags for few cases and the minimum of a \
         gate do not. The tables contain both.",
    );
    let words = if audit.issues.iter().any(|issue| issue.code == "unweighted-fit") {
        words.text(
            " Strategies learn without weights: every row counts once \
             when counterfactuals are generated.",
        )
    } else {
        words
    };
    let words = if audit.quality.is_empty() {
        words
    } else {
        words.text(
            " The plausibility of counterfactuals is computed without weights: every \
             counterfactual counts once.",
        )
    };
    Some(if recourse::is_there(audit) {
        words.text(" So is recourse: every person counts once.")
    } else {
        words
    })
}

/// What attributes are derived from, where they are not unchanged columns.
fn derived_attributes(audit: &AuditFolder, has_sets: bool) -> Option<RichText> {
    let mut words = RichText::new();
    let derived = audit.manifest.attributes.iter().filter_map(|a| Some((a, a.made_of.as_ref()?)));
    for (i, (attribute, made_of)) in derived.enumerate() {
        words = if i > 0 { words.text(" ") } else { words };
        words = words.name(&attribute.name).text(" is derived from ").quote(made_of).text(".");
    }
    let any = words != RichText::new();
    let set = move |words: RichText| {
        words.text(
            " A counterfactual sets a mapped attribute to the most frequent value of the target \
             group and the person's label, and a cross through those of its parts that differ; \
             columns derived from changed columns are computed again.",
        )
    };
    any.then(|| if has_sets { set(words) } else { words })
}

/// What the mark for few cases says; none where no value has it.
fn few_cases(audit: &AuditFolder) -> Option<RichText> {
    let slices =
        audit.slices.values().flat_map(|slice| slice.values().flat_map(|metrics| metrics.values()));
    audit.all_measures().chain(slices).any(|measure| measure.small).then(|| {
        RichText::from("marks a value of a group with fewer people than the job's ")
            .code("min_group_size")
            .text(", or a rate with fewer cases below it than its ")
            .code("min_denominator")
            .text(
                " (both are in the job as it was run, below): one person more or less would \
                 change it greatly",
            )
    })
}

/// Whether all attributes that a set changes are derived from other columns.
fn all_written(set: &SetWords) -> bool {
    set.attributes.iter().all(|attribute| set.written.contains_key(attribute))
}

/// Names from the job, with commas between them.
fn joined(names: &[String]) -> RichText {
    names.iter().enumerate().fold(RichText::new(), |words, (i, name)| {
        if i > 0 { words.text(", ") } else { words }.quote(name)
    })
}

fn sets(audit: &AuditFolder) -> Option<PageBlock> {
    let rows: Vec<ReportRow> = audit
        .manifest
        .counterfactuals
        .iter()
        .map(|set| {
            let mut does = RichText::from(
                terms::strategy_in_words(&set.strategy, all_written(set)).unwrap_or_default(),
            );
            if let Some(words) = terms::condition(&set.knobs) {
                does = does.text(" ").text(words);
            }
            if let Some(repeats) = set.placebo {
                does = does.text(" ").and(terms::placebo(&set.strategy, all_written(set), repeats));
            }
            if let Some(repeats) = set.doubt {
                does = does.text(" ").and(terms::fit_doubt(repeats));
            }
            let knobs = if set.knobs.is_empty() { "none".into() } else { joined(&set.knobs) };
            let cells = vec![
                RichText::new().code(&set.strategy).into(),
                does.into(),
                knobs.into(),
                joined(&set.attributes).into(),
            ];
            ReportRow { id: String::new(), head: RichText::new().name(&set.name), cells }
        })
        .collect();
    let head =
        ["Set", "Strategy", "What it does", "Knobs", "Attributes"].map(RichText::from).to_vec();
    (!rows.is_empty()).then(|| {
        PageBlock::Table(PageTable {
            caption: "Counterfactual sets".into(),
            head,
            rows,
            prose: true,
            ..PageTable::default()
        })
    })
}

fn models(audit: &AuditFolder) -> Option<PageBlock> {
    let rows: Vec<ReportRow> = audit
        .manifest
        .models
        .iter()
        .map(|model| {
            let rule = match (model.threshold_rule.as_str(), model.score_scale().turned) {
                ("ge", false) => "at or above ",
                ("gt", false) => "above ",
                ("ge", true) => "at or below ",
                ("gt", true) => "below ",
                _ => "",
            };
            let cells = vec![
                RichText::new().code(&model.kind).into(),
                RichText::new().quote(&model.words).into(),
                RichText::new().text(rule).quote(&model.threshold).into(),
            ];
            ReportRow { id: String::new(), head: RichText::new().name(&model.name), cells }
        })
        .collect();
    let predicts =
        if audit.classes.are_there() { "Predicts" } else { "Predicts positive when the score is" };
    let head = ["Model", "Kind", "What it is", predicts].map(RichText::from).to_vec();
    (!rows.is_empty()).then(|| {
        PageBlock::Table(PageTable {
            caption: "Models".into(),
            head,
            rows,
            prose: true,
            ..PageTable::default()
        })
    })
}

/// The contracts with models that are trained elsewhere.
fn contracts(audit: &AuditFolder) -> Option<PageBlock> {
    let row = |model: &ModelWords| {
        let contract = model.contract.as_ref()?;
        let columns = match contract.columns.is_empty() {
            true => RichText::from("its own"),
            false => joined(&contract.columns),
        };
        let class = match &contract.class {
            Some(class) => RichText::new()
                .quote(class)
                .text(" of ")
                .quote(contract.classes.join(", "))
                .text(", by ")
                .text(&contract.class_from),
            None => RichText::from("the positive one, by convention: it gives one number a row"),
        };
        let cells = vec![columns.into(), class.into()];
        Some(ReportRow { id: String::new(), head: RichText::new().name(&model.name), cells })
    };
    let rows: Vec<ReportRow> = audit.manifest.models.iter().filter_map(row).collect();
    let head = ["Model", "Columns in order", "Class of the score"].map(RichText::from).to_vec();
    let caption = "What models that are trained elsewhere get and give".into();
    (!rows.is_empty()).then_some(PageBlock::Table(PageTable {
        caption,
        head,
        rows,
        prose: true,
        ..PageTable::default()
    }))
}

/// The thresholds that were fitted, a sentence a model.
fn thresholds(audit: &AuditFolder) -> Vec<PageBlock> {
    let mut of_models: BTreeMap<&str, Vec<&ThresholdRow>> = BTreeMap::new();
    audit
        .thresholds
        .iter()
        .filter(|row| row.arm.is_empty())
        .for_each(|row| of_models.entry(row.model.as_str()).or_default().push(row));
    let sentence = |(model, rows): (&str, Vec<&ThresholdRow>)| {
        let span = |of: fn(&ThresholdRow) -> f64, kind: number::NumberFormat| {
            let values = || rows.iter().map(|row| of(row));
            let (low, high) = (
                values().fold(f64::INFINITY, f64::min),
                values().fold(f64::NEG_INFINITY, f64::max),
            );
            let (low, high) = (kind.value(low), kind.value(high));
            if low == high { low } else { format!("{low} to {high}") }
        };
        let n: i64 = rows.iter().map(|row| row.n_rows).sum();
        let folds = if rows.len() > 1 {
            format!(" {} folds, one each:", rows.len())
        } else {
            String::new()
        };
        let words = RichText::from("The threshold of model ").name(model).text(format!(
            " was fitted to the scores of its own training rows ({}, whose labels the model \
             has learned):{folds} {}, with {} of the positive and {} of the negative ones on the \
             correct side.",
            number::count(n),
            span(|row| row.threshold, number::NumberFormat::Plain),
            span(|row| row.tpr, number::NumberFormat::Share),
            span(|row| row.tnr, number::NumberFormat::Share),
        ));
        PageBlock::Text(words)
    };
    of_models.into_iter().map(sentence).collect()
}

/// What was audited.
pub(crate) fn audited(audit: &AuditFolder) -> Vec<(RichText, RichText)> {
    let m = &audit.manifest;
    let mut facts: Vec<(RichText, RichText)> = Vec::new();
    let mut fact = |name: &str, words: RichText| facts.push((name.into(), words));
    if let Some(decision) = &m.words.decision {
        fact("Decision", RichText::new().quote(decision));
    }
    fact("Favourable", favourable(audit));
    if let Some(version) = &m.words.version {
        fact("Model version", RichText::new().quote(version));
    }
    let data =
        m.inputs.iter().filter(|i| i.what == "data").fold(RichText::new(), |words, input| {
            let words = if words == RichText::new() { words } else { words.text(", ") };
            words.quote(&input.path)
        });
    if data != RichText::new() {
        fact("Data", data);
    }
    fact(
        if m.person.is_some() { "Rows audited" } else { "People audited" },
        RichText::new().strong(number::count(i64::try_from(m.rows.audited).unwrap_or(i64::MAX))),
    );
    for attribute in &m.attributes {
        let groups =
            attribute.groups.iter().enumerate().fold(RichText::new(), |words, (i, group)| {
                let words = if i > 0 { words.text(", ") } else { words }.name(group);
                if *group == attribute.reference { words.text(" (reference)") } else { words }
            });
        facts.push((RichText::new().text("Groups by ").name(&attribute.name), groups));
    }
    if let Some(owner) = &m.words.owner {
        facts.push(("Owner".into(), RichText::new().quote(owner)));
    }
    facts
}

/// Which prediction is the favourable one.
fn favourable(audit: &AuditFolder) -> RichText {
    match &audit.manifest.label {
        None if audit.manifest.favourable_without_label == Some(true) => {
            "the positive prediction".into()
        }
        None if audit.manifest.favourable_without_label == Some(false) => {
            "the negative prediction".into()
        }
        None => match audit.manifest.amounts() {
            Some(told) if told.better_is_lower => "the lower amount".into(),
            Some(_) => "the higher amount".into(),
            None => "the job has no label and names no favourable side; this page says positive \
                     and negative"
                .into(),
        },
        Some(label) => {
            let words = RichText::new().text(
                match (label.classes.is_empty(), label.favourable_is_positive) {
                    (true, true) => "predicted positive: ",
                    (true, false) => "predicted negative, that is, not: ",
                    (false, true) => "predicted one of the positive classes: ",
                    (false, false) => "predicted another class than: ",
                },
            );
            let words = words.code(&label.column).text(" is ");
            label.positive.iter().enumerate().fold(words, |words, (i, value)| {
                if i > 0 { words.text(" or ") } else { words }.quote(value)
            })
        }
    }
}

/// What scoring rows again gave, a sentence a model.
fn rechecks(audit: &AuditFolder) -> Vec<PageBlock> {
    let rechecked = audit.manifest.models.iter().filter_map(|model| Some((model, model.recheck?)));
    let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
    let sentence = |(model, recheck): (&ModelWords, RecheckWords)| {
        let (why, how) = match model.kind.as_str() {
            "scores" | "decision" => {
                ("another version of a model", "again together with the counterfactuals")
            }
            _ => ("a model that is not repeatable", "twice"),
        };
        let differ = if recheck.differ > 0 {
            format!(", and {} of them differ", count(recheck.differ))
        } else {
            String::new()
        };
        PageBlock::Text(RichText::from(format!("To detect {why}, model ")).name(&model.name).text(
            format!(
                " scored {} rows {how}; the largest difference from their factual scores is \
                 {}{differ}.",
                count(recheck.rows),
                number::NumberFormat::Plain.value(recheck.largest)
            ),
        ))
    };
    rechecked.map(sentence).collect()
}

/// What the comparison with known scores found, a sentence a model.
fn expected(audit: &AuditFolder) -> impl Iterator<Item = PageBlock> {
    let known = audit.manifest.models.iter();
    let known = known.filter_map(|model| Some((model, model.expect.as_ref()?)));
    let count = |n: u64| number::count(i64::try_from(n).unwrap_or(i64::MAX));
    known.map(move |(model, known)| {
        let found = match known.differ {
            0 => "agree".to_owned(),
            n => format!("agree, but for {} (the job allows {})", count(n), count(known.at_most)),
        };
        let unknown = match known.unknown {
            0 => String::new(),
            n => format!(" {} audited rows have no known score.", count(n)),
        };
        PageBlock::Text(
            RichText::from("Does the audit score as the model is known to? The scores of model ")
                .name(&model.name)
                .text(" were compared with the column ")
                .code(&known.column)
                .text(format!(
                    ": {} rows {found}, within {}; the largest difference is {}.{unknown}",
                    count(known.rows),
                    known.tolerance,
                    number::NumberFormat::Plain.value(known.largest)
                )),
        )
    })
}

fn intervals(audit: &AuditFolder) -> RichText {
    let Some(level) = audit.manifest.level else { return "the job requests none".into() };
    let all = || audit.all_measures();
    let methods: BTreeSet<&str> =
        all().filter(|m| m.interval.is_some()).map(|m| m.method.as_str()).collect();
    let n = all()
        .chain(audit.slices.values().flat_map(|slice| slice.values().flat_map(|m| m.values())))
        .filter(|m| m.interval.is_some())
        .count()
        + audit.comparisons.iter().filter(|row| row.lo.is_some()).count();
    let mut text = format!(
        "{} level; {} intervals in the tables of metrics and comparisons, not adjusted for \
         their number (except in gates with `family_error`). ",
        number::level(level),
        number::count(i64::try_from(n).unwrap_or(i64::MAX))
    );
    for &(code, meaning) in INTERVAL_METHODS {
        // With weights blocks are cut otherwise, but for score metrics and for means over causal
        // graphs.
        let of_blocks = |m: &ReportedValue| {
            (m.family == "shift" || m.across.is_some()) && m.interval.is_some() && m.method == code
        };
        if methods.contains(code) && (code != "block-bootstrap" || all().any(of_blocks)) {
            text.push_str(meaning);
            text.push(' ');
        }
    }
    let of_persons = audit.manifest.person.is_some();
    let weighted = audit.manifest.weight.is_some();
    if methods.contains("block-bootstrap") && (weighted || of_persons) {
        text.push_str(&match (weighted, of_persons) {
            (true, true) => terms::intervals_of_weights("persons"),
            (true, false) => terms::intervals_of_weights("people"),
            (false, _) => terms::INTERVALS_OF_PERSONS.to_owned(),
        });
        text.push(' ');
    }
    let of_graphs =
        all().any(|m| m.across.is_some() && m.interval.is_some() && m.method == "block-bootstrap");
    if methods.contains("bootstrap")
        || methods.contains("poisson-bootstrap")
        || weighted
        || of_persons
        || of_graphs
    {
        text.push_str(&format!(
            "{} bootstrap replicates. ",
            number::count(i64::try_from(audit.manifest.bootstrap_samples).unwrap_or(i64::MAX))
        ));
    }
    text.push_str(
        "A value without an interval has none in the tables either; the column ci_method gives the \
         reason.",
    );
    text.into()
}
