//! The verbs that look at a job without auditing it: `plan`, `data` and `power`, as text for people
//! or as JSON.

use std::fmt::Write;
use std::path::Path;

use crate::control_characters::on_one_line;
use crate::data::values::ValueClass;
use crate::error::{Exit, FilePlace, Result};
use crate::job::Job;
use crate::stage::gate::power::{self, GateForecast, NO_RATE, PowerAssumptions};
use crate::stage::input::score_files::AwaitedFile;
use crate::stage::job_warnings::IssueNote;
use crate::stage::preview::{
    self, AttributePreview, ColumnPreview, ContractPreview, DataPreview, LocatedIssue, RunForecast,
};
use crate::stage::settings::RunSettings;
use crate::text::aligned;

use crate::cli::args::{DataArgs, PlanArgs, PowerArgs};
use crate::cli::progress::grouped;
use crate::cli::{print, read_job, set_up_run, settings};

/// `cfaudit plan`.
pub(crate) fn plan(args: &PlanArgs) -> Result<Exit> {
    let (_, record, cancel) = set_up_run(&args.job_flags.log)?;
    let checked = read_job(&args.job, &args.job_flags, &record)?;
    let settings =
        RunSettings { baseline: args.baseline.clone(), ..settings(&args.job, &args.job_flags) };
    let forecast = preview::forecast(&checked, &settings, &cancel)?;
    show(args.json.then(|| json(&forecast)), || plan_text(&forecast), args.job_flags.log.quiet)?;
    Ok(if args.exit_code && forecast.to_run > 0 { Exit::GateFailed } else { Exit::Done })
}

/// `cfaudit data`.
pub(crate) fn data(args: &DataArgs) -> Result<Exit> {
    let (console, record, cancel) = set_up_run(&args.job_flags.log)?;
    let checked = read_job(&args.job, &args.job_flags, &record)?;
    let data =
        preview::data(&checked, &settings(&args.job, &args.job_flags), console.as_ref(), &cancel)?;
    show(args.json.then(|| json(&data)), || data_text(&data), args.job_flags.log.quiet)?;
    Ok(Exit::Done)
}

/// `cfaudit power`.
pub(crate) fn power(args: &PowerArgs) -> Result<Exit> {
    let (console, record, cancel) = set_up_run(&args.job_flags.log)?;
    let asked =
        PowerAssumptions { gate: args.gate.clone(), rates: args.assume.clone(), share: args.share };
    let forecasts = if args.target.is_dir() {
        power::of_folder(&args.target, &asked)?
    } else {
        let checked = read_job(&args.target, &args.job_flags, &record)?;
        let settings = settings(&args.target, &args.job_flags);
        power::of_job(&checked, &asked, &settings, console.as_ref(), &cancel)?
    };
    show(args.json.then(|| json(&forecasts)), || power_text(&forecasts), args.job_flags.log.quiet)?;
    Ok(Exit::Done)
}

fn power_text(forecasts: &[GateForecast]) -> String {
    let n = |n: Option<u64>| n.map(grouped).unwrap_or_default();
    let rows = forecasts.iter().map(|f| {
        let groups = [&f.from_group, &f.to_group].map(|group| group.as_str());
        let groups = groups.into_iter().filter(|g| !g.is_empty()).collect::<Vec<_>>().join(" to ");
        vec![
            f.gate.clone(),
            f.metric.clone(),
            groups,
            f.verdict.clone().unwrap_or_default(),
            f.value.map(short).unwrap_or_default(),
            short(f.limit),
            n(f.n),
            n(f.n_needed_80),
            n(f.n_needed_95),
            n(f.people_needed_80),
            n(f.people_needed_95),
            f.detectable.map(short).unwrap_or_default(),
            f.how.clone(),
        ]
    });
    let head = "gate,metric,groups,verdict,value,limit,n,n for 0.8,n for 0.95,people for 0.8,\
                people for 0.95,detectable,how";
    let head: Vec<&str> = head.split(',').collect();
    let found = table(&head, &[4, 5, 6, 7, 8, 9, 10, 11], rows);
    if forecasts.iter().all(|f| f.how != NO_RATE) {
        return found;
    }
    format!(
        "{found}\n{NO_RATE}: before a run nobody knows the rate; with `--gate NAME --assume RATE` \
         (of a difference or ratio `--assume RATE,RATE`) it tells how many people decide the gate\n"
    )
}

