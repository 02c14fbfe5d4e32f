//! Models that are HTTP endpoints: a local server that answers, fails, throttles, hangs, gives
//! wrong counts and dies half-way. What was answered is not asked again, unless the version of the
//! model changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::server::{self, Connection, HttpRequest};
use crate::work::{Going, Ran, Rows, Work};

const N: i64 = 1200;

/// What the server does with a request.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Answers,
    Status(u16),
    Throttles,
    Hangs,
    Lies,
    DiesHalfWay,
    Forgets,
    NoVersion,
    Twice,
    Vanishes,
}

/// What the server has seen.
#[derive(Default)]
struct Seen {
    /// How often each body was answered in full.
    answered: BTreeMap<String, usize>,
    requests: usize,
    tokens: Vec<String>,
}

/// A server; `deed` says how it treats the n-th request.
fn serve(deed: impl Fn(usize) -> Deed + Send + Sync + 'static) -> (String, Arc<Mutex<Seen>>) {
    let requests = Arc::new(Mutex::new(Seen::default()));
    let shared = Arc::clone(&requests);
    let url = server::serve(move |request, stream| {
        let n = {
            let mut requests = shared.lock().unwrap();
            requests.requests += 1;
            requests.tokens.push(request.headers.get("authorization").cloned().unwrap_or_default());
            requests.requests - 1
        };
        attend(&request, stream, &shared, deed(n))
    });
    (format!("{url}/score"), requests)
}

fn attend(
    request: &HttpRequest,
    stream: &mut TcpStream,
    requests: &Mutex<Seen>,
    done: Deed,
) -> io::Result<Connection> {
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/score"));
    let body = std::str::from_utf8(&request.body).unwrap();
    let head = |status: u16, length: usize| {
        format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nretry-after: 0\r\n\r\n")
    };
    match done {
        Deed::Vanishes => return Ok(Connection::Closes),
        Deed::Hangs => std::thread::sleep(Duration::from_secs(20)),
        Deed::Status(status) => write!(stream, "{}no!", head(status, 3))?,
        Deed::Throttles => write!(stream, "{}", head(429, 0))?,
        _ => {
            let request: Json = serde_json::from_str(body).unwrap();
            let mut scores = scores_of(&request);
            if done == Deed::Lies {
                scores.pop();
            }
            if done == Deed::Forgets {
                scores[0] = Json::Null;
            }
            let version = request["version"].clone();
            let text = match done {
                Deed::NoVersion => json!({ "scores": scores }).to_string(),
                Deed::Twice => {
                    let whole = json!({ "version": version, "scores": scores }).to_string();
                    whole.replacen('{', "{\"scores\": [], ", 1)
                }
                _ => json!({ "scores": scores, "version": version }).to_string(),
            };
            if done == Deed::DiesHalfWay {
                write!(stream, "{}{}", head(200, text.len()), &text[..text.len() / 2])?;
                return Ok(Connection::Closes);
            }
            *requests.lock().unwrap().answered.entry(body.to_owned()).or_default() += 1;
            write!(stream, "{}{text}", head(200, text.len()))?;
        }
    }
    Ok(Connection::Stays)
}

