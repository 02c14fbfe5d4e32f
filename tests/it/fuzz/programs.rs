//! What programs and endpoints answer: rows, counterfactuals, scores over HTTP.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Float64Array, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::Float64Type;

use cfaudit::data::exchange::http::{HttpEndpoint, HttpProtocol, score_stream};
use cfaudit::data::exchange::score_stream::{WantedScores, read_stream};

use super::mutate::{self, Dice};
use super::tables::{self, Columns, as_parquet, as_stream, people};
use super::targets::{JOB, WrittenColumns, blamed, damage_most, prepare, run};
use super::{Target, Verdict};
use crate::server::{Connection, serve};

/// Rows that a program writes.
pub(super) const ROWS_OF_A_PROGRAM: WrittenColumns = WrittenColumns {
    name: "rows-of-a-program",
    columns: people,
    write: as_stream,
    damage: damage_most,
    feed: |folder, input, _| {
        let file = folder.join("rows.arrow");
        fs::write(&file, input).unwrap();
        prepare(folder, &JOB.replace("ROWS", &format!("{{command: [cat, '{}']}}", file.display())))
    },
};

/// The column that says who is trained on and who is audited.
fn parts() -> ArrayRef {
    Arc::new((0..40).map(|i| Some(if i < 20 { "a" } else { "b" })).collect::<StringArray>())
}

fn counterfactuals() -> Columns {
    let mut columns = people();
    let second = UInt32Array::from_iter_values(20..40);
    for (_, array) in &mut columns {
        *array = take(array, &second, None).unwrap();
    }
    let other = |sex: Option<&str>| Some(if sex == Some("f") { "m" } else { "f" });
    let to_group: StringArray = columns[1].1.as_string::<i32>().iter().map(other).collect();
    let age = columns[3].1.as_primitive::<Float64Type>();
    let older: Float64Array = age.iter().map(|age| age.map(|age| age + 1.0)).collect();
    columns[0].0 = "row_id".to_owned();
    columns[1] = ("to_group".to_owned(), Arc::new(to_group));
    columns[3].1 = Arc::new(older);
    columns.remove(2);
    columns
}

/// Counterfactuals from a program or in a file: the people of the second half, a year older and of
/// the other sex.
pub(super) const COUNTERFACTUALS: WrittenColumns = WrittenColumns {
    name: "counterfactuals",
    columns: counterfactuals,
    write: |columns, dice| {
        if dice.one_in(2) { as_stream(columns, dice) } else { as_parquet(columns, dice) }
    },
    damage: damage_most,
    feed: |folder, input, _| {
        let [rows, answer] = ["rows.parquet", "answer"].map(|name| folder.join(name));
        if !rows.exists() {
            let mut columns = people();
            columns.push(("part".to_owned(), parts()));
            fs::write(&rows, as_parquet(&columns, &mut Dice::new(0)).unwrap()).unwrap();
        }
        fs::write(&answer, input).unwrap();
        let (rows, answer) = (rows.display(), answer.display());
        let set = match input.starts_with(b"PAR1") {
            true => format!("{{external: {{parquet: '{answer}'}}}}"),
            false => format!("{{external: {{command: [cat, '{answer}']}}}}"),
        };
        let from = JOB.find("counterfactuals:").unwrap();
        let to = from + JOB[from..].find('\n').unwrap();
        let job = format!("{}counterfactuals: {{mine: {set}}}{}", &JOB[..from], &JOB[to..]);
        let job = job
            .replace("ROWS", &format!("{{parquet: '{rows}'}}"))
            .replace("{share: {train: 0.5, audit: 0.5}}", "{column: part, train: [a], audit: [b]}");
        run(folder, &job)
    },
};

/// An endpoint that answers every request with the same bytes. An input is a line with the
/// protocol, and the answer from its status line on.
pub(super) struct Endpoint {
    url: String,
    answer: Arc<Mutex<Vec<u8>>>,
}

/// Two rows are asked for.
const ROWS: usize = 2;

const PROTOCOLS: &[&str] = &["mlflow", "kserve-v2", "sagemaker-csv", "json"];

