//! The catalog: real files, downloads from a local server that behaves badly, and the stand-in.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::concat_batches;

use super::{BATCH, fault, shared, workers};
use crate::data::catalog::{Access, Fetch, Origin, data_set, http, import, obtain};
use crate::error::Result;
use crate::table::io::{Owner, ParquetFile};
use crate::table::ordered::Watch;

fn adult(data_dir: &Path, stand_in: bool, fetch: Fetch<'_>, out: &Path) -> Result<Origin> {
    let set = data_set("adult").unwrap();
    let origin = obtain(set, Access { data_dir, stand_in, fetch }, Watch::SILENT)?;
    import(set, &origin, out, BATCH, &workers(2), Watch::SILENT)?;
    Ok(origin)
}

fn rows(path: &Path) -> RecordBatch {
    let file = ParquetFile::open(path, Owner::Ours).unwrap();
    let batches: Vec<RecordBatch> = (0..file.n_groups()).map(|g| file.read_group(g, None).unwrap()).collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn adult_is_read_from_the_data_folder_as_it_was_published() {
    let Some(data) = shared("data") else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("source.parquet");
    let never = |_: &str, _: u64| panic!("nothing is to be downloaded");
    assert_eq!(adult(&data, false, &never, &out).unwrap(), Origin::Files(data.join("adult")));
    let (ours, expected) = (rows(&out), rows(&data.join("adult/adult.parquet")));
    assert_eq!(ours.num_rows(), 48_842);
    for field in expected.schema().fields() {
        let name = field.name();
        assert_eq!(ours.column_by_name(name).unwrap(), expected.column_by_name(name).unwrap(), "{name}");
    }
}

/// What a local server answers to one request.
enum Answer {
    Good(Vec<u8>),
    /// The header promises more than comes.
    Truncated(Vec<u8>),
    NotFound,
    Silence,
}

/// Serves one answer per connection on a port of its own; returns its address.
fn serve(answers: Vec<Answer>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            let _ = stream.read(&mut [0; 4096]);
            let mut send = |head: String, body: &[u8]| {
                let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").as_bytes());
                let _ = stream.write_all(body);
            };
            match answer {
                Answer::Good(body) => send(format!("200 OK\r\nContent-Length: {}", body.len()), &body),
                Answer::Truncated(body) => send(format!("200 OK\r\nContent-Length: {}", body.len() + 10), &body),
                Answer::NotFound => send("404 Not Found\r\nContent-Length: 0".to_owned(), b""),
                Answer::Silence => silent.push(stream),
            }
        }
        std::thread::sleep(Duration::from_secs(2));
    });
    address
}

#[test]
fn downloads_are_verified_and_kept() {
    let Some(data) = shared("data/adult") else { return };
    let file = |name: &str| std::fs::read(data.join(name)).unwrap();
    let http = http(Duration::from_millis(300), Duration::from_millis(600));
    // Archive first, then each file on its own.
    let check = |answers: Vec<Answer>, expected: Option<&str>| {
        let dir = tempfile::tempdir().unwrap();
        let server = serve(answers);
        let fetch = |_: &str, limit: u64| http(&server, limit);
        let result = adult(dir.path(), false, &fetch, &dir.path().join("source.parquet"));
        let mut kept: Vec<String> = std::fs::read_dir(dir.path().join("adult"))
            .into_iter()
            .flatten()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        kept.sort();
        match expected {
            None => {
                result.unwrap();
                assert_eq!(kept, ["adult.data", "adult.test"]);
                assert_eq!(std::fs::read(dir.path().join("adult/adult.test")).unwrap(), file("adult.test"));
            }
            Some(words) => {
                let fault = fault(result);
                assert!(fault.code == "unreachable-data" && fault.what.contains(words), "{fault}");
                assert!(kept.iter().all(|name| std::fs::read(dir.path().join("adult").join(name)).unwrap() == file(name)), "{kept:?}");
            }
        }
    };
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["adult.data", "adult.test"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&file(name)).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    check(vec![Answer::Good(zip.clone())], None);
    check(vec![Answer::NotFound, Answer::Good(file("adult.data")), Answer::Good(file("adult.test"))], None);
    check(vec![Answer::Good(b"no archive".to_vec()), Answer::Good(file("adult.data")), Answer::Good(file("adult.test"))], None);
    check(vec![Answer::Truncated(zip), Answer::Good(file("adult.data")), Answer::NotFound], Some("404"));
    check(
        vec![Answer::NotFound, Answer::Truncated(file("adult.data")[..1000].to_vec()), Answer::Good(file("adult.test"))],
        Some("adult.data"),
    );
    check(vec![Answer::NotFound, Answer::Good(file("adult.test")), Answer::Good(file("adult.test"))], Some("SHA-256"));
    check(vec![Answer::NotFound, Answer::Good(vec![0; 5_000_000]), Answer::Good(file("adult.test"))], Some("limit"));
    check(vec![Answer::Silence, Answer::Silence, Answer::Silence], Some("timeout"));
    check(Vec::new(), Some("adult.data"));
}