/// A score of each row: of its income and group.
fn scores_of(request: &Json) -> Vec<Json> {
    let names: Vec<&str> =
        request["columns"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let (income, sex) = (at("income"), at("sex"));
    let rows = request["rows"].as_array().unwrap();
    rows.iter().map(|row| score(row[income].as_f64(), row[sex].as_str().unwrap()).into()).collect()
}

fn score(income: Option<f64>, sex: &str) -> f64 {
    income.unwrap_or(100.0) / 2000.0 + if sex == "f" { 0.125 } else { 0.25 }
}

fn income(i: i64) -> Option<f64> {
    (i % 13 > 0).then_some((i * 37 % 1000) as f64 + 0.1)
}

fn with_endpoint(url: &str, more: &str) -> Work {
    let work = Work::new();
    let rows = 0..N;
    let sex = |i: i64| Some(["f", "m"][i as usize % 2]);
    Rows::of(rows)
        .with("id", |i| 5000 + i)
        .with("sex", sex)
        .with("age", |i| 18 + i % 60)
        .with("income", income)
        .with("repaid", |i| i64::from(i % 5 < 2))
        .write(&work, "people.parquet");
    job(&work, url, "v1", more);
    work
}

fn job(work: &Work, url: &str, version: &str, more: &str) {
    let steps = format!(
        "~  features: {{continuous: [age, income]}}
-  split
~  live: {{http: {{url: \"{url}\", version: {version}, protocol: json, batch: 100{more}}}}}"
    );
    work.job("trained", &steps, "run: {seed: 77}\n");
}

#[track_caller]
fn assert_scores(work: &Work) {
    let frame = work.table("outcomes");
    let mut n = 0;
    for row in frame.records() {
        let i = row.key("row_key").unwrap() as i64 - 5000;
        let sexes = if i % 2 == 0 { ["f", "m"] } else { ["m", "f"] };
        assert_eq!(row.real("score"), Some(score(income(i), sexes[0])));
        assert_eq!(row.real("score_cf"), Some(score(income(i), sexes[1])));
        n += 1;
    }
    assert_eq!(n, N);
}

/// No request was answered twice, and so many were.
#[track_caller]
fn assert_once(requests: &Mutex<Seen>, n: usize) {
    let requests = requests.lock().unwrap();
    assert!(requests.answered.values().all(|times| *times == 1));
    assert_eq!(requests.answered.len(), n);
}

/// Rows in 12 requests, their counterfactuals in 12, and 100 rows a second time.
const ALL: usize = 25;

#[test]
fn an_endpoint_that_fails_now_and_then_is_asked_only_for_what_failed() {
    let (url, requests) = serve(|n| match n % 9 {
        1 => Deed::Status(503),
        3 => Deed::Throttles,
        5 => Deed::DiesHalfWay,
        7 => Deed::Vanishes,
        8 => Deed::Status(500),
        _ => Deed::Answers,
    });
    let work = with_endpoint(&url, ", retries: 20, secret_env: TOKEN");
    let run = || {
        let mut run = work.command("run job.yaml --out out --cache cache -v");
        run.env("TOKEN", "tok-9f8e7d6c5b");
        Ran::of(&mut run, 0)
    };
    let ran = run();
    assert_scores(&work);
    assert_once(&requests, ALL);
    assert!(requests.lock().unwrap().tokens.iter().all(|token| token == "Bearer tok-9f8e7d6c5b"));
    run().says(&["nothing to do"]);
    // The token is nowhere, and answers are gone once their stage is done.
    let mut written = crate::work::files(&work.path("out"));
    written.extend(crate::work::files(&work.path("cache")));
    written.insert("stderr".to_owned(), ran.stderr.into_bytes());
    for (name, bytes) in written {
        assert!(!bytes.windows(14).any(|part| part == b"tok-9f8e7d6c5b"), "{name} holds the token");
        assert!(!name.starts_with("http/"), "{name} is left");
    }
    // Another version asks again; another way of asking does not.
    job(&work, &url, "v1", ", retries: 21, parallel: 1, secret_env: TOKEN");
    run().says(&[
        "score/model=live: cached",
        "score/model=live/set=flip/attribute=sex: cached",
        "recheck/model=live: cached",
    ]);
    assert_once(&requests, ALL);
    job(&work, &url, "v2", ", retries: 20, secret_env: TOKEN");
    run().says(&["score/model=live: runs"]);
    assert_eq!(requests.lock().unwrap().answered.len(), 2 * ALL);
}

#[test]
fn answers_that_are_wrong_end_the_run() {
    for (deed, more, words) in [
        (Deed::Lies, "", "gives 99 scores for 100 rows"),
        (Deed::Status(404), "", "answers with the status 404: `no!`"),
        (Deed::Status(503), ", retries: 1", "answers with the status 503 (2 tries)"),
        (Deed::Forgets, "", "came back without a score, and `missing_at_most` allows a share of 0"),
        (Deed::NoVersion, "", "error[bad-answer]: "),
        (Deed::NoVersion, "", "does not say which `version` answers, and the job names `v1`"),
        (Deed::Twice, "", "duplicate field `scores`"),
        (Deed::Hangs, ", retries: 0, timeout: 1s", "does not answer: timeout"),
        (Deed::DiesHalfWay, ", retries: 0", "breaks off its answer"),
    ] {
        let (url, _) = serve(move |_| deed);
        let work = with_endpoint(&url, more);
        let ran = work.run(3, "job.yaml", "");
        ran.says(&["the endpoint of model `live` failed with exit status", words, "job.yaml:12:"]);
        assert!(!work.path("out").exists());
    }
    // Nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let work = with_endpoint(&format!("http://{closed}/"), ", retries: 0");
    work.run(3, "job.yaml", "").says(&["does not answer"]);
}

#[test]
fn rows_without_a_score_are_allowed_up_to_a_share() {
    let (url, _) = serve(|_| Deed::Forgets);
    let work = with_endpoint(&url, ", missing_at_most: 0.02");
    work.run(0, "job.yaml", "");
    let frame = work.table("outcomes");
    let scored = frame.of("score!=").count();
    assert!(scored < N as usize && scored >= N as usize - 12, "{scored}");
}

/// A changed person without a score is neither helped by the change nor not.
#[test]
fn recourse_needs_a_score_for_every_changed_row() {
    let (url, _) = serve(|_| Deed::Forgets);
    let work = with_endpoint(&url, ", missing_at_most: 0.02");
    let features = "features: {continuous: [age, income]}";
    let bins = "bins: {age: [18, 48, 77], income: [0, 500, 1000]}";
    let job = work.read("job.yaml").replace(features, &format!("{features}\n  {bins}"));
    let recourse = "
recourse:
  sex:
    model: live
    subgroups: {support: 0.05}
    actions: {support: 0.05}
    may_change: {age: any}
";
    work.write("job.yaml", &format!("{job}{recourse}"));
    let ran = work.run(3, "job.yaml", "");
    ran.says(&[
        "error[bad-scores]: the model gave no score for changed features",
        "changed to `age`",
    ]);
}

/// A run that was killed continues with what has no answer yet.
#[test]
fn a_killed_run_goes_on() {
    let open = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let hanging = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (gate, waiting) = (Arc::clone(&open), Arc::clone(&hanging));
    let (url, requests) = serve(move |n| {
        if n < 7 || gate.load(std::sync::atomic::Ordering::SeqCst) {
            return Deed::Answers;
        }
        waiting.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Deed::Hangs
    });
    let work = with_endpoint(&url, ", parallel: 2");
    let mut going = Going::start(&mut work.command("run job.yaml --out out --cache cache"));
    assert!(going.until(&["command.start"], "score/model=live"));
    let started = std::time::Instant::now();
    // The run goes on writing, so a folder or file may be gone when it is looked at.
    let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = || {
        let files = list(work.path("cache/http")).flat_map(|folder| list(folder.path()));
        files.filter(|file| file.path().extension().is_none()).count()
    };
    // Both requests that are under way hang: the server must not answer one to a run that is gone.
    while kept() < 7 || hanging.load(std::sync::atomic::Ordering::SeqCst) < 2 {
        assert!(started.elapsed().as_secs() < 60, "it takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
    going.kill();
    open.store(true, std::sync::atomic::Ordering::SeqCst);
    work.run(0, "job.yaml", "");
    assert_scores(&work);
    assert_once(&requests, ALL);
}
