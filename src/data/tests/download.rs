//! Downloads: from a local server that behaves badly, and from one that serves UCI's own archive.

use std::cell::RefCell;
use std::io::{Cursor, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use super::catalog::{obtained, rows};
use super::*;
use crate::data::source::catalog::download::http;
use crate::data::source::catalog::{DataSetFile, FileVersion};
use crate::data::source::field_builder::FieldType;
use crate::error::Result;
use crate::exec::replaced_file::temporary;

const ONE: &[u8] = b"1\n2\n";
const TWO: &[u8] = b"3\n";
/// Another accepted version of the second member.
const TWO_TRIMMED: &[u8] = b"3\n\n";

static TINY: PublicDataSet = PublicDataSet {
    name: "tiny",
    title: "three integers in two files",
    source: "made up",
    archives: &["zip/today", "zip/older"],
    members: &[
        DataSetFile {
            name: "one.data",
            versions: &[FileVersion {
                bytes: 4,
                sha256: "a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1",
            }],
            addresses: &["one/today"],
        },
        DataSetFile {
            name: "two.data",
            versions: &[
                FileVersion {
                    bytes: 2,
                    sha256: "1121cfccd5913f0a63fec40a6ffd44ea64f9dc135c66634ba001d10bcf4302a2",
                },
                FileVersion {
                    bytes: 3,
                    sha256: "088162f602ebc87b99c569eb59cc2956c16736601f80bf284d4bafe36e4faa5e",
                },
            ],
            addresses: &["two/today", "two/older"],
        },
    ],
    columns: &[("n", FieldType::Int)],
    push_member: |_, _, _, _| unreachable!("it is never imported"),
    stand_in: None,
};

/// What a local server answers to one request.
enum ServerAnswer {
    Good(Vec<u8>),
    /// The header announces more bytes than arrive before the connection ends.
    BreaksOff(Vec<u8>),
    /// The header announces fewer bytes than arrive.
    SaysLess(Vec<u8>),
    /// A chunked body whose last chunk never arrives.
    ChunksBreakOff(Vec<u8>),
    /// Half of the body, then nothing, while the connection stays open.
    Stalls(Vec<u8>),
    NotFound,
    /// To another address of the same server.
    Redirect,
    /// No HTTP at all.
    Noise,
    Silence,
}
use crate::tests::Says;
use ServerAnswer::{
    BreaksOff, ChunksBreakOff, Good, Noise, NotFound, Redirect, SaysLess, Silence, Stalls,
};

/// Serves one answer per connection on a separate port; returns its address.
fn serve(answers: Vec<ServerAnswer>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let elsewhere = format!("{address}/elsewhere");
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = stream.read(&mut [0; 4096]);
            let mut send = |head: String, body: &[u8]| {
                let _ = stream
                    .write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
                let _ = stream.write_all(body);
            };
            let ok = |length: usize| format!("200 OK\r\nContent-Length: {length}");
            match answer {
                Good(body) => send(ok(body.len()), &body),
                BreaksOff(body) => send(ok(body.len() + 10), &body),
                SaysLess(body) => send(ok(body.len() - 1), &body),
                ChunksBreakOff(body) => {
                    send(
                        "200 OK\r\nTransfer-Encoding: chunked".to_owned(),
                        format!("{:x}\r\n", body.len()).as_bytes(),
                    );
                    let _ = stream.write_all(&body);
                }
                Stalls(body) => {
                    send(ok(body.len()), &body[..body.len() / 2]);
                    open.push(stream);
                }
                NotFound => send("404 Not Found\r\nContent-Length: 0".to_owned(), b""),
                Redirect => {
                    send(format!("302 Found\r\nLocation: {elsewhere}\r\nContent-Length: 0"), b"")
                }
                Noise => {
                    let _ = stream.write_all(b"220 mail.example.org ready\r\n");
                }
                Silence => open.push(stream),
            }
        }
        drop(listener);
        // Connections that hang stay open until the client has given up.
        std::thread::sleep(Duration::from_secs(2));
    });
    address
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The names of the files of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Downloads the tiny data set; returns the result and the requested addresses.
fn tiny(data_dir: &Path, answers: Vec<ServerAnswer>) -> (Result<DataSetOrigin>, Vec<String>) {
    let http = http(Duration::from_millis(300), Duration::from_millis(600));
    let server = serve(answers);
    let asked = RefCell::new(Vec::new());
    let fetch = |address: &str, limit: u64| {
        asked.borrow_mut().push(address.to_owned());
        http(&server, limit)
    };
    let result = obtain(
        &TINY,
        DataSetAccess { data_dir, stand_in: true, fetch: &fetch },
        StageWatch::SILENT,
    );
    (result, asked.into_inner())
}

/// Answers that give all files.
#[track_caller]
fn succeeds(answers: Vec<ServerAnswer>, asked: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (result, addresses) = tiny(dir.path(), answers);
    let DataSetOrigin::Files(found) = result.unwrap() else { panic!("a stand-in") };
    assert_eq!(found.folder, dir.path().join("tiny"));
    assert_eq!(names(&found.folder), ["one.data", "two.data"]);
    assert_eq!(addresses, asked);
    assert_eq!(std::fs::read(found.folder.join("one.data")).unwrap(), ONE);
    let two = std::fs::read(found.folder.join("two.data")).unwrap();
    assert_eq!(found.versions[1].bytes, two.len() as u64);
}

#[test]
fn one_archive_gives_all_files() {
    let both = zip(&[("one.data", ONE), ("two.data", TWO)]);
    succeeds(vec![Good(both.clone())], &["zip/today"]);
    succeeds(vec![Redirect, Good(both.clone())], &["zip/today"]);
    succeeds(vec![NotFound, Good(both)], &["zip/today", "zip/older"]);
}

