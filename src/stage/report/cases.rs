//! The cases of a finished folder as CSV: who would be decided otherwise, by the user's own ids.
//!
//! The cases come from `rows/outcomes.parquet`, which names people only where the job itself asks
//! for them, and what changed from `rows/counterfactuals/`, where the folder keeps it. The
//! requested cases are held in memory.

use std::collections::HashMap;
use std::path::Path;

use crate::data::exchange::kept_counterfactuals::each_change;
use crate::error::{Error, Result};
use crate::folder::manifest::Manifest;
use crate::folder::read::verified;
use crate::job::read::word_lists::suggest;
use crate::stage::input::answer::folder_of;
use crate::stage::kept_rows::KEPT;
use crate::table::file::read_file;
use crate::table::{OutcomeRow, SharedText, TableRow};

/// The names of the columns.
const HEADER: &str = "row_id,model,counterfactual,sensitive,from_group,to_group,cf_index,score,\
    decision,score_cf,decision_cf,switched,changed\n";

/// Which cases are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct AskedCases {
    /// Only those whose decision would be another.
    pub(crate) switched: bool,
    /// Only those of this model.
    pub(crate) model: Option<String>,
    /// Only those of this set.
    pub(crate) counterfactual: Option<String>,
    /// Only those of a direction, written `FROM,TO`: the names may have commas of their own.
    pub(crate) direction: Option<String>,
}

impl AskedCases {
    fn takes(&self, row: &OutcomeRow) -> bool {
        let is = |asked: &Option<String>, found: &SharedText| {
            asked.as_ref().is_none_or(|asked| found.as_str() == asked)
        };
        let way = |asked: &String| *asked == written(&row.from_group, &row.to_group);
        is(&self.model, &row.model)
            && is(&self.counterfactual, &row.counterfactual)
            && self.direction.as_ref().is_none_or(way)
            && (!self.switched || switched(row) == Some(true))
    }

    /// Refuses names that the folder does not have: an empty list would look like an answer.
    fn check(&self, manifest: &Manifest) -> Result<()> {
        let known = |flag: &str, asked: &Option<String>, names: Vec<&str>| match asked {
            Some(name) if !names.contains(&name.as_str()) => {
                let hint = suggest(name, "known names", names.iter().copied());
                Err(refused(format!("`{name}` of `--{flag}` is not in the folder"), hint))
            }
            _ => Ok(()),
        };
        let models = manifest.models.iter().map(|model| model.name.as_str()).collect();
        let sets = manifest.counterfactuals.iter().map(|set| set.name.as_str()).collect();
        known("model", &self.model, models)?;
        known("counterfactual", &self.counterfactual, sets)?;
        let directions = manifest.attributes.iter().flat_map(|attribute| {
            let groups = &attribute.groups;
            groups.iter().flat_map(|from| {
                groups.iter().filter(move |to| *to != from).map(|to| written(from, to))
            })
        });
        let directions: Vec<String> = directions.collect();
        known("direction", &self.direction, directions.iter().map(String::as_str).collect())
    }
}

/// A direction as the command line names it.
fn written(from: &str, to: &str) -> String {
    format!("{from},{to}")
}

/// A request on the command line that cannot be met.
pub(crate) fn refused(what: String, hint: String) -> Error {
    Error::command_line("unknown-word", "", what, hint)
}

/// Whether the decision would be another; none where one of the two is not decided.
fn switched(row: &OutcomeRow) -> Option<bool> {
    row.predicted.zip(row.predicted_cf).map(|(before, after)| before != after)
}

/// One case, and what changed in it.
struct Case {
    row: OutcomeRow,
    changed: String,
}

