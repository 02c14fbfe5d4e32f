//! The errors of a store that does not answer as expected, for the user.
//!
//! Answers of a store may repeat parts of a request, and errors its address. So a message consists
//! of our own words, the status and the store's word for it (such as `SlowDown`).

use std::error::Error as StdError;

use object_store::client::{HttpError, HttpErrorKind};

use super::ObjectAddress;
use crate::error::{Error, Fault};

/// Further attempts of a request that fails for a reason that may pass: about ten seconds of
/// waiting in all.
pub(super) const RETRIES: usize = 6;

/// What to do where the credentials are missing or refused.
const CREDENTIALS: &str = "cfaudit takes credentials from the environment (`AWS_*`, `GOOGLE_*`, \
    `AZURE_*`), from the files of the provider or from the machine, and they must allow to list \
    and to read, and to write where a plan or rows to score are put; check account, region and \
    expiry";

const TRY_AGAIN: &str = "run again later, perhaps with fewer `--threads`; finished stages are \
    kept, unless the cache is off";

const NETWORK: &str = "check the network, and the endpoint where the environment names one; then \
    run again: finished stages are kept, unless the cache is off";

/// Words by which stores refuse credentials with a special status.
const REFUSALS: &str = "\
    AccessDenied AuthenticationFailed AuthorizationFailure ExpiredToken InvalidAccessKeyId \
    InvalidToken SignatureDoesNotMatch TokenRefreshRequired";

/// The known parts of an answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct StoreAnswer {
    status: Option<u16>,
    /// The store's word for it.
    word: Option<String>,
}

impl StoreAnswer {
    /// Reads the words of an error.
    fn of(text: &str) -> Self {
        let after = |mark: &str| text.split_once(mark).map(|(_, rest)| rest);
        let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        let status = after("status code");
        let status = status.and_then(|rest| digits(rest.trim_start_matches(": ")).parse().ok());
        let is_word = |word: &&str| {
            (1..=64).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let word = after("<Code>").and_then(|rest| rest.split_once('<')).map(|(word, _)| word);
        StoreAnswer { status, word: word.filter(is_word).map(str::to_owned) }
    }

    /// The answer in words.
    fn words(&self) -> String {
        let status = self.status.map(|status| format!("status {status}"));
        let word = self.word.as_ref().map(|word| format!("`{word}`"));
        let known: Vec<String> = status.into_iter().chain(word).collect();
        if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
    }

    fn refuses(&self) -> bool {
        matches!(self.status, Some(401 | 403))
            || REFUSALS.split(' ').any(|word| self.word.as_deref() == Some(word))
    }
}

/// Why no answer came.
fn lost(cause: &(dyn StdError + 'static)) -> Option<HttpErrorKind> {
    let mut next = Some(cause);
    while let Some(error) = next {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return Some(http.kind());
        }
        next = error.source();
    }
    None
}

/// Whether there is no such object or bucket.
pub(super) fn is_absent(cause: &object_store::Error) -> bool {
    matches!(cause, object_store::Error::NotFound { .. })
        || StoreAnswer::of(&cause.to_string()).status == Some(404)
}

/// Whether the connection was lost in the middle of a list, which the library does not read again.
pub(super) fn is_cut(cause: &object_store::Error) -> bool {
    StoreAnswer::of(&cause.to_string()).status.is_none() && lost(cause).is_some()
}

/// The error of a request to read that failed.
pub(super) fn failed(address: &ObjectAddress, cause: &object_store::Error) -> Error {
    error_of("read", address, cause)
}

/// The error of a request to write that failed.
pub(super) fn not_written(address: &ObjectAddress, cause: &object_store::Error) -> Error {
    error_of("write", address, cause)
}

fn error_of(doing: &str, address: &ObjectAddress, cause: &object_store::Error) -> Error {
    let text = cause.to_string();
    let answer = StoreAnswer::of(&text);
    let of_machine = ["169.254.", "metadata.google.internal"].iter().any(|at| text.contains(at));
    let denied = matches!(
        cause,
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
    );
    let (what, hint) = if of_machine {
        let what = "there are no credentials: neither the environment nor the files of the \
                    provider hold any, and this machine gives none";
        (what.to_owned(), CREDENTIALS)
    } else if matches!(cause, object_store::Error::InvalidPath { .. }) {
        let what = "a key there has an empty part, `.` or `..`, which no folder can have";
        (what.to_owned(), "name a prefix without such keys")
    } else if denied || answer.refuses() {
        (format!("the store refused the credentials{}", answer.words()), CREDENTIALS)
    } else {
        match (answer.status, lost(cause)) {
            (Some(429 | 500..), _) => {
                let what = format!(
                    "the store did not serve the request{}, not at {} further attempts either",
                    answer.words(),
                    RETRIES
                );
                (what, TRY_AGAIN)
            }
            (Some(300..400), _) => {
                let what = "the store has the bucket in another region or at another endpoint";
                (what.to_owned(), "name its region by `AWS_REGION`, or its endpoint")
            }
            (Some(_), _) => {
                (format!("the store refused the request{}", answer.words()), CREDENTIALS)
            }
            (None, Some(HttpErrorKind::Timeout)) => {
                ("the store did not answer in time".to_owned(), NETWORK)
            }
            (None, Some(HttpErrorKind::Connect)) => {
                ("there is no connection to the store".to_owned(), NETWORK)
            }
            (None, Some(_)) => {
                ("the connection to the store was cut again and again".to_owned(), NETWORK)
            }
            (None, None) if text.contains("redirect without LOCATION") => {
                let what = "the store has the bucket in another region or at another endpoint";
                (what.to_owned(), "name its region by `AWS_REGION`, or its endpoint")
            }
            (None, None) => ("the store did not answer as such stores do".to_owned(), NETWORK),
        }
    };
    Error::operator(doing, address.path(), what, hint)
}

/// The error where the environment does not say how to reach a store.
///
/// The words of the library about it may repeat a value.
pub(super) fn unset(address: &ObjectAddress) -> Error {
    let what = "the settings of the store in the environment are incomplete or malformed";
    let hint = "see the variables in docs/rows.md, such as `AWS_ACCESS_KEY_ID` with \
                `AWS_SECRET_ACCESS_KEY`, or `AZURE_STORAGE_ACCOUNT_NAME`";
    Error::operator("read", address.path(), what, hint)
}

/// The fault of an object that is no longer the one that was seen.
pub(super) fn replaced(address: &ObjectAddress) -> Error {
    let path = address.path();
    let what = format!("`{}` was replaced or removed while the run read it", path.display());
    let hint = "no result of it was stored; run again when the object is complete and no longer \
                changes";
    Fault::new("input-changed", what).in_file(path).hint(hint).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Says;

    fn address() -> ObjectAddress {
        ObjectAddress::parse("s3://lake/rows.parquet").unwrap()
    }

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic { store: "S3", source: text.to_owned().into() }
    }

