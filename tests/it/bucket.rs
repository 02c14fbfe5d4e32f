//! A small S3 server on a separate port: it lists, describes, sends and stores objects, and
//! throttles, truncates, hangs or refuses where a test asks for it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{self, Connection, HttpRequest};
use crate::work::{Files, Ran, Work, files, sha256};

/// The credentials that the server knows; the secret part is never sent.
const KEY: &str = "AKIATESTONLY";
pub(crate) const SECRET: &str = "hunter2-is-the-secret-key";

/// Objects on a page of a list.
const PAGE: usize = 2;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// `BUCKET/KEY`, decoded.
    pub(crate) name: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Request {
    fn of(request: HttpRequest) -> Self {
        let HttpRequest { method, target, headers, body } = request;
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
        Request { method, name: decoded(path.trim_start_matches('/')), query, headers, body }
    }

    pub(crate) fn is_list(&self) -> bool {
        self.query.contains_key("list-type")
    }

    /// Whether it begins to write an object in parts.
    pub(crate) fn begins_upload(&self) -> bool {
        self.method == "POST" && self.query.contains_key("uploads")
    }

    /// Whether it writes.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.method.as_str(), "PUT" | "POST")
    }

    /// Whether it reads bytes of an object.
    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET" && !self.is_list()
    }

    /// Whether it reads the end of an object of this size.
    pub(crate) fn reads_tail(&self, size: usize) -> bool {
        self.headers.get("range").is_some_and(|range| range.ends_with(&format!("-{}", size - 1)))
    }
}

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Deed {
    Answers,
    Throttles,
    Hangs,
    /// Sends half of the body.
    CutsHalfWay,
    /// Closes the connection without an answer.
    Vanishes,
    /// Ignores `If-Match`.
    IgnoresMatch,
}

/// What the server holds and has seen.
#[derive(Default)]
struct Held {
    objects: BTreeMap<String, Vec<u8>>,
    requests: Vec<Request>,
    /// An object that another one replaces once it was read.
    replaced: Option<(String, Vec<u8>)>,
    /// Bytes of objects that were sent.
    sent: usize,
    /// The parts of objects that are not complete yet, by upload and number.
    parts: BTreeMap<(String, usize), Vec<u8>>,
}

/// A running server.
pub(crate) struct Bucket {
    url: String,
    held: Arc<Mutex<Held>>,
}

impl Bucket {
    /// A server; `conduct` says what becomes of the n-th request.
    pub(crate) fn serve(conduct: impl Fn(usize, &Request) -> Deed + Send + Sync + 'static) -> Self {
        let held = Arc::new(Mutex::new(Held::default()));
        let shared = Arc::clone(&held);
        let url = server::serve(move |request, stream| {
            let request = Request::of(request);
            let n = {
                let mut held = shared.lock().unwrap();
                held.requests.push(request.clone());
                held.requests.len() - 1
            };
            attend(&request, stream, &shared, conduct(n, &request))
        });
        Bucket { url, held }
    }

    pub(crate) fn sound() -> Self {
        Bucket::serve(|_, _| Deed::Answers)
    }

    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        self.held.lock().unwrap().objects.insert(name.to_owned(), bytes);
    }

    /// Puts a file, or all files below a folder, of a working folder under `BUCKET/KEY`.
    pub(crate) fn upload(&self, work: &Work, below: &str, name: &str) {
        let path = work.path(below);
        if path.is_file() {
            return self.put(name, std::fs::read(path).unwrap());
        }
        for (file, bytes) in files(&path) {
            self.put(&format!("{name}/{file}"), bytes);
        }
    }

    /// The objects whose `BUCKET/KEY` begins so.
    pub(crate) fn objects(&self, prefix: &str) -> Files {
        let held = self.held.lock().unwrap();
        let found = held.objects.iter().filter(|(name, _)| name.starts_with(prefix));
        found.map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
    }

    pub(crate) fn remove(&self, name: &str) {
        assert!(self.held.lock().unwrap().objects.remove(name).is_some(), "{name}");
    }

    /// Once this object was read, another one takes its place.
    pub(crate) fn replace_once_read(&self, name: &str, bytes: Vec<u8>) {
        self.held.lock().unwrap().replaced = Some((name.to_owned(), bytes));
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.held.lock().unwrap().requests.clone()
    }

    /// Bytes of objects that were sent so far.
    pub(crate) fn sent(&self) -> usize {
        self.held.lock().unwrap().sent
    }

    /// The program in a working folder, with this server as S3.
    pub(crate) fn command(&self, work: &Work, args: &str) -> Command {
        let mut command = work.command(args);
        let names = std::env::vars_os().map(|(name, _)| name);
        for name in names.filter(|name| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        command
            .env("HOME", work.path("nobody"))
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
        command
    }

    #[track_caller]
    pub(crate) fn cfaudit(&self, work: &Work, status: i32, args: &str) -> Ran {
        Ran::of(&mut self.command(work, args), status)
    }
}

fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [a, b, tail @ ..]) => {
                let hex = [*a, *b];
                let hex = std::str::from_utf8(&hex).unwrap();
                bytes.push(u8::from_str_radix(hex, 16).unwrap());
                rest = tail;
            }
            (b'+', _) => bytes.push(b' '),
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", &sha256(bytes)[..32])
}

const DATE: &str = "Sun, 22 Nov 2026 08:00:00 GMT";

