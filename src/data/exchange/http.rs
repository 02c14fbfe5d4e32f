//! Asks an HTTP endpoint for scores: rows as an Arrow IPC stream in, scores as one out, in the
//! order of the rows.
//!
//! Rows go in requests of their own, several at once. A request that fails for a reason that may
//! pass (no connection, a time-out, a broken answer, status 408, 429 or 5xx) is repeated after a
//! pause, and nothing else is. An answer is written down under the hash of its request before the
//! next step, so a run that is killed asks only for what it has no answer to. An answer with
//! another number of scores than rows, or with anything but numbers, ends the work at once.
//! Memory: the rows of one Arrow batch, their scores, and one request a thread.
//! Sources: MLflow's scoring server (`dataframe_split`), the Open Inference Protocol version 2,
//! SageMaker's `text/csv`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, AsArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int64Type, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::exchange::row_stream::{ClassPosition, POSITION};
use crate::data::exchange::score_stream::SCORE;
use crate::data::source_form::{SourceKind, number_text};
use crate::error::{Error, Fault, Result};
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::exec::pieces::at_once;
use crate::param::variant_of;

/// Largest answer, for each row that was asked for, and for the rest of it.
const ANSWER_BYTES: (u64, u64) = (1 << 10, 1 << 20);

/// The pause before the first repetition; it doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The fault of an endpoint that cannot be asked.
fn failed(what: impl ToString) -> Error {
    Fault::new("command-failed", what.to_string()).into()
}

/// How an endpoint is asked.
#[derive(Debug, Clone)]
pub struct HttpEndpoint {
    /// Its address.
    pub url: String,
    /// The version of the model that answers.
    pub version: String,
    /// What requests and answers look like.
    pub protocol: HttpProtocol,
    /// Rows of a request, at least 1.
    pub batch: usize,
    /// Requests at once, at least 1.
    pub parallel: usize,
    /// How often a request is repeated.
    pub retries: u32,
    /// How long one request may take.
    pub timeout: Duration,
    /// Largest share of rows without a score.
    pub missing_at_most: f64,
    /// What the header `Authorization: Bearer` carries.
    pub token: Option<String>,
    /// Where answers are kept; none: nowhere.
    pub answers: Option<PathBuf>,
}

/// What requests and answers look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HttpProtocol {
    /// MLflow: `{"dataframe_split": {"columns": [...], "data": [[...]]}}`, answered by
    /// `{"predictions": [...]}`.
    Mlflow,
    /// The Open Inference Protocol, version 2: one input per column; the output is the only one, or
    /// the one with `prob` in its name.
    KserveV2,
    /// Lines of CSV without a header, answered by one number per line.
    SagemakerCsv,
    /// `{"version": ..., "columns": [...], "rows": [[...]]}`, answered by
    /// `{"version": ..., "scores": [...]}`.
    Json,
}

impl FromStr for HttpProtocol {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        variant_of(word).ok_or_else(|| format!("`{word}` is no protocol"))
    }
}

/// Scores the rows of a stream.
///
/// # Errors
/// The stream is damaged, an answer is wrong, or the endpoint does not answer; says which.
pub fn score_stream(endpoint: &HttpEndpoint, rows: impl Read, scores: impl Write) -> Result<()> {
    let reader = StreamReader::try_new(rows, None).map_err(failed)?;
    let schema = Arc::new(Schema::new(vec![Field::new(SCORE, DataType::Float64, true)]));
    let mut writer = StreamWriter::try_new(scores, &schema).map_err(failed)?;
    let config = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .timeout_global(Some(endpoint.timeout))
        .build();
    let agent = ureq::Agent::new_with_config(config);
    if let Some(folder) = &endpoint.answers {
        files::make_folder(folder).map_err(failed)?;
    }
    let position =
        reader.schema().metadata().get(POSITION).and_then(|text| ClassPosition::parse(text));
    let asked = AskedEndpoint { endpoint, agent, position };
    let (mut n, mut missing) = (0_u64, 0_u64);
    for batch in reader {
        let found = asked.batch(&batch.map_err(failed)?)?;
        n += found.len() as u64;
        missing += found.iter().filter(|score| score.is_nan()).count() as u64;
        let column = found.into_iter().map(|score| (!score.is_nan()).then_some(score));
        let column = Arc::new(column.collect::<Float64Array>());
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
    }
    if missing as f64 > endpoint.missing_at_most * n as f64 {
        let what = format!(
            "{missing} of {n} rows came back without a score, and `missing_at_most` allows a share \
             of {}",
            endpoint.missing_at_most
        );
        return Err(Fault::new("bad-answer", what).into());
    }
    writer.finish().map_err(failed)
}

