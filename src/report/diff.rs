//! What `cfaudit diff` says about two folders: a page, text for a terminal, Markdown for a pull
//! request.

use std::collections::{BTreeMap, BTreeSet};

use crate::folder::manifest::{Manifest, RunComparison};
use crate::report::export::{deciding, gate_sentence_in_units};
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::terms::{self, PageGlossary};
use crate::report::page::words::RichText;
use crate::report::page::{PageBlock, PageSection, PageTable, ReportRow, SectionPage, number};
use crate::report::section::against::{
    self, apart, comparable, is_clear, is_judged, left_out_in_words, ordered, reading,
    refitted_in_words, sentence,
};
use crate::report::section::models::place;
use crate::report::visible::visible;
use crate::table::{ChangeRow, GateRow, TableRow};

/// Changes on a page.
const ROWS_SHOWN: usize = 100;

/// Two folders compared: what the forms below are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderDiff<'a> {
    /// The old folder as the user named it, and its manifest.
    pub old: (&'a str, &'a Manifest),
    /// The new one.
    pub new: (&'a str, &'a Manifest),
    /// How they were compared.
    pub compared: &'a RunComparison,
    /// The table `changes`.
    pub changes: &'a [ChangeRow],
    /// The table `gates` of a job that was asked about them; empty where none was.
    pub gates: &'a [GateRow],
    /// The tables `gates` of both folders: how each run was judged by its own gates.
    pub judged: [&'a [GateRow]; 2],
}

