//! The hidden verb by which a run asks an endpoint for scores in a process of its own.

use std::time::Duration;

use crate::cli::args::HttpArgs;
use crate::data::exchange::http::{HttpEndpoint, score_stream};
use crate::error::{Error, Exit, Fault, Result};

/// Asks an endpoint for the scores of the rows on standard input.
pub(crate) fn ask_http(args: &HttpArgs) -> Result<Exit> {
    let fault = |what: String| Error::from(Fault::new("command-failed", what));
    let words: Vec<&str> = args.how.splitn(5, ',').collect();
    let [batch, parallel, retries, seconds, token] = words[..] else {
        return Err(fault("`--how` takes five words".to_owned()));
    };
    let number = |word: &str| {
        word.parse::<u32>().map_err(|_| fault(format!("`{word}` is no number for `--how`")))
    };
    let token = (!token.is_empty()).then(|| std::env::var(token)).transpose();
    let endpoint = HttpEndpoint {
        url: args.url.clone(),
        version: args.model_version.clone(),
        protocol: args.protocol.parse().map_err(fault)?,
        batch: number(batch)? as usize,
        parallel: number(parallel)? as usize,
        retries: number(retries)?,
        timeout: Duration::from_secs(number(seconds)?.into()),
        missing_at_most: args.missing_at_most,
        token: token.map_err(|_| fault("the variable with the token is not text".to_owned()))?,
        answers: Some(args.answers.clone()),
    };
    let output = std::io::stdout().lock();
    score_stream(&endpoint, std::io::stdin().lock(), output)?;
    Ok(Exit::Done)
}