    #[test]
    fn the_answer_of_a_store_is_read() {
        let read = |text: &str| {
            let answer = StoreAnswer::of(text);
            (answer.status, answer.word)
        };
        let slow = "Server returned non-2xx status code: 503 Service Unavailable: \
                    <Error><Code>SlowDown</Code></Error>";
        assert_eq!(read(slow), (Some(503), Some("SlowDown".to_owned())));
        assert_eq!(read("status code: 400 Bad Request: <Code>a secret</Code>"), (Some(400), None));
        assert_eq!(read("connection closed"), (None, None));
    }

    /// A store may repeat what was sent to it.
    #[test]
    fn no_message_repeats_what_a_store_says() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIAhunter2\
                    </AWSAccessKeyId><StringToSign>hunter2</StringToSign></Error>";
        for status in ["403 Forbidden", "400 Bad Request", "503 Service Unavailable", "301 Moved"] {
            let text = format!(
                "Error performing GET http://x/?sig=hunter2 - Server returned \
                 non-2xx status code: {status}: {body}"
            );
            let error = failed(&address(), &generic(&text));
            error.to_string().lacks(&["hunter2"]);
            assert_eq!(error.exit().code(), 5);
        }
    }

    #[test]
    fn each_end_says_what_to_do() {
        let says = |text: &str| failed(&address(), &generic(text)).to_string();
        for (text, words) in [
            ("status code: 503 X: <Code>SlowDown</Code>", "(status 503, `SlowDown`), not at 6"),
            ("status code: 429 X", "(status 429), not at 6 further attempts"),
            (
                "status code: 400 X: <Code>ExpiredToken</Code>",
                "refused the credentials (status 400",
            ),
            ("status code: 405 X", "refused the request (status 405)"),
            ("PUT http://169.254.169.254/latest/api/token", "there are no credentials"),
            ("Received redirect without LOCATION", "`AWS_REGION`"),
            ("something else", "did not answer as such stores do"),
        ] {
            assert!(says(text).contains(words), "{}", says(text));
        }
        let denied = object_store::Error::PermissionDenied {
            path: "rows.parquet".to_owned(),
            source: "status code: 403 Forbidden".into(),
        };
        let said = failed(&address(), &denied).to_string();
        said.says(&["refused the credentials (status 403)"]);
    }
}