/// An endpoint that is being asked.
struct AskedEndpoint<'a> {
    endpoint: &'a HttpEndpoint,
    agent: ureq::Agent,
    /// The class of the scores, where the endpoint gives a number for each.
    position: Option<ClassPosition>,
}

impl AskedEndpoint<'_> {
    /// The scores of one batch, in requests of the endpoint's size.
    fn batch(&self, rows: &RecordBatch) -> Result<Vec<f64>> {
        let size = self.endpoint.batch.max(1);
        let n_requests = rows.num_rows().div_ceil(size);
        let one = |k: usize| {
            let from = k * size;
            self.answer(&rows.slice(from, size.min(rows.num_rows() - from)))
        };
        let mut scores = Vec::with_capacity(rows.num_rows());
        for answer in at_once(n_requests, self.endpoint.parallel, one) {
            scores.extend(answer?);
        }
        Ok(scores)
    }

    /// The scores of the rows of one request: those that were written down, or the endpoint's.
    fn answer(&self, rows: &RecordBatch) -> Result<Vec<f64>> {
        let (n, body) = (rows.num_rows(), self.endpoint.body(rows));
        let id = sha256(&body);
        let class = self.position.map_or_else(String::new, |position| format!("-{}", position.at));
        let path = self.endpoint.answers.as_ref().map(|folder| folder.join(format!("{id}{class}")));
        if let Some(known) = path.as_deref().and_then(|path| written_answer(path, n)) {
            return Ok(known);
        }
        let scores = self.ask((&body, &id), n)?;
        if let Some(path) = path {
            let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
            let scratch = path.with_extension("new");
            files::write(&scratch, bytes).map_err(failed)?;
            files::rename(&scratch, &path).map_err(failed)?;
        }
        Ok(scores)
    }

    /// Asks until there is an answer, as often as the endpoint is to be asked.
    fn ask(&self, request: (&[u8], &str), n: usize) -> Result<Vec<f64>> {
        let (url, mut pause) = (&self.endpoint.url, PAUSE);
        for tried in 0_u32.. {
            let (what, wish) = match self.ask_once(request, n) {
                Ok(scores) => return Ok(scores),
                Err(FailedRequest::Final(error)) => {
                    let of_url = |of: Fault| Fault { what: format!("{url} {}", of.what), ..of };
                    return Err(error.map_fault(of_url));
                }
                Err(FailedRequest::Passing(what, wish)) => (what, wish),
            };
            if tried >= self.endpoint.retries {
                let times = match tried {
                    0 => String::new(),
                    _ => format!(" ({} tries)", u64::from(tried) + 1),
                };
                return Err(failed(format!("{url} {what}{times}")));
            }
            std::thread::sleep(wish.unwrap_or(pause).min(LONGEST_PAUSE));
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        Err(failed(format!("{url} gave no answer")))
    }

    fn ask_once(&self, (body, id): (&[u8], &str), n: usize) -> Result<Vec<f64>, FailedRequest> {
        let HttpEndpoint { url, protocol, token, .. } = self.endpoint;
        let kind = match protocol {
            HttpProtocol::SagemakerCsv => "text/csv",
            _ => "application/json",
        };
        let mut request = self
            .agent
            .post(url)
            .header("content-type", kind)
            .header("accept", kind)
            .header("x-request-id", id);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let passing = |what: String| FailedRequest::Passing(what, None);
        let response = request.send(body);
        let mut response = response.map_err(|e| passing(format!("does not answer: {e}")))?;
        let status = response.status().as_u16();
        let (each, rest) = ANSWER_BYTES;
        let limit = rest + each * n as u64;
        if matches!(status, 408 | 429 | 500..=599) {
            let wish = response.headers().get("retry-after").and_then(|v| v.to_str().ok());
            let wish = wish.and_then(|seconds| seconds.trim().parse().ok());
            let what = format!("answers with the status {status}");
            return Err(FailedRequest::Passing(what, wish.map(Duration::from_secs)));
        }
        let text = response.body_mut().with_config().limit(limit).read_to_vec();
        let text = text.map_err(|e| passing(format!("breaks off its answer: {e}")))?;
        let text = String::from_utf8_lossy(&text);
        if !(200..300).contains(&status) {
            let begin: String = text.chars().take(200).flat_map(char::escape_debug).collect();
            let what = format!("answers with the status {status}: `{begin}`");
            return Err(FailedRequest::Final(failed(what)));
        }
        let wrong = |what: String| FailedRequest::Final(Fault::new("bad-answer", what).into());
        let scores = self.endpoint.scores(&text, n, self.position).map_err(wrong)?;
        if scores.len() != n {
            return Err(wrong(format!("gives {} scores for {n} rows", scores.len())));
        }
        Ok(scores)
    }
}

