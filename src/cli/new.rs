//! `cfaudit new`: writes a first job from a data file.

use crate::cli::args::NewArgs;
use crate::error::{Exit, Result};
use crate::exec::files;
use crate::job::new;

/// Writes a first job from a data file.
pub(crate) fn new(args: &NewArgs) -> Result<Exit> {
    let new::FirstJob { text, guesses } = match (&args.remedy, &args.data) {
        (Some(job), _) => {
            let text = new::remedy::remedies(job)?;
            new::FirstJob { text, guesses: Vec::new() }
        }
        (None, data) => {
            let options = new::NewJobOptions {
                data: data.clone().unwrap_or_default(),
                label: args.label.clone(),
                sensitive: args.sensitive.clone(),
                score: args.score.clone(),
                positive: args.positive.clone(),
                favourable: args.favourable,
                reference: args.reference.clone(),
                out: args.out.as_ref().map(|out| out.display().to_string()),
            };
            let profile = crate::data::source::file_profile::profile_file(&options.data)?;
            new::job(&profile, &options)?
        }
    };
    match &args.out {
        None => crate::cli::print(&text)?,
        Some(out) => {
            files::write_new(out, text.as_bytes(), "name a new file; a job is never overwritten")?
        }
    }
    for guess in guesses {
        crate::cli::print_to_stderr(&format!("guessed: {guess}"));
    }
    Ok(Exit::Done)
}
