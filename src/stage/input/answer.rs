//! A file of scores as the answer to a request: where it is, what it holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::exec::files::{self, make_folder, read_text};
use crate::exec::replaced_file::replace;
use crate::folder::read as opened;
use crate::job::Job;
use crate::stage::input::score_files::file_name_of;
use crate::stage::settings::{RunSettings, default_folder};

/// The folder of the rows as they are, next to the folders of sets, which have their names. No set
/// may have this name.
pub(crate) const FACTUAL: &str = "factual";

/// What the stage that joins a file records about it.
pub(crate) const ANSWER: &str = "answer.json";

/// Folder of the cache that remembers which request of each set a file was taken for.
pub(crate) const ANSWERS: &str = "answered";

/// What a file of scores states about the rows that it answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ScoreAnswer {
    pub(crate) request: String,
    /// Whether the file names them itself.
    pub(crate) named: bool,
}

/// The requests for which files without a request of their own were accepted.
#[derive(Debug, Default)]
pub(crate) struct AnswerMemory {
    /// Folder of the cache; none without a cache.
    notes: Option<PathBuf>,
    /// Sets and their requests by the hash of a file, from the manifest of the output folder.
    published: BTreeMap<String, Vec<[String; 2]>>,
}

impl AnswerMemory {
    /// What is remembered of a job. An output folder that cannot be read gives nothing.
    pub(crate) fn load(job: &Job, settings: &RunSettings) -> Self {
        let out = settings.out.clone().unwrap_or_else(|| default_folder(job));
        let manifest =
            opened::manifest(&out).ok().filter(|(manifest, _)| manifest.job == job.name.as_str());
        let answers = manifest
            .into_iter()
            .flat_map(|(manifest, _)| manifest.answers)
            .filter(|answer| !answer.named);
        let mut published: BTreeMap<String, Vec<[String; 2]>> = BTreeMap::new();
        for answer in answers {
            let set = Some(answer.counterfactual.as_str()).filter(|set| !set.is_empty());
            published.entry(answer.sha256).or_default().push([folder_of(set), answer.request]);
        }
        AnswerMemory {
            notes: settings.cache.as_ref().map(|cache| cache.join(ANSWERS).join(job.name.as_str())),
            published,
        }
    }

    /// Another request that the file was taken for: of the same set, or of one that is not among
    /// `sets`.
    pub(crate) fn other_request(
        &self,
        sha256: &str,
        [set, request]: [&str; 2],
        sets: &[String],
    ) -> Result<Option<String>> {
        let counts = |of: &str| of == set || !sets.iter().any(|known| known == of);
        let mut known = self.published.get(sha256).cloned().unwrap_or_default();
        let notes =
            self.notes.as_ref().map(|notes| notes.join(sha256)).filter(|notes| notes.is_dir());
        if let Some(notes) = notes {
            for note in files::list(&notes)? {
                let of = note.file_name().unwrap_or_default().to_string_lossy().into_owned();
                // A note that is still being written does not count.
                if counts(&of) && !of.starts_with('.') {
                    known.push([of, read_text(&note)?]);
                }
            }
        }
        let mut others: Vec<[String; 2]> =
            known.into_iter().filter(|[of, known]| counts(of) && known != request).collect();
        others.sort();
        Ok(others.into_iter().next().map(|[_, request]| request))
    }

    /// Remembers a file that was taken.
    pub(crate) fn remember(&self, sha256: &str, [set, request]: [&str; 2]) -> Result<()> {
        let Some(notes) = self.notes.as_ref().map(|notes| notes.join(sha256)) else {
            return Ok(());
        };
        make_folder(&notes)?;
        replace(&notes.join(set), request.as_bytes())
    }
}

/// The folder of rows to score for a set, or for the rows as they are.
pub(crate) fn folder_of(set: Option<&str>) -> String {
    set.map_or_else(|| FACTUAL.to_owned(), file_name_of)
}

/// Whether a model of the job awaits scores of the rows as they are, or of sets, from a file.
pub(crate) fn awaits_files(job: &Job) -> (bool, bool) {
    let mut scores = job.models.values().filter_map(|model| model.given_scores());
    let sets = !job.counterfactuals.is_empty()
        && scores.clone().any(|scores| scores.counterfactual.is_some());
    (scores.any(|scores| scores.factual.parquet.is_some()), sets)
}