fn written_answer(path: &Path, n: usize) -> Option<Vec<f64>> {
    let bytes = path.is_file().then(|| files::read(path).ok()).flatten()?;
    let whole = bytes.len() == 8 * n;
    let score = |bytes: &[u8]| bytes.try_into().ok().map(f64::from_le_bytes);
    bytes.chunks_exact(8).map(score).collect::<Option<Vec<f64>>>().filter(|_| whole)
}

/// Why a request has no scores.
enum FailedRequest {
    /// It may pass; after this pause, where the endpoint names one.
    Passing(String, Option<Duration>),
    /// Asking again is no use: it refuses, or its answer is wrong.
    Final(Error),
}

impl HttpEndpoint {
    /// The body of a request for these rows.
    fn body(&self, rows: &RecordBatch) -> Vec<u8> {
        let schema = rows.schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let row = |i: usize| -> Value { rows.columns().iter().map(|c| cell(c, i)).collect() };
        let table = || -> Vec<Value> { (0..rows.num_rows()).map(row).collect() };
        match self.protocol {
            HttpProtocol::Mlflow => {
                json!({"dataframe_split": {"columns": names, "data": table()}}).to_string()
            }
            HttpProtocol::Json => {
                json!({"version": self.version, "columns": names, "rows": table()}).to_string()
            }
            HttpProtocol::KserveV2 => {
                let input = |(name, column): (&&str, &Arc<dyn Array>)| {
                    let kind = match column.data_type() {
                        DataType::Int64 if column.null_count() == 0 => "INT64",
                        DataType::Boolean if column.null_count() == 0 => "BOOL",
                        DataType::Utf8 => "BYTES",
                        DataType::Float32 => "FP32",
                        _ => "FP64",
                    };
                    let number = |value: Value| match value {
                        Value::Bool(flag) if kind == "FP64" => json!(u8::from(flag)),
                        other => other,
                    };
                    let data = (0..column.len()).map(|i| number(cell(column, i)));
                    json!({"name": name, "shape": [column.len()], "datatype": kind,
                        "data": data.collect::<Vec<Value>>()})
                };
                let inputs = names.iter().zip(rows.columns()).map(input);
                json!({"inputs": inputs.collect::<Vec<Value>>()}).to_string()
            }
            HttpProtocol::SagemakerCsv => {
                let field = |column: &Arc<dyn Array>, i: usize| match cell(column, i) {
                    Value::Null => String::new(),
                    Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
                        format!("\"{}\"", text.replace('"', "\"\""))
                    }
                    Value::String(text) => text,
                    Value::Bool(flag) => if flag { "True" } else { "False" }.to_owned(),
                    Value::Number(number) => match (column.data_type(), number.as_f64()) {
                        (DataType::Float32, Some(x)) => number_text(x, SourceKind::Single),
                        (DataType::Float64, Some(x)) => number_text(x, SourceKind::Float),
                        _ => Some(number.to_string()),
                    }
                    .unwrap_or_default(),
                    other => other.to_string(),
                };
                let line = |i: usize| {
                    let fields = rows.columns().iter().map(|column| field(column, i));
                    fields.collect::<Vec<String>>().join(",") + "\n"
                };
                (0..rows.num_rows()).map(line).collect()
            }
        }
        .into_bytes()
    }

    /// The scores in an answer; NaN where a row has none.
    fn scores(
        &self,
        text: &str,
        n: usize,
        position: Option<ClassPosition>,
    ) -> Result<Vec<f64>, String> {
        let score = |value: &Value| score(value, position);
        if self.protocol == HttpProtocol::SagemakerCsv {
            // An empty line is a row without a score; the last line end closes a line.
            let text = text.strip_suffix('\n').unwrap_or(text);
            let fields = text.split(['\n', ',']).map(|field| field.trim_end_matches('\r').trim());
            let number = |field: &str| match field {
                "" => Ok(f64::NAN),
                field => field.parse().map_err(|_| format!("gives `{}`, no number", short(field))),
            };
            return fields.map(number).collect();
        }
        match self.protocol {
            HttpProtocol::Mlflow => {
                let answer: MlflowAnswer = answer_of(text)?;
                listed(answer.predictions, "predictions")?.iter().map(score).collect()
            }
            HttpProtocol::Json => {
                let answer: VersionedAnswer = answer_of(text)?;
                let version = match answer.version {
                    None => {
                        let what = "does not say which `version` answers";
                        return Err(format!("{what}, and the job names `{}`", self.version));
                    }
                    Some(Value::String(version)) => version,
                    Some(other) => other.to_string(),
                };
                if version != self.version {
                    let what = format!("answers for the version `{}`", short(&version));
                    return Err(format!("{what}, and the job names `{}`", self.version));
                }
                listed(answer.scores, "scores")?.iter().map(score).collect()
            }
            HttpProtocol::KserveV2 => {
                let answer: InferenceAnswer = answer_of(text)?;
                let mut outputs = answer.outputs.ok_or_else(|| without_list("outputs"))?;
                if outputs.len() != 1 {
                    let is_named = |of: &InferenceOutput| {
                        let name = of.name.as_ref().and_then(Value::as_str);
                        name.is_some_and(|name| name.contains("prob"))
                    };
                    outputs.retain(is_named);
                }
                let output = outputs.into_iter().next();
                let output = output.ok_or("gives no output with `prob` in its name")?;
                let data = listed(output.data, "data")?;
                if data.iter().any(Value::is_array) {
                    return data.iter().map(score).collect();
                }
                let number = |value: &Value| self::score(value, None);
                let flat: Vec<f64> = data.iter().map(number).collect::<Result<_, _>>()?;
                let width = flat.len().checked_div(n).unwrap_or(0);
                let is_table = width > 1 && output.shape == Some(json!([n, width]));
                // A table of classes, or a number a row.
                let width = if is_table { width } else { 1 };
                let at = ClassPosition::in_row(position, width);
                let at = at.ok_or_else(|| ClassPosition::refusal(width))?;
                Ok(flat.into_iter().skip(at).step_by(width).collect())
            }
            HttpProtocol::SagemakerCsv => Ok(Vec::new()),
        }
    }
}