impl FolderDiff<'_> {
    /// The page.
    pub(crate) fn html(&self, glossary: &dyn Fn(&str) -> Option<GlossaryEntry>) -> String {
        let mut glossary = PageGlossary::new(glossary);
        let against = against::section(self.compared, self.changes, ROWS_SHOWN, &mut glossary);
        let metrics = PageSection {
            id: "metrics",
            title: "Metrics on this page",
            blocks: vec![PageBlock::Glossary(glossary.shown)],
        };
        let manifest = self.new.1;
        let page = SectionPage {
            title: format!("{} against its last version", manifest.job),
            job: manifest.job.clone(),
            run: manifest.run.clone(),
            program: manifest.program.clone(),
            stand_in: self.stand_in().map(str::to_owned),
            is_annex: false,
            has_maps: false,
            sections: [Some(against), self.gates(), Some(metrics), Some(self.folders())]
                .into_iter()
                .flatten()
                .collect(),
        };
        page.html()
    }

    /// The tables that are not the same in both folders, but those of verdicts and of changes,
    /// which depend on what was compared before.
    pub(crate) fn other_tables(&self) -> Vec<&str> {
        let files = [&self.old.1.files, &self.new.1.files];
        let names: BTreeSet<&String> = files.iter().flat_map(|files| files.keys()).collect();
        let table = |name: &&'_ String| {
            name.starts_with("tables/") && files[0].get(*name) != files[1].get(*name)
        };
        let differing = names
            .into_iter()
            .filter(table)
            .filter_map(|name| name.strip_prefix("tables/")?.strip_suffix(".parquet"));
        differing
            .filter(|name| ![GateRow::TABLE.name, ChangeRow::TABLE.name].contains(name))
            .collect()
    }

    fn stand_in(&self) -> Option<&str> {
        self.new.1.stand_in.as_deref().or(self.old.1.stand_in.as_deref())
    }

    fn gates(&self) -> Option<PageSection> {
        let row = |[gate, before, after]: [String; 3]| {
            ReportRow::new(RichText::new().name(&gate), [before, after])
        };
        let rows = self.before_and_after().into_iter().map(row);
        let table = PageTable::of_words(["Gate", "Before", "After"], rows).filled()?;
        let caption = "Gates before and after, as judged in their own runs".into();
        let table = PageBlock::Table(PageTable { caption, ..table });
        Some(PageSection { id: "gates", title: "Gates before and after", blocks: vec![table] })
    }

    fn folders(&self) -> PageSection {
        let row = |(path, manifest): (&str, &Manifest)| {
            let audited = i64::try_from(manifest.rows.audited).unwrap_or(i64::MAX);
            let cells = [
                RichText::new().name(&manifest.job),
                RichText::new().code(&manifest.run),
                manifest.program.as_str().into(),
                number::count(audited).into(),
                RichText::new().code(&manifest.job_hash),
            ];
            ReportRow::new(RichText::new().quote(path), cells)
        };
        let head = ["Folder", "Job", "Run", "Program", "People", "SHA-256 of the resolved job"];
        let table = PageTable::of_words(head, [row(self.old), row(self.new)]);
        let caption = "The two runs, the older one first".into();
        let table = PageBlock::Table(PageTable { caption, ..table });
        PageSection { id: "folders", title: "Where it comes from", blocks: vec![table] }
    }

    /// The changes to print: all, or the clear ones.
    fn rows(&self, all: bool) -> Vec<&ChangeRow> {
        let mut rows = ordered(self.changes);
        rows.retain(|row| {
            is_clear(row) || all && ["compared", "refitted"].contains(&row.status.as_str())
        });
        rows
    }

    /// Text for a terminal; with `all` also the changes that are not clear.
    pub(crate) fn text(&self, all: bool) -> String {
        let mut text: String = self.head().iter().map(|line| on_one_line(line) + "\n").collect();
        for change in &self.compared.differs {
            let value = |value: &Option<String>| value.as_deref().unwrap_or("(nothing)").to_owned();
            let breaks = if change.breaks.is_empty() {
                String::new()
            } else {
                format!("; another meaning: {}", change.breaks)
            };
            let line = format!(
                "  {}: {} -> {}{breaks}",
                change.path,
                value(&change.old),
                value(&change.new)
            );
            text.push_str(&(on_one_line(&line) + "\n"));
        }
        text.push_str(&format!("\n{}\n", self.sentence()));
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(self.rows(all).iter().map(|row| line(row).map(|cell| on_one_line(&cell))));
        if lines.len() > 1 {
            text.push_str(&aligned(&lines));
        }
        text.push_str(&self.rest(all));
        let before_and_after = self.before_and_after();
        if !before_and_after.is_empty() {
            text.push_str("\ngates before and after, as judged in their own runs:\n");
        }
        for [gate, before, after] in before_and_after {
            for line in [gate, format!("  before: {before}"), format!("  after:  {after}")] {
                text.push_str(&format!("  {}\n", on_one_line(&line)));
            }
        }
        for gate in self.verdicts() {
            text.push_str(&(on_one_line(&gate) + "\n"));
        }
        text
    }

    /// Markdown; with `all` also the changes that are not clear.
    pub(crate) fn markdown(&self, all: bool) -> String {
        let mut text: String =
            self.head().iter().map(|line| format!("- {}\n", escaped(line))).collect();
        if !self.compared.differs.is_empty() {
            text.push_str(
                "\n| Value of the job | Old | New | Different meaning |\n\
                 | --- | --- | --- | --- |\n",
            );
        }
        for change in &self.compared.differs {
            let value = |value: &Option<String>| value.as_deref().map_or_else(String::new, escaped);
            text.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                escaped(&change.path),
                value(&change.old),
                value(&change.new),
                escaped(&change.breaks)
            ));
        }
        text.push_str(&format!("\n{}\n", escaped(&self.sentence())));
        let rows = self.rows(all);
        if !rows.is_empty() {
            text.push_str(&format!(
                "\n| {} |\n|{}\n",
                HEAD.join(" | "),
                " --- |".repeat(HEAD.len())
            ));
        }
        for row in &rows {
            text.push_str(&format!("| {} |\n", line(row).map(|cell| escaped(&cell)).join(" | ")));
        }
        // A paragraph each: in Markdown the lines of one run together.
        for line in self.rest(all).lines() {
            text.push_str(&format!("\n{}\n", escaped(line)));
        }
        let before_and_after = self.before_and_after();
        if !before_and_after.is_empty() {
            text.push_str("\n| Gate | Before | After |\n| --- | --- | --- |\n");
        }
        for row in before_and_after {
            text.push_str(&format!("| {} |\n", row.map(|cell| escaped(&cell)).join(" | ")));
        }
        for gate in self.verdicts() {
            text.push_str(&format!("\n- {}", escaped(&gate)));
        }
        text.trim_end().to_owned() + "\n"
    }

    /// Who is compared, and how.
    fn head(&self) -> Vec<String> {
        let side = |word: &str, (path, manifest): (&str, &Manifest)| {
            let version = manifest
                .words
                .version
                .as_ref()
                .map_or_else(String::new, |v| format!(", version {v}"));
            let n = manifest.rows.audited;
            let people = if n == 1 { "person" } else { "people" };
            format!(
                "{word}: {path} (job {}, run {}{version}, {n} {people})",
                manifest.job, manifest.run
            )
        };
        let mut head = vec![
            side("old", self.old),
            side("new", self.new),
            format!("comparable: {}{}", comparable(self.compared), self.forces()),
            format!("same people: {}", self.compared.pairing),
        ];
        head.extend(
            self.stand_in()
                .map(|set| format!("stand-in data for {set}: no number is about real people")),
        );
        head.push(match self.compared.differs.len() {
            0 => "the jobs are equal".to_owned(),
            1 => "one value of the job differs".to_owned(),
            n => format!("{n} values of the job differ"),
        });
        let tables = self.other_tables();
        head.extend(
            (!tables.is_empty()).then(|| format!("tables that differ: {}", tables.join(", "))),
        );
        head
    }

    /// The flag that compares what means something else.
    fn forces(&self) -> &'static str {
        match (self.compared.comparable, self.compared.forced) {
            (false, false) => "; `--force` compares the rest anyway",
            _ => "",
        }
    }

    fn sentence(&self) -> String {
        plain(&sentence(&ordered(self.changes)))
    }

    fn rest(&self, all: bool) -> String {
        let rows = ordered(self.changes);
        let mut rest = String::new();
        let hidden = rows.iter().filter(|row| is_judged(row) && !is_clear(row)).count();
        if hidden > 0 && !all {
            rest.push_str(&format!("not clear: {hidden} changes; `--all` shows them\n"));
        }
        if let Some(words) = refitted_in_words(&rows) {
            rest.push_str(&format!("not judged: {words}\n"));
        }
        let left_out = left_out_in_words(&rows);
        if !left_out.is_empty() {
            rest.push_str(&format!("not compared: {left_out}\n"));
        }
        rest
    }

    /// Every gate of either run with its verdict in both.
    pub(crate) fn before_and_after(&self) -> Vec<[String; 3]> {
        let mut gates: BTreeMap<&str, [String; 2]> = BTreeMap::new();
        for (at, table) in self.judged.into_iter().enumerate() {
            for row in deciding(table) {
                let told = gates
                    .entry(row.gate.as_str())
                    .or_insert_with(|| ["no such gate", "no such gate"].map(str::to_owned));
                told[at] = format!("{}: {}", row.verdict.as_str(), gate_sentence_in_units(row));
            }
        }
        gates.into_iter().map(|(gate, [before, after])| [gate.to_owned(), before, after]).collect()
    }

    fn verdicts(&self) -> Vec<String> {
        let line = |gate: &GateRow| {
            format!(
                "gate {}: {} ({})",
                gate.gate.as_str(),
                gate.verdict.as_str(),
                gate.reason.as_str()
            )
        };
        deciding(self.gates).map(line).collect()
    }

    /// Changes as the JSON form lists them: every row of the table, clear changes first.
    pub(crate) fn ordered(&self) -> Vec<&ChangeRow> {
        ordered(self.changes)
    }
}

