//! Parts of jobs in documents, which `tests/it/docs.rs` checks within a whole job: the document,
//! and a text of it above the part. `src/job/tests/used_keys.rs` counts their keys as used.

pub(crate) const FRAGMENTS: &[(&str, &str)] = &[
    ("counterfactuals.md", "| `external` |"),
    ("counterfactuals.md", "A program can make them"),
    ("graph-uncertainty.md", "## How strong must"),
    ("graph-uncertainty.md", "## The job"),
    ("jobs.md", "## Attributes that are"),
    ("jobs.md", "## Metrics"),
    ("jobs.md", "## Text files"),
    ("jobs.md", "## Which rows train"),
    ("models-and-experiments.md", "## Do the scores go"),
    ("models-and-experiments.md", "## Experiments:"),
    ("models-and-experiments.md", "## Models trained"),
    ("models-and-experiments.md", "**A registered model**"),
    ("models-and-experiments.md", "**An endpoint**"),
    ("models-and-experiments.md", "**Python**"),
    ("models-and-experiments.md", "ends the run (`bad-answer`)"),
    ("operate.md", "## Baselines"),
    ("rows.md", "## Rows that are being written"),
    ("rows.md", "## Types"),
    ("scale.md", "## Rows that only an engine"),
];