const BODIES: &[&str] = &[
    "{\"predictions\": [0.25, 1]}",
    "{\"predictions\": [[0.75, 0.25], null]}",
    "{\"scores\": [0.5, 0.125], \"version\": \"7\"}",
    "{\"outputs\": [{\"name\": \"y\", \"shape\": [2], \"data\": [0.5, 0.25]}]}",
    "{\"outputs\": [{\"name\": \"label\", \"data\": [0, 1]}, {\"name\": \"prob\", \"shape\": [2, \
     2], \"data\": [0.5, 0.5, 0.75, 0.25]}]}",
    "0.5\n0.25\n",
    "0.5,\r\n",
    "[[[[[[[[[[",
];

impl Endpoint {
    pub(super) fn new() -> Self {
        let answer = Arc::new(Mutex::new(Vec::new()));
        let answers = Arc::clone(&answer);
        let url = serve(move |_, stream| {
            let bytes = answers.lock().unwrap().clone();
            stream.write_all(&bytes)?;
            Ok(Connection::Closes)
        });
        Endpoint { url: format!("{url}/score"), answer }
    }
}

impl Target for Endpoint {
    fn name(&self) -> &'static str {
        "endpoint"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = Vec::new();
        for (protocol, body) in PROTOCOLS.iter().flat_map(|p| BODIES.iter().map(move |b| (p, b))) {
            let n = body.len();
            let whole = [
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}"),
                format!("HTTP/1.1 200 OK\r\nContent-Length: {n}\r\n\r\n{body}"),
                format!(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{n:x}\r\n{body}\r\n0\r\n\
                     \r\n"
                ),
                format!("HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: {n}\r\n\r\n{body}"),
                format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 No\r\n\r\n{body}"),
            ];
            seeds.extend(whole.map(|answer| format!("{protocol}\n{answer}").into_bytes()));
        }
        seeds
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        let start = input.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let body = input.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
        match dice.below(4) {
            0 => mutate::bytes(input, start, seeds, dice),
            1 => {
                let mut answer = input.split_off(start);
                mutate::text(&mut answer, seeds, dice);
                input.extend(answer);
            }
            2 => {
                let mut answer = input.split_off(body.max(start));
                mutate::text(&mut answer, seeds, dice);
                input.extend(answer);
            }
            _ => {}
        }
    }

    fn feed(&self, _: &Path, input: &[u8], _: &mut Dice) -> Result<Verdict, String> {
        let end = input.iter().position(|&byte| byte == b'\n').unwrap_or(0);
        let protocol = std::str::from_utf8(&input[..end]).unwrap_or_default();
        let protocol: HttpProtocol = protocol.parse()?;
        *self.answer.lock().unwrap() = input[(end + 1).min(input.len())..].to_vec();
        let endpoint = HttpEndpoint {
            url: self.url.clone(),
            version: "7".to_owned(),
            protocol,
            batch: ROWS,
            parallel: 1,
            retries: 0,
            timeout: Duration::from_secs(5),
            missing_at_most: 0.5,
            token: None,
            answers: None,
        };
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![0.0; ROWS]));
        let rows = tables::stream_cut_at(&vec![("x".to_owned(), numbers)], ROWS).unwrap();
        let mut scores = Vec::new();
        if let Err(error) = score_stream(&endpoint, rows.as_slice(), &mut scores) {
            let what = error.to_string();
            let bounded = !what.is_empty() && what.len() < 2000 && !what.contains('\0');
            return bounded.then_some(Verdict::Refused).ok_or(format!("says {what:?}"));
        }
        let mut n = 0;
        let read = read_stream(
            &mut scores.as_slice(),
            WantedScores { n_rows: ROWS as u64, columns: &["score"] },
            &|bytes| String::from_utf8_lossy(bytes).into_owned(),
            false,
            &mut |scores| {
                n += scores.len();
                Ok(())
            },
        );
        match read {
            Ok(_) if n == ROWS => Ok(Verdict::Taken),
            Ok(_) => Err(format!("took {n} scores for {ROWS} rows")),
            Err(error) => blamed(&error),
        }
    }
}