const HEAD: [&str; 9] =
    ["metric", "model", "set", "attribute", "where", "old", "new", "change", "reading"];

/// Narrow blanks are for pages.
fn plain(text: &str) -> String {
    text.replace('\u{202f}', " ")
}

fn line(row: &ChangeRow) -> [String; 9] {
    let metric = row.metric.as_str();
    let (kind, apart) = (terms::kind(metric, row.key.scope.as_str()), apart(row));
    let side = |value: Option<f64>, cases: Option<(i64, i64)>| {
        let value = value.map_or_else(|| "undefined".to_owned(), |value| plain(&kind.value(value)));
        match cases {
            Some((part, whole)) => format!("{value} ({part} of {whole})"),
            None => value,
        }
    };
    let change = match (row.difference, row.lo, row.hi) {
        (Some(value), Some(lo), Some(hi)) => {
            format!("{} ({})", plain(&apart.value(value)), plain(&apart.interval(value, lo, hi)))
        }
        (Some(value), ..) => plain(&apart.value(value)),
        (None, ..) => format!("undefined: {}", row.undefined.as_str()),
    };
    let slice = if row.key.slice.is_empty() {
        String::new()
    } else {
        format!(", {}", row.key.slice.as_str())
    };
    let class = if row.class.is_empty() {
        String::new()
    } else {
        format!(", class {}", row.class.as_str())
    };
    [
        metric.to_owned(),
        row.key.model.to_string(),
        row.key.counterfactual.to_string(),
        row.key.sensitive.to_string(),
        place(&row.key.scope, [&row.key.from_group, &row.key.to_group]).plain() + &slice + &class,
        side(row.old_value, row.old_numerator.zip(row.old_denominator)),
        side(row.new_value, row.new_numerator.zip(row.new_denominator)),
        change,
        reading(row),
    ]
}

fn aligned(lines: &[[String; 9]]) -> String {
    let width = |i: usize| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line
            .iter()
            .zip(&widths)
            .fold(String::new(), |row, (cell, width)| format!("{row}  {cell:<width$}"));
        text.push_str(cells.trim_end());
        text.push('\n');
    }
    text
}

/// Text that Markdown leaves as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => escaped.push(' '),
            '|' | '*' | '_' | '<' | '>' | '[' | ']' | '`' | '\\' | '#' | '~' => {
                escaped.extend(['\\', c])
            }
            _ => escaped.push(c),
        }
    }
    on_one_line(escaped.trim_end())
}

/// Words of data on one line of a terminal, with nothing in them that it would obey.
pub(crate) fn on_one_line(text: &str) -> String {
    visible(text)
        .chars()
        .map(|c| if c == '\n' { '\u{240a}' } else { c })
        .collect::<String>()
        .replace('\t', "\u{2409}")
}