/// What is read of an answer of MLflow. Of keys that are read each may occur once: it is not known
/// which of two values is meant.
#[derive(Default, Deserialize)]
struct MlflowAnswer {
    predictions: Option<Value>,
}

/// What is read of an answer in plain JSON.
#[derive(Default, Deserialize)]
struct VersionedAnswer {
    version: Option<Value>,
    scores: Option<Value>,
}

/// What is read of an answer of the Open Inference Protocol.
#[derive(Default, Deserialize)]
struct InferenceAnswer {
    outputs: Option<Vec<InferenceOutput>>,
}

/// One of its lists.
#[derive(Deserialize)]
struct InferenceOutput {
    name: Option<Value>,
    shape: Option<Value>,
    data: Option<Value>,
}

/// The keys of an answer that are read; none of an answer that is no object, which would be read as
/// their values in order.
fn answer_of<T: Default + DeserializeOwned>(text: &str) -> Result<T, String> {
    let answer = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text),
        false => serde_json::from_str::<Value>(text).map(|_| T::default()),
    };
    answer.map_err(|e| format!("gives no sound JSON: {e}"))
}

fn without_list(key: &str) -> String {
    format!("gives an answer without the list `{key}`")
}

/// A list that an answer must hold.
fn listed(list: Option<Value>, key: &str) -> Result<Vec<Value>, String> {
    match list {
        Some(Value::Array(list)) => Ok(list),
        _ => Err(without_list(key)),
    }
}