/// The page of a list that a request asks for.
fn page(held: &Held, request: &Request) -> String {
    let bucket = request.name.trim_end_matches('/');
    let prefix = format!("{bucket}/{}", request.query.get("prefix").map_or("", String::as_str));
    let after = request.query.get("continuation-token").map_or("", String::as_str);
    let all = held.objects.iter().filter(|(name, _)| name.starts_with(&prefix));
    // A server may give them in any order.
    let all: Vec<_> =
        all.rev().filter(|(name, _)| after.is_empty() || name.as_str() < after).collect();
    let mut text = "<ListBucketResult>".to_owned();
    for (name, bytes) in all.iter().take(PAGE) {
        let (key, tag) = (&name[bucket.len() + 1..], tag(bytes).replace('"', "&quot;"));
        write!(
            text,
            "<Contents><Key>{key}</Key><LastModified>2026-11-22T08:00:00.000Z</LastModified>\
             <ETag>{tag}</ETag><Size>{}</Size></Contents>",
            bytes.len()
        )
        .unwrap();
    }
    if all.len() > PAGE {
        let last = all[PAGE - 1].0;
        write!(text, "<NextContinuationToken>{last}</NextContinuationToken>").unwrap();
    }
    text + "</ListBucketResult>"
}

fn refusal(code: &str, request: &Request) -> Vec<u8> {
    // As real servers do, it repeats what was sent.
    let sent = request.headers.get("authorization").map_or("", String::as_str);
    format!("<Error><Code>{code}</Code><StringToSign>{sent}</StringToSign></Error>").into_bytes()
}

/// Takes a large object in parts: the upload begins, parts arrive, they are put together.
fn answer_upload(held: &mut Held, request: &Request) -> Option<(u16, String, Vec<u8>)> {
    let tagged = |bytes: &[u8]| format!("etag: {}\r\n", tag(bytes));
    if request.method == "POST" && request.query.contains_key("uploads") {
        let id = held.requests.len();
        let text = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId>\
             </InitiateMultipartUploadResult>"
        );
        return Some((200, String::new(), text.into_bytes()));
    }
    let id = request.query.get("uploadId")?.clone();
    match request.method.as_str() {
        "PUT" => {
            let number = request.query["partNumber"].parse().unwrap();
            held.parts.insert((id, number), request.body.clone());
            Some((200, tagged(&request.body), Vec::new()))
        }
        "POST" => {
            let own = held.parts.iter().filter(|((upload, _), _)| *upload == id);
            let whole: Vec<u8> = own.flat_map(|(_, bytes)| bytes.clone()).collect();
            let tag = tag(&whole).replace('"', "&quot;");
            held.objects.insert(request.name.clone(), whole);
            let text = format!(
                "<CompleteMultipartUploadResult><ETag>{tag}</ETag>\
                 </CompleteMultipartUploadResult>"
            );
            Some((200, String::new(), text.into_bytes()))
        }
        _ => {
            held.parts.retain(|(upload, _), _| *upload != id);
            Some((204, String::new(), Vec::new()))
        }
    }
}

/// Status, further headers, and body.
fn answer(held: &mut Held, request: &Request, deed: Deed) -> (u16, String, Vec<u8>) {
    let known = format!("Credential={KEY}/");
    if !request.headers.get("authorization").is_some_and(|sent| sent.contains(&known)) {
        return (403, String::new(), refusal("InvalidAccessKeyId", request));
    }
    if request.is_list() {
        return (200, String::new(), page(held, request).into_bytes());
    }
    if let Some(answered) = answer_upload(held, request) {
        return answered;
    }
    if request.method == "PUT" {
        held.objects.insert(request.name.clone(), request.body.clone());
        return (200, format!("etag: {}\r\n", tag(&request.body)), Vec::new());
    }
    let Some(bytes) = held.objects.get(&request.name) else {
        return (404, String::new(), refusal("NoSuchKey", request));
    };
    let wanted = request.headers.get("if-match").filter(|_| deed != Deed::IgnoresMatch);
    if wanted.is_some_and(|wanted| *wanted != tag(bytes)) {
        return (412, String::new(), refusal("PreconditionFailed", request));
    }
    let mut headers = format!("etag: {}\r\nlast-modified: {DATE}\r\n", tag(bytes));
    let range = request.headers.get("range").and_then(|range| range.strip_prefix("bytes="));
    let Some((from, to)) = range.and_then(|range| range.split_once('-')) else {
        return (200, headers, bytes.clone());
    };
    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
    let to = to.min(bytes.len() - 1);
    write!(headers, "content-range: bytes {from}-{to}/{}\r\n", bytes.len()).unwrap();
    (206, headers, bytes[from..=to].to_vec())
}

fn attend(
    request: &Request,
    stream: &mut TcpStream,
    held: &Mutex<Held>,
    deed: Deed,
) -> io::Result<Connection> {
    match deed {
        Deed::Vanishes => return Ok(Connection::Closes),
        Deed::Hangs => {
            std::thread::sleep(Duration::from_secs(60));
            return Ok(Connection::Closes);
        }
        _ => {}
    }
    let (status, headers, body) = if deed == Deed::Throttles {
        (503, String::new(), refusal("SlowDown", request))
    } else {
        answer(&mut held.lock().unwrap(), request, deed)
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n")?;
    if request.method == "HEAD" {
        return Ok(Connection::Stays);
    }
    let shown = if deed == Deed::CutsHalfWay { &body[..length / 2] } else { &body[..] };
    if request.is_read() && status < 300 {
        let mut held = held.lock().unwrap();
        held.sent += shown.len();
        if let Some((name, bytes)) = held.replaced.take_if(|(name, _)| *name == request.name) {
            held.objects.insert(name, bytes);
        }
    }
    stream.write_all(shown)?;
    Ok(if deed == Deed::CutsHalfWay { Connection::Closes } else { Connection::Stays })
}
