//! What `cfaudit diff` says about two folders: a page, text for a terminal, Markdown for a pull
//! request.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::control_characters::on_one_line;
use crate::folder::manifest::{Manifest, RunComparison};
use crate::report::export::{deciding, gate_sentence_in_units, printed};
use crate::report::page::glossary::GlossaryEntry;
use crate::report::page::terms::PageGlossary;
use crate::report::page::{PageSection, of_sections};
use crate::report::section::against::{self, tally};
use crate::report::shown_changes::ShownChanges;
use crate::table::{ChangeRow, GateRow, TableRow};
use crate::text::fact;

/// Changes on a page.
const ROWS_SHOWN: usize = 100;

/// Two folders compared: what the forms below are made of.
#[derive(Debug, Clone)]
pub(crate) struct FolderDiff {
    /// The old folder as the user named it, and its manifest.
    pub old: (String, Manifest),
    /// The new one.
    pub new: (String, Manifest),
    /// How they were compared.
    pub compared: RunComparison,
    /// The table `changes`.
    pub changes: Vec<ChangeRow>,
    /// The table `gates` of a job that was asked about them; empty where none was.
    pub gates: Vec<GateRow>,
    /// The exit status that these gates ask for.
    pub exit: u8,
    /// The tables `gates` of both folders: how each run was judged by its own gates.
    pub judged: [Vec<GateRow>; 2],
}

impl FolderDiff {
    /// Whether anything differs: a value, a definition, a table, or what is measured at all.
    pub(crate) fn differs(&self) -> bool {
        !self.compared.differs.is_empty()
            || !self.other_tables().is_empty()
            || self.changes.iter().any(|row| {
                !["compared", "refitted"].contains(&row.status.as_str())
                    || row.old_value.map(f64::to_bits) != row.new_value.map(f64::to_bits)
            })
    }

    /// The page.
    pub(crate) fn html(&self, glossary: &dyn Fn(&str) -> Option<GlossaryEntry>) -> String {
        let mut glossary = PageGlossary::new(glossary);
        let of_rows = self.new.1.person.is_some();
        let against =
            against::section(&self.compared, of_rows, &self.changes, ROWS_SHOWN, &mut glossary);
        let metrics = PageSection::new("metrics", vec![glossary.block()]);
        let [gates, folders] = self.folders();
        let sections = [Some(against), gates, Some(metrics), folders];
        let sections: Vec<PageSection> = sections.into_iter().flatten().collect();
        let own = context!(stand_in => self.stand_in(), is_annex => false, has_maps => false);
        of_sections(None, &self.new.1, own, &sections)
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

    /// How each run was judged, and where the two are.
    fn folders(&self) -> [Option<PageSection>; 2] {
        let gates = self.before_and_after();
        let gates = (!gates.is_empty()).then(|| {
            let facts = context!(part => "gates", gates => fact(&gates));
            PageSection::of_facts("gates", "folders.html", facts)
        });
        let facts = context!(part => "runs", runs => fact(&[&self.old, &self.new]));
        [gates, Some(PageSection::of_facts("folders", "folders.html", facts))]
    }

    /// Text for a terminal: clear changes, with `all` every one that was compared.
    pub(crate) fn text(&self, all: bool) -> String {
        self.form("diff.txt", on_one_line, all)
    }

    /// As [`Self::text`], as Markdown.
    pub(crate) fn markdown(&self, all: bool) -> String {
        self.form("diff_in_markdown.txt", escaped, all).trim_end().to_owned() + "\n"
    }

    /// One of the forms, in which texts from folders are written as `shown` says.
    fn form(&self, form: &str, shown: fn(&str) -> String, all: bool) -> String {
        let side = |(path, m): &(String, Manifest)| {
            context! {
                path, job => &m.job, run => &m.run, version => &m.words.version,
                n => m.rows.audited, of_rows => m.person.is_some(),
            }
        };
        let shown_changes = self.shown();
        let of_rows = self.new.1.person.is_some();
        let told = |row: &ChangeRow| against::change_row_facts(row, of_rows);
        let rows: Value = shown_changes.printed(all).map(told).collect();
        let verdicts: Vec<[&str; 3]> =
            deciding(&self.gates).map(|row| [&*row.gate, &*row.verdict, &*row.reason]).collect();
        let facts = context! {
            old => side(&self.old), new => side(&self.new), pairing => &self.compared.pairing,
            tally => tally(&self.compared, &shown_changes),
            stand_in => self.stand_in(), shows_all => all,
            tables => self.other_tables().into_iter().collect::<Value>(),
            differs => fact(&self.compared.differs), rows,
            gates => fact(&self.before_and_after()), verdicts => fact(&verdicts),
        };
        printed(form, facts, shown)
    }

    /// Every gate of either run with its verdict in both.
    pub(crate) fn before_and_after(&self) -> Vec<[String; 3]> {
        let mut gates: BTreeMap<&str, [String; 2]> = BTreeMap::new();
        let none = printed("gate.txt", context!(row => ()), str::to_owned);
        for (at, table) in self.judged.iter().enumerate() {
            for row in deciding(table) {
                let told =
                    gates.entry(row.gate.as_str()).or_insert_with(|| [none.clone(), none.clone()]);
                told[at] = format!("{}: {}", row.verdict.as_str(), gate_sentence_in_units(row));
            }
        }
        gates.into_iter().map(|(gate, [before, after])| [gate.to_owned(), before, after]).collect()
    }

    /// Its changes as they are shown.
    pub(crate) fn shown(&self) -> ShownChanges<'_> {
        ShownChanges::of(&self.changes)
    }
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