/// A score: a number, null, or the probability of the class at this position.
fn score(value: &Value, position: Option<ClassPosition>) -> Result<f64, String> {
    let numbers = match value {
        Value::Null => return Ok(f64::NAN),
        Value::Array(several) => several.as_slice(),
        one => std::slice::from_ref(one),
    };
    let at = ClassPosition::in_row(position, numbers.len());
    match &numbers[at.ok_or_else(|| ClassPosition::refusal(numbers.len()))?] {
        Value::Null => Ok(f64::NAN),
        number => number
            .as_f64()
            .ok_or_else(|| format!("gives `{}` for a row, no number", short(&number.to_string()))),
    }
}

fn short(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

/// A value as JSON; a missing one is null.
fn cell(column: &Arc<dyn Array>, i: usize) -> Value {
    if column.is_null(i) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Int64 => column.as_primitive::<Int64Type>().value(i).into(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(i).into(),
        DataType::Float32 => f64::from(column.as_primitive::<Float32Type>().value(i)).into(),
        DataType::Boolean => column.as_boolean().value(i).into(),
        DataType::Utf8 => column.as_string::<i32>().value(i).into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use arrow::array::{
        ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    };

    use super::{ClassPosition, HttpEndpoint, HttpProtocol};
    use crate::tests::Says;

    fn endpoint(word: &str) -> HttpEndpoint {
        HttpEndpoint {
            url: "http://localhost".to_owned(),
            version: "7".to_owned(),
            protocol: word.parse::<HttpProtocol>().unwrap(),
            batch: 2,
            parallel: 1,
            retries: 0,
            timeout: Duration::from_secs(1),
            missing_at_most: 0.0,
            token: None,
            answers: None,
        }
    }

    /// What each protocol sends, and what it reads.
    #[test]
    fn requests_and_answers() {
        let columns: [(&str, ArrayRef); 4] = [
            ("age", Arc::new(Int64Array::from(vec![40, 17]))),
            ("debt", Arc::new(Float64Array::from(vec![Some(0.1), None]))),
            ("job", Arc::new(StringArray::from(vec![Some("cook, chef"), None]))),
            ("member", Arc::new(BooleanArray::from(vec![true, false]))),
        ];
        let rows = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .unwrap();
        let (nan, second) = (f64::NAN, ClassPosition { at: 1, among: Some(2) });
        for (word, body, answers) in [
            (
                "mlflow",
                concat!(
                    r#"{"dataframe_split":{"columns":["age","debt","job","member"],"#,
                    r#""data":[[40,0.1,"cook, chef",true],[17,null,null,false]]}}"#
                ),
                vec![
                    (r#"{"predictions": [0.25, 1]}"#, Ok(vec![0.25, 1.0])),
                    (r#"{"predictions": [[0.75, 0.25], null]}"#, Ok(vec![0.25, nan])),
                    (r#"{"predictions": ["good", 1]}"#, Err("gives `\\\"good\\\"` for a row")),
                    (r#"{"scores": [1, 1]}"#, Err("without the list `predictions`")),
                    ("<html>", Err("gives no sound JSON")),
                ],
            ),
            (
                "json",
                concat!(
                    r#"{"version":"7","columns":["age","debt","job","member"],"#,
                    r#""rows":[[40,0.1,"cook, chef",true],[17,null,null,false]]}"#
                ),
                vec![
                    (r#"{"scores": [0.5, 0.125], "version": "7"}"#, Ok(vec![0.5, 0.125])),
                    (r#"{"scores": [0.5, 0.125], "version": 7}"#, Ok(vec![0.5, 0.125])),
                    (r#"{"scores": [0.5, 1], "version": "8"}"#, Err("answers for the version `8`")),
                    (r#"{"scores": [0.5, 1], "version": 8}"#, Err("answers for the version `8`")),
                    (r#"{"scores": [0.5, 1]}"#, Err("does not say which `version` answers")),
                    (
                        r#"{"scores": [0.5, 1], "version": 7, "scores": [1, 1]}"#,
                        Err("duplicate field `scores`"),
                    ),
                ],
            ),
            (
                "kserve-v2",
                concat!(
                    r#"{"inputs":[{"name":"age","shape":[2],"datatype":"INT64","data":[40,17]},"#,
                    r#"{"name":"debt","shape":[2],"datatype":"FP64","data":[0.1,null]},"#,
                    r#"{"name":"job","shape":[2],"datatype":"BYTES","data":["cook, chef",null]},"#,
                    r#"{"name":"member","shape":[2],"datatype":"BOOL","data":[true,false]}]}"#
                ),
                vec![
                    (
                        r#"{"outputs": [{"name": "y", "shape": [2], "data": [0.5, 0.25]}]}"#,
                        Ok(vec![0.5, 0.25]),
                    ),
                    (
                        r#"{"outputs": [{"name": "label", "shape": [2], "data": [0, 1]},
                           {"name": "probs", "shape": [2, 2], "data": [0.5, 0.5, 0.75, 0.25]}]}"#,
                        Ok(vec![0.5, 0.25]),
                    ),
                    (
                        r#"{"outputs": [{"name": "y", "data": [0, 1], "data": [1, 0]}]}"#,
                        Err("duplicate field `data`"),
                    ),
                    (
                        r#"{"outputs": [{"name": "a", "data": []}, {"name": "b", "data": []}]}"#,
                        Err("no output with `prob`"),
                    ),
                ],
            ),
            (
                "sagemaker-csv",
                "40,0.1,\"cook, chef\",True\n17,,,False\n",
                vec![
                    ("0.5\n0.25\n", Ok(vec![0.5, 0.25])),
                    ("0.5,0.25", Ok(vec![0.5, 0.25])),
                    ("0.5\n\n", Ok(vec![0.5, nan])),
                    ("yes\nno\n", Err("gives `yes`, no number")),
                ],
            ),
        ] {
            let endpoint = endpoint(word);
            assert_eq!(String::from_utf8(endpoint.body(&rows)).unwrap(), body, "{word}");
            for (text, expected) in answers {
                match (endpoint.scores(text, 2, Some(second)), expected) {
                    (Ok(found), Ok(expected)) => {
                        let bits =
                            |scores: &[f64]| scores.iter().map(|s| s.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(&found), bits(&expected), "{word}: {text}");
                    }
                    (Err(what), Err(words)) => assert!(what.contains(words), "{word}: {what}"),
                    (found, _) => panic!("{word}: {text}: {found:?}"),
                }
            }
        }
        // Only the contract says which of several probabilities is meant.
        let (mlflow, three) = (endpoint("mlflow"), r#"{"predictions": [[0.5, 0.25, 0.25]]}"#);
        let by_job = |at: usize| Some(ClassPosition { at, among: None });
        assert_eq!(mlflow.scores(three, 1, by_job(0)), Ok(vec![0.5]));
        for position in [None, by_job(3), Some(second)] {
            let what = mlflow.scores(three, 1, position).unwrap_err();
            what.says(&["the classes 0 to 2", "`class`"]);
        }
        // A single number is that of the positive class, of whichever class the job speaks.
        let flat = r#"{"outputs": [{"name": "y", "shape": [1], "data": [0.5]}]}"#;
        for (word, one) in [("mlflow", r#"{"predictions": [0.5]}"#), ("kserve-v2", flat)] {
            let what = endpoint(word).scores(one, 1, by_job(0)).unwrap_err();
            what.says(&["gives one number for a row", "remove `class`"]);
        }
        assert_eq!(mlflow.scores(r#"{"predictions": [[0.5]]}"#, 1, None), Ok(vec![0.5]));
        assert!("soap".parse::<HttpProtocol>().is_err());
    }
}
