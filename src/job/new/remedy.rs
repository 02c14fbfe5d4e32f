//! Writes the experiments that try the common remedies on the models of a job, for `cfaudit new
//! --remedy JOB`: lines to add to the job.
//!
//! Each is checked as a part of the job; where it does not hold, a comment says why.

use std::fmt::Write as _;
use std::path::Path;

use super::yaml::{comment_text, line, word};
use crate::error::{Error, Result};
use crate::job::check::{read, read_text, to_yaml};
use crate::metric::reading_path::experiment;
use crate::param::Name;

/// The block `experiments` to add to a job: one experiment for each model and counterfactual set
/// that has none yet.
///
/// # Errors
/// The job has problems of its own.
pub(crate) fn remedies(file: &Path) -> Result<String> {
    let mut job = read(file, &[])?.job;
    let tried = std::mem::take(&mut job.experiments);
    // They may ask about arms.
    job.gates.clear();
    let resolved = to_yaml(&job);
    let mut text = "experiments:\n".to_owned();
    let has_one =
        |model: &Name, set: &Name| tried.values().any(|a| a.model == *model && a.from == *set);
    let sets = job.counterfactuals.keys();
    let pairs = job.models.keys().flat_map(|model| sets.clone().map(move |set| (model, set)));
    let mut names = (1..).map(|i| if i == 1 { "remedy".to_owned() } else { format!("remedy-{i}") });
    let mut free = || names.find(|name| tried.keys().all(|arm| arm.as_str() != name));
    let (mut name, mut is_empty) = (free(), true);
    for (model, set) in pairs.filter(|(model, set)| !has_one(model, set)) {
        let block =
            experiment(&word(model.as_str()), &word(set.as_str()), job.data.split.is_none());
        let key = name.clone().unwrap_or_default();
        let with = format!("{resolved}\nexperiments:\n  {key}: {block}\n");
        match read_text(file, with.as_bytes()) {
            Ok(_) => {
                line!(text, "  {key}: {block}");
                (name, is_empty) = (free(), false);
            }
            Err(Error::Job(problems)) => {
                let why = problems.first().map_or_else(String::new, |p| comment_text(&p.what));
                line!(text, "  # not for model {model} and set {set}: {why}");
            }
            Err(other) => return Err(other),
        }
    }
    if is_empty {
        text = text.replacen("experiments:", "# experiments: nothing to add", 1);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::remedies;
    use crate::job::check::read;
    use crate::tests::Says;

    const JOB: &str = "cfaudit: 1\nname: j\ndata:\n  rows: {parquet: a.parquet}\n  \
        label: {column: y, positive: [1], favourable: positive}\n  \
        sensitive: {sex: {groups: [m, f], reference: m}}\n  \
        features: {continuous: [x]}\n  split: {share: {train: 0.7, audit: 0.3}}\n\
        counterfactuals:\n  flip: {naive: {}}\n\
        models:\n  logit: {logistic: {l2: 1.0}}\n  old: {onnx: {model: m.onnx}}\n";

    #[test]
    fn the_lines_make_a_job_that_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.yaml");
        std::fs::write(&file, JOB).unwrap();
        let lines = remedies(&file).unwrap();
        assert!(
            lines.starts_with(
                "experiments:\n  remedy: {model: logit, from: flip, arms: {all: {}, switched: \
                 {}}}\n"
            ),
            "{lines}"
        );
        lines.says(&["# not for model old and set flip: "]);
        std::fs::write(&file, format!("{JOB}{lines}")).unwrap();
        let job = read(&file, &[]).unwrap().job;
        assert_eq!(job.experiments.len(), 1);
        // Nothing is tried twice.
        let again = remedies(&file).unwrap();
        assert!(again.starts_with("# experiments: nothing to add\n"), "{again}");
    }
}