/// Prints what programs asked for by `--json`, otherwise the output for people, which `--quiet`
/// suppresses.
fn show(json: Option<String>, text: impl FnOnce() -> String, quiet: bool) -> Result<()> {
    match json {
        Some(json) => print(&json),
        None if quiet => Ok(()),
        None => print(&text()),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// What a run waits for, a line a file, with the models that share it.
fn awaited_text(awaited: &[AwaitedFile]) -> String {
    let mut files: Vec<(&AwaitedFile, Vec<&str>)> = Vec::new();
    for file in awaited {
        match files
            .iter_mut()
            .find(|(first, _)| (&first.path, &first.set) == (&file.path, &file.set))
        {
            Some((_, models)) => models.push(&file.model),
            None => files.push((file, vec![&file.model])),
        }
    }
    let mut text = String::new();
    for (file, models) in files {
        let place = file.set.as_ref().map_or_else(
            || "the rows as they are".to_owned(),
            |set| format!("counterfactual set {set}"),
        );
        let models =
            format!("{} {}", if models.len() > 1 { "models" } else { "model" }, models.join(", "));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "waits for the scores of {}, {place}: {}",
            on_one_line(&models),
            on_one_line(&file.path)
        );
    }
    text
}

fn plan_text(forecast: &RunForecast) -> String {
    let rows = forecast.stages.iter().map(|stage| {
        vec![
            stage.id.clone(),
            if stage.cached { "cached" } else { "runs" }.to_owned(),
            stage.rows.map(grouped).unwrap_or_default(),
            stage.bytes.map(grouped).unwrap_or_default(),
            stage.reason.clone().unwrap_or_default(),
        ]
    });
    let mut text = table(&["stage", "state", "rows", "bytes", "because"], &[2, 3], rows);
    let n = forecast.stages.len();
    let _ = match forecast.to_run {
        0 => writeln!(
            text,
            "\njob {}, run {}: all {n} stages are cached",
            forecast.job, forecast.run
        ),
        to_run => writeln!(
            text,
            "\njob {}, run {}: {to_run} of {n} stages would run",
            forecast.job, forecast.run
        ),
    };
    if let Some(set) = &forecast.to_download {
        let _ = writeln!(
            text,
            "the data set {set} is not in the data folder: a run would download it first"
        );
    }
    if forecast.asks_for_rows {
        text += "a run asks the command of the rows first: what is cached holds where it writes \
                 the same rows again\n";
    }
    text + &awaited_text(&forecast.awaited)
}

/// What `cfaudit check` prints about a job without errors.
pub(crate) fn checked_text(
    file: &Path,
    job: &Job,
    (warnings, awaited, contracts): (&[LocatedIssue], &[AwaitedFile], &[ContractPreview]),
) -> String {
    let found = found_words("the job or its data", warnings);
    let mut text = format!("{}: {found}", file.display());
    let scores = job.models.values().filter_map(|model| model.given_scores());
    if scores
        .into_iter()
        .any(|scores| scores.counterfactual.is_some() || scores.factual.parquet.is_some())
    {
        text += "; `cfaudit run` checks score files";
    }
    text.push('\n');
    let contracts = contracts.iter().map(|contract| format!("{}\n", on_one_line(&contract.text())));
    text + &warnings_text(warnings, false) + &contracts.collect::<String>() + &awaited_text(awaited)
}

/// `no problem in the job`, or how many warnings there are.
pub(crate) fn found_words(place: &str, warnings: &[LocatedIssue]) -> String {
    match warnings.iter().filter(|warning| warning.issue.is_warning()).count() {
        0 => format!("no problem in {place}"),
        1 => format!("no error in {place}, 1 warning"),
        n => format!("no error in {place}, {n} warnings"),
    }
}

/// A line for each warning; with `quiet` without those that are only worth knowing.
pub(crate) fn warnings_text(warnings: &[LocatedIssue], quiet: bool) -> String {
    let shown = warnings.iter().filter(|warning| !quiet || warning.issue.is_warning());
    shown.map(|warning| issue_text(&warning.issue, warning.place.as_ref())).collect()
}

/// The problem, its key, and what to do about it.
fn issue_text(issue: &IssueNote, place: Option<&FilePlace>) -> String {
    let place = place.map(|place| format!("  --> {}\n", on_one_line(&place.to_string())));
    let hint = issue.hint.as_ref().map(|hint| format!("  hint: {}\n", on_one_line(hint)));
    let what = format!("{}[{}]: {}\n", issue.severity, issue.code, on_one_line(&issue.text));
    what + &place.unwrap_or_default() + &hint.unwrap_or_default()
}

fn data_text(data: &DataPreview) -> String {
    let mut text = String::new();
    let r = &data.rows;
    let counts = [r.source, r.kept, r.trained, r.audited].map(grouped);
    let _ = writeln!(
        text,
        "{}: {} rows in the source, {} kept; {} train, {} are audited",
        data.job, counts[0], counts[1], counts[2], counts[3]
    );
    if let Some(set) = &data.stand_in {
        let _ = writeln!(text, "STAND-IN DATA for {set}: no number is about real people");
    }
    if !data.filters.is_empty() {
        let rows = data
            .filters
            .iter()
            .map(|f| vec![f.what.clone(), grouped(f.rows_in), grouped(f.rows_out)]);
        text += &format!("\n{}", table(&["step", "rows in", "rows out"], &[1, 2], rows));
    }
    let rows = data.columns.iter().map(|c| {
        vec![c.name.clone(), c.kind.to_owned(), c.class.to_owned(), grouped(c.missing), values(c)]
    });
    text += &format!("\n{}", table(&["column", "kind", "type", "missing", "values"], &[3], rows));
    if let Some(label) = &data.label {
        let side = |values: &[String], n: u64| {
            format!("{} ({})", on_one_line(&values.join(", ")), grouped(n))
        };
        let _ = writeln!(
            text,
            "\nlabel {}: positive {}, negative {}, none ({}); people want the {} side",
            on_one_line(&label.column),
            side(&label.positive, label.n_positive),
            side(&label.negative, label.n_negative),
            grouped(label.n_missing),
            label.favourable
        );
    }
    for attribute in &data.attributes {
        text += &format!("\n{}", groups(attribute, data.label.is_some()));
    }
    if !data.issues.is_empty() {
        text.push('\n');
    }
    data.issues.iter().for_each(|issue| text += &issue_text(issue, None));
    let awaited = awaited_text(&data.awaited);
    if awaited.is_empty() { text } else { format!("{text}\n{awaited}") }
}

fn values(column: &ColumnPreview) -> String {
    match (column.n_levels, column.min.zip(column.max)) {
        (Some(n), _) => {
            let shown: Vec<String> =
                column.levels.iter().map(|l| format!("{} {}", l.level, grouped(l.n))).collect();
            let more = n - shown.len();
            let more = if more > 0 { format!(", {more} more") } else { String::new() };
            format!("{}{more}", shown.join(", "))
        }
        (None, Some((min, max))) => format!("{} to {}", short(min), short(max)),
        (None, None) if column.kind == "row_id" => "unique".to_owned(),
        // A decision in words: its values are not counted.
        (None, None) if column.class == ValueClass::Text.name() => "text".to_owned(),
        (None, None) => "no value".to_owned(),
    }
}

/// A number with at most six significant digits; the JSON has all of them.
fn short(x: f64) -> String {
    let rounded = format!("{x:.5e}").parse().unwrap_or(x);
    if x.fract() == 0.0 { x.to_string() } else { f64::to_string(&rounded) }
}

fn groups(attribute: &AttributePreview, labelled: bool) -> String {
    let name = format!("{} (from {})", attribute.name, attribute.column);
    let name = if attribute.name == attribute.column { &attribute.name } else { &name };
    let mut head = vec![name.as_str(), "rows", "train", "audited"];
    if labelled {
        head.extend(["of these positive", "negative", "no label"]);
    }
    let rows = attribute.groups.iter().filter(|g| g.group.is_some() || g.rows > 0).map(|g| {
        let group = match &g.group {
            Some(group) if *group == attribute.reference => format!("{group} (reference)"),
            Some(group) => group.clone(),
            None => "(no declared group)".to_owned(),
        };
        let mut cells = vec![group, grouped(g.rows), grouped(g.trained), grouped(g.audited)];
        cells.extend([g.positive, g.negative, g.unlabelled].into_iter().flatten().map(grouped));
        cells
    });
    table(&head, &[1, 2, 3, 4, 5, 6], rows)
}

/// A head and rows as columns of text; those named by `right` end where the widest cell does.
fn table(head: &[&str], right: &[usize], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head = head.iter().map(|&h| h.to_owned()).collect();
    aligned("", &std::iter::once(head).chain(rows).collect::<Vec<_>>(), right)
}

#[cfg(test)]
mod tests {
    use super::{short, table};

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [
            vec!["é".to_owned(), "1,000".to_owned(), String::new()],
            vec!["long".to_owned(), "7".to_owned(), "why".to_owned()],
        ];
        let text = table(&["a", "n", "because"], &[1], rows.into_iter());
        assert_eq!(text, "a         n  because\né     1,000\nlong      7  why\n");
    }

    #[test]
    fn long_numbers_are_cut() {
        assert_eq!(
            [-6.742447135247829, 1_234_567.0, 1_234_567.25, 0.1, 0.0].map(short),
            ["-6.74245", "1234567", "1234570", "0.1", "0"]
        );
    }
}