/// The cases of a folder.
///
/// # Errors
/// The folder is damaged or holds no numbers; its outcomes name nobody; a name is not known there.
pub(crate) fn cases(folder: &Path, asked: &AskedCases) -> Result<String> {
    let outcomes = format!("rows/{}", OutcomeRow::TABLE.file());
    let is_row = |name: &str| name == outcomes || name.starts_with(KEPT);
    let (manifest, _) = verified(folder, is_row)?;
    asked.check(&manifest)?;
    let nameless = |cause: &str| {
        let hint = "write `run: {keep_rows: outcomes}` into the job, or `all` to list what changed \
                    too, and run it again";
        Error::operator("export the cases of", folder, cause, hint)
    };
    let file = folder.join(&outcomes);
    if !file.try_exists().map_err(|e| Error::io("read", &file, &e))? {
        return Err(nameless("it keeps no outcomes"));
    }
    let (mut found, mut named) = (Vec::new(), true);
    read_file(&file, |row: &OutcomeRow| {
        named &= row.row_id.is_some();
        if asked.takes(row) {
            found.push(Case { row: row.clone(), changed: String::new() });
        }
    })?;
    if !named {
        return Err(nameless("its outcomes do not name people: the job does not ask for it"));
    }
    tell_changes(folder, &manifest, &mut found)?;
    let words = decision_words(&manifest);
    Ok(found.iter().fold(HEADER.to_owned(), |text, case| text + &line(case, words)))
}

/// Fills in what changed, where the folder keeps the counterfactuals.
fn tell_changes(folder: &Path, manifest: &Manifest, found: &mut [Case]) -> Result<()> {
    for set in &manifest.counterfactuals {
        let mut places: HashMap<[String; 4], Vec<usize>> = HashMap::new();
        for (place, Case { row, .. }) in found.iter().enumerate() {
            if row.counterfactual.as_str() == set.name {
                let id = row.row_id.as_ref().map_or("", SharedText::as_str);
                let key = [id, &row.sensitive, &row.to_group].map(str::to_owned);
                let [id, sensitive, to] = key;
                let key = [id, sensitive, to, row.cf_index.to_string()];
                places.entry(key).or_default().push(place);
            }
        }
        if places.is_empty() {
            continue;
        }
        each_change(&folder.join(KEPT).join(folder_of(Some(&set.name))), |key, changed| {
            for &place in places.get(&key.map(str::to_owned)).into_iter().flatten() {
                changed.clone_into(&mut found[place].changed);
            }
        })?;
    }
    Ok(())
}

/// The negative and the positive decision: in the words of the job, else as the side that it calls
/// favourable.
fn decision_words(manifest: &Manifest) -> [&str; 2] {
    let words = manifest.label.as_ref().and_then(|label| label.words.as_ref());
    let [favourable, unfavourable] = words.map_or(["favourable", "unfavourable"], |words| {
        [words.favourable.trim(), words.unfavourable.trim()]
    });
    match manifest.favourable_is_positive() {
        None => ["negative", "positive"],
        Some(true) => [unfavourable, favourable],
        Some(false) => [favourable, unfavourable],
    }
}

fn line(case: &Case, words: [&str; 2]) -> String {
    let row = &case.row;
    let score = |score: Option<f64>| score.map_or_else(String::new, |score| score.to_string());
    let decision = |decision: Option<bool>| {
        csv_field(decision.map_or("", |positive| words[usize::from(positive)]))
    };
    let switched = match switched(row) {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    let texts = [
        row.row_id.as_ref().map_or("", SharedText::as_str),
        &row.model,
        &row.counterfactual,
        &row.sensitive,
        &row.from_group,
        &row.to_group,
    ];
    let numbers = [
        row.cf_index.to_string(),
        score(row.score),
        decision(row.predicted),
        score(row.score_cf),
        decision(row.predicted_cf),
        switched.to_owned(),
    ];
    let cells = texts.into_iter().map(csv_field).chain(numbers);
    let cells: Vec<String> = cells.chain([csv_field(&case.changed)]).collect();
    cells.join(",") + "\n"
}

/// A text as a field of CSV.
fn csv_field(text: &str) -> String {
    // Names of groups and ids come from data: one that begins like a formula must not become one.
    let text =
        if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { &format!("'{text}") } else { text };
    let quoted = text.contains([',', '"', '\n', '\r']);
    if quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::csv_field;

    #[test]
    fn fields_are_quoted_and_no_formula() {
        for (text, field) in [
            ("30+", "30+"),
            ("a,b", "\"a,b\""),
            ("m\"x\n", "\"m\"\"x\n\""),
            ("=1+1", "'=1+1"),
            ("-1|x", "'-1|x"),
            ("@a,b", "\"'@a,b\""),
        ] {
            assert_eq!(csv_field(text), field);
        }
    }
}