#[test]
fn a_wrong_file_in_the_folder_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("adult")).unwrap();
    std::fs::write(dir.path().join("adult/adult.data"), "39, State-gov\n").unwrap();
    let never = |_: &str, _: u64| panic!("nothing is to be downloaded");
    for stand_in in [false, true] {
        let fault = fault(adult(dir.path(), stand_in, &never, &dir.path().join("source.parquet")));
        assert_eq!(fault.code, "wrong-checksum");
        assert!(fault.what.contains("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"), "{fault}");
    }
    assert_eq!(std::fs::read(dir.path().join("adult/adult.data")).unwrap(), b"39, State-gov\n");
}

#[test]
fn the_stand_in_has_the_published_counts() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("source.parquet");
    let offline = |_: &str, _: u64| Err("no network".to_owned());
    let refused = fault(adult(dir.path(), false, &offline, &out));
    assert_eq!(refused.code, "unreachable-data");
    assert!(refused.hint.unwrap().contains("adult.test"));
    assert!(matches!(adult(dir.path(), true, &offline, &out).unwrap(), Origin::StandIn(why) if why.contains("no network")));
    let made = rows(&out);
    let text = |name: &str| made.column_by_name(name).unwrap().as_string::<i32>().clone();
    let (sex, income, split, relationship) = (text("sex"), text("income"), text("split"), text("relationship"));
    let n = |s: &str, x: &str, y: &str| {
        (0..made.num_rows()).filter(|&i| split.value(i) == s && sex.value(i) == x && income.value(i) == y).count()
    };
    assert_eq!(
        [n("train", "Male", ">50K"), n("train", "Female", ">50K"), n("test", "Male", ">50K"), n("test", "Female", ">50K")],
        [6_662, 1_179, 3_256, 590]
    );
    assert_eq!(
        [n("train", "Male", "<=50K"), n("train", "Female", "<=50K"), n("test", "Male", "<=50K"), n("test", "Female", "<=50K")],
        [21_790 - 6_662, 10_771 - 1_179, 10_860 - 3_256, 5_421 - 590]
    );
    // Husbands: 19,716 in the files, one of them a woman.
    let husbands = (0..made.num_rows()).filter(|&i| relationship.value(i) == "Husband").count() as f64;
    assert!((husbands - 19_716.0).abs() < 5.0 * 60.0, "{husbands}");

    let Some(data) = shared("data/adult/adult.parquet") else { return };
    let real = rows(&data);
    for field in real.schema().fields().iter().filter(|f| f.data_type().is_integer() && f.name() != "fnlwgt") {
        let mean = |batch: &RecordBatch| {
            let values = batch.column_by_name(field.name()).unwrap().as_primitive::<arrow::datatypes::Int64Type>();
            let n = values.len() as f64;
            let mean = values.values().iter().sum::<i64>() as f64 / n;
            (mean, values.values().iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>().sqrt() / n)
        };
        let ((ours, _), (theirs, error)) = (mean(&made), mean(&real));
        assert!((ours - theirs).abs() < 5.0 * error, "{}: {ours} against {theirs}", field.name());
    }
    for field in real.schema().fields().iter().filter(|f| !f.data_type().is_numeric()) {
        assert_eq!(made.schema().field_with_name(field.name()).unwrap().data_type(), field.data_type());
        let (ours, theirs) = (made.column_by_name(field.name()).unwrap(), real.column_by_name(field.name()).unwrap());
        let levels = |array: &arrow::array::ArrayRef| {
            array.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
        };
        assert!(levels(ours).is_subset(&levels(theirs)), "{}", field.name());
        assert!(
            (ours.null_count() as f64 - theirs.null_count() as f64).abs() < 5.0 * (theirs.null_count() as f64).sqrt() + 1.0,
            "{}",
            field.name()
        );
    }
}