#[test]
fn what_an_archive_lacks_is_asked_for_elsewhere() {
    let (one, two) = (|| Good(ONE.to_vec()), || Good(TWO.to_vec()));
    let all = ["zip/today", "zip/older", "one/today", "two/today"];
    succeeds(vec![NotFound, NotFound, one(), two()], &all);
    succeeds(vec![NotFound, NotFound, one(), Good(TWO_TRIMMED.to_vec())], &all);
    succeeds(
        vec![NotFound, NotFound, one(), NotFound, two()],
        &["zip/today", "zip/older", "one/today", "two/today", "two/older"],
    );
    // No archive at all, one that is cut off, one with a flipped byte, one with another file under
    // the name.
    succeeds(vec![Good(b"no archive".to_vec()), Silence, one(), two()], &all);
    let whole = zip(&[("one.data", ONE), ("two.data", TWO)]);
    succeeds(
        vec![Good(whole[..whole.len() / 2].to_vec()), BreaksOff(whole.clone()), one(), two()],
        &all,
    );
    let mut flipped = whole;
    let name = flipped.windows(8).position(|w| w == b"one.data").unwrap();
    flipped[name + 9] ^= 0x55;
    succeeds(vec![Good(flipped), NotFound, one()], &["zip/today", "zip/older", "one/today"]);
    succeeds(
        vec![Good(zip(&[("two.data", TWO)])), Good(zip(&[("one.data", TWO)])), one()],
        &["zip/today", "zip/older", "one/today"],
    );
    succeeds(
        vec![Good(zip(&[("one.data", &[b'1'; 900_000]), ("two.data", TWO)])), NotFound, one()],
        &["zip/today", "zip/older", "one/today"],
    );
}

/// Answers to the four addresses of the first member and to the rest that leave the data set
/// incomplete.
#[track_caller]
fn fails(one: ServerAnswer, words: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (result, asked) = tiny(dir.path(), vec![NotFound, NotFound, one, Good(TWO.to_vec())]);
    let fault = fault(result);
    assert_eq!(fault.code, "unreachable-data");
    assert!(fault.what.contains("one/today: ") && fault.what.contains(words), "{fault}");
    // The complete file is kept, nothing else is there, and a rerun requests the missing file only.
    assert_eq!(names(&dir.path().join("tiny")), ["two.data"]);
    assert_eq!(asked.len(), 4);
    let (result, asked) = tiny(dir.path(), vec![NotFound, NotFound, Good(ONE.to_vec())]);
    assert!(matches!(result.unwrap(), DataSetOrigin::Files(_)));
    assert_eq!(asked, ["zip/today", "zip/older", "one/today"]);
}

#[test]
fn a_server_that_behaves_badly_leaves_nothing_wrong_behind() {
    fails(NotFound, "404");
    fails(BreaksOff(ONE[..2].to_vec()), "one/today");
    fails(BreaksOff(ONE.to_vec()), "one/today");
    fails(SaysLess(ONE.to_vec()), "3 bytes with SHA-256");
    fails(ChunksBreakOff(ONE[..2].to_vec()), "one/today");
    fails(Good(TWO.to_vec()), "2 bytes with SHA-256");
    fails(Good(Vec::new()), "0 bytes with SHA-256");
    fails(Good(vec![b'1'; 100_000]), "limit");
    fails(Noise, "one/today");
    fails(Silence, "timeout");
    fails(Stalls(ONE.to_vec()), "timeout");
}

#[test]
fn redirects_without_end_are_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let (result, asked) = tiny(dir.path(), (0..100).map(|_| Redirect).collect());
    fault(result).what.says(&["redirect"]);
    assert_eq!(asked.len(), 5);
    assert!(!dir.path().join("tiny").exists());
}

#[test]
fn nobody_listens() {
    let dir = tempfile::tempdir().unwrap();
    let (result, _) = tiny(dir.path(), Vec::new());
    fault(result).what.says(&["two/older"]);
}

/// Temporary files of a killed run are removed once the file is complete.
#[test]
fn half_written_files_do_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("tiny");
    std::fs::create_dir(&folder).unwrap();
    let own = temporary(&folder.join("one.data")).to_string_lossy().into_owned();
    // No process has this number.
    let dead = own.replace(&format!("-{}", std::process::id()), "-2147483646");
    std::fs::write(dead, "1").unwrap();
    let (result, _) = tiny(dir.path(), vec![Good(zip(&[("one.data", ONE), ("two.data", TWO)]))]);
    result.unwrap();
    assert_eq!(names(&folder), ["one.data", "two.data"]);
}

#[test]
fn the_archive_of_uci_gives_the_heart_data() {
    let Some(data) = shared("data/heart/heart+disease.zip") else { return };
    let archive = std::fs::read(&data).unwrap();
    let single = |name: &str| Good(std::fs::read(data.with_file_name(name)).unwrap());
    let members = [
        "processed.cleveland.data",
        "processed.hungarian.data",
        "processed.switzerland.data",
        "processed.va.data",
    ];
    let mut older = vec![NotFound, NotFound];
    older.extend(members.map(single));
    let expected = rows(&data.with_file_name("heart.parquet"));
    for answers in [
        vec![Good(archive.clone())],
        vec![BreaksOff(archive[..64_000].to_vec()), Good(archive)],
        older,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (server, http) = (serve(answers), http(Duration::from_secs(1), Duration::from_secs(5)));
        let fetch = |_: &str, limit: u64| http(&server, limit);
        let out = dir.path().join("source.parquet");
        obtained(data_set("heart").unwrap(), dir.path(), false, &fetch, &out).unwrap();
        assert_eq!(names(&dir.path().join("heart")), members);
        assert_eq!(rows(&out).columns(), expected.columns());
    }
}
