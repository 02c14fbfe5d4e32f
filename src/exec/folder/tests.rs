//! The output folder: replaced in one step, refused where it is not an output folder, repaired
//! after a kill.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{OutputFolder, PublishOutcome};
use crate::error::{Error, Exit, StopSignal};
use crate::exec::cancel::CancelFlag;
use crate::exec::files::{exchange_in_steps, files_below};
use crate::tests::Says;

struct FolderBench {
    root: tempfile::TempDir,
}

impl FolderBench {
    fn new() -> Self {
        FolderBench { root: tempfile::tempdir().unwrap() }
    }

    fn out(&self) -> PathBuf {
        self.root.path().join("outputs/demo")
    }

    /// A folder as a report stage leaves it.
    fn content(&self, job: &str, value: &str) -> PathBuf {
        let folder = self.root.path().join("stage");
        std::fs::create_dir_all(folder.join("tables")).unwrap();
        std::fs::write(
            folder.join("manifest.json"),
            format!(
                r#"{{"job":"{job}","value":"{value}","files":{{"tables/metrics.parquet":""}}}}"#
            ),
        )
        .unwrap();
        std::fs::write(folder.join("tables/metrics.parquet"), value).unwrap();
        std::fs::write(folder.join("stage.json"), "{}").unwrap();
        folder
    }

    fn publish(&self, value: &str, run: &str) -> PublishOutcome {
        let extras =
            [("run.json".to_owned(), run.into()), ("logs/run.jsonl".to_owned(), run.into())];
        let folder = OutputFolder::claim(&self.out(), "demo", false).unwrap();
        folder.publish(&self.content("demo", value), &extras, &CancelFlag::default()).unwrap()
    }

    fn holds(&self, value: &str, run: &str) {
        let read = |name: &str| std::fs::read_to_string(self.out().join(name)).unwrap();
        assert_eq!(
            (read("tables/metrics.parquet"), read("run.json"), read("logs/run.jsonl")),
            (value.into(), run.into(), run.into())
        );
        let names: Vec<_> =
            files_below(&self.out()).unwrap().into_iter().map(|file| file.name).collect();
        assert_eq!(
            names,
            ["logs/run.jsonl", "manifest.json", "run.json", "tables/metrics.parquet"]
        );
        self.is_tidy();
    }

    /// Nothing is left next to the folder.
    fn is_tidy(&self) {
        let parent = self.out().parent().unwrap().to_path_buf();
        let names: Vec<_> =
            std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == "demo"), "{names:?}");
    }
}

fn words(error: &Error) -> (Exit, String) {
    (error.exit(), error.to_string())
}

#[test]
fn created_unchanged_replaced() {
    let place = FolderBench::new();
    assert_eq!(place.publish("1", "first"), PublishOutcome::Published);
    place.holds("1", "first");
    assert_eq!(place.publish("1", "second"), PublishOutcome::Unchanged);
    place.holds("1", "second");
    assert_eq!(place.publish("2", "third"), PublishOutcome::Published);
    place.holds("2", "third");
    // A table that was tampered with is restored.
    std::fs::write(place.out().join("tables/metrics.parquet"), "3").unwrap();
    assert_eq!(place.publish("2", "fourth"), PublishOutcome::Published);
    place.holds("2", "fourth");
}

#[test]
fn an_empty_folder_is_taken() {
    let place = FolderBench::new();
    std::fs::create_dir_all(place.out()).unwrap();
    assert_eq!(place.publish("1", "first"), PublishOutcome::Published);
    place.holds("1", "first");
}

/// Files of others are kept: they move into the new folder, and no file of ours replaces them.
#[test]
fn files_of_others_move_into_the_new_folder() {
    let place = FolderBench::new();
    place.publish("1", "first");
    let at = |name: &str| place.out().join(name);
    std::fs::write(at("signed.pdf"), "signed").unwrap();
    std::fs::create_dir_all(at("tables/notes")).unwrap();
    std::fs::write(at("tables/notes/of-mine.txt"), "mine").unwrap();
    std::os::unix::fs::symlink("signed.pdf", at("latest.pdf")).unwrap();
    assert_eq!(place.publish("2", "second"), PublishOutcome::Published);
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let theirs = |value: &str| {
        assert_eq!(
            [read("signed.pdf"), read("tables/notes/of-mine.txt"), read("latest.pdf")],
            ["signed", "mine", "signed"]
        );
        assert!(at("latest.pdf").is_symlink());
        assert_eq!(read("tables/metrics.parquet"), value);
        place.is_tidy();
    };
    theirs("2");
    // A file of theirs with the name of a new one of ours, and a folder of theirs in its place.
    for (name, below) in [("page.html", ""), ("page.html", "/inside.txt")] {
        let there = at(&format!("{name}{below}"));
        std::fs::create_dir_all(there.parent().unwrap()).unwrap();
        std::fs::write(&there, "theirs").unwrap();
        let content = place.content("demo", "3");
        std::fs::write(content.join(name), "ours").unwrap();
        let folder = OutputFolder::claim(&place.out(), "demo", false).unwrap();
        let (exit, text) =
            words(&folder.publish(&content, &[], &CancelFlag::default()).unwrap_err());
        drop(folder);
        assert_eq!(exit, Exit::Operator, "{text}");
        text.says(&["page.html", "hint: move or rename"]);
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "theirs");
        theirs("2");
        std::fs::remove_file(there).unwrap();
        let _ = std::fs::remove_dir(at(name));
        std::fs::remove_file(content.join(name)).unwrap();
    }
}

#[test]
fn a_link_to_the_folder_is_followed_and_stays() {
    let place = FolderBench::new();
    place.publish("1", "first");
    let link = place.root.path().join("latest");
    std::os::unix::fs::symlink(place.out(), &link).unwrap();
    let folder = OutputFolder::claim(&link, "demo", false).unwrap();
    assert!(OutputFolder::claim(&place.out(), "demo", false).is_err());
    folder.publish(&place.content("demo", "2"), &[], &CancelFlag::default()).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(link.join("tables/metrics.parquet")).unwrap(), "2");
}

#[test]
fn what_is_not_ours_is_refused() {
    let place = FolderBench::new();
    let refused = |replace: bool, cause: &str| {
        let (exit, text) = words(&OutputFolder::claim(&place.out(), "demo", replace).unwrap_err());
        assert_eq!(exit, Exit::Operator, "{text}");
        text.says(&[cause, "hint: "]);
        place.is_tidy();
    };
    std::fs::create_dir_all(place.out()).unwrap();
    std::fs::write(place.out().join("thesis.txt"), "ten years").unwrap();
    refused(false, "has no `manifest.json`");
    refused(true, "has no `manifest.json`");
    for foreign in ["", "[]", "{}", r#"{"job": 1}"#] {
        std::fs::write(place.out().join("manifest.json"), foreign).unwrap();
        refused(true, "has no `manifest.json`");
    }
    std::fs::write(place.out().join("manifest.json"), r#"{"job":"other"}"#).unwrap();
    refused(false, "the job `other`");
    assert!(OutputFolder::claim(&place.out(), "demo", true).is_ok());
    std::fs::remove_dir_all(place.out()).unwrap();
    std::fs::write(place.out(), "a file").unwrap();
    refused(true, "a file is in the way");
}

#[test]
fn a_failed_publish_keeps_the_old_folder() {
    let place = FolderBench::new();
    place.publish("1", "first");
    let folder = OutputFolder::claim(&place.out(), "demo", false).unwrap();
    let none = CancelFlag::default();

    // The manifest of another job, and none.
    words(&folder.publish(&place.content("other", "2"), &[], &none).unwrap_err())
        .1
        .says(&["of the job `demo`"]);
    assert_eq!(
        folder.publish(&place.root.path().join("gone"), &[], &none).unwrap_err().exit(),
        Exit::Operator
    );
    // Half way: the last file to be written has a folder's name.
    let clash = [("tables".to_owned(), vec![])];
    assert_eq!(
        folder.publish(&place.content("demo", "2"), &clash, &none).unwrap_err().exit(),
        Exit::Operator
    );
    let outside = [("../run.json".to_owned(), vec![])];
    words(&folder.publish(&place.content("demo", "2"), &outside, &none).unwrap_err())
        .1
        .says(&["outside the output folder"]);
    let cancel = CancelFlag::default();
    cancel.raise(StopSignal::Terminate);
    assert_eq!(
        folder.publish(&place.content("demo", "2"), &[], &cancel).unwrap_err().exit(),
        Exit::Terminated
    );
    drop(folder);
    place.holds("1", "first");
}

#[test]
fn a_parent_that_cannot_be_written_is_named() {
    let place = FolderBench::new();
    std::fs::write(place.root.path().join("outputs"), "a file").unwrap();
    let (exit, text) = words(&OutputFolder::claim(&place.out(), "demo", false).unwrap_err());
    assert!(exit == Exit::Operator && text.contains("outputs"), "{text}");

    let place = FolderBench::new();
    place.publish("1", "first");
    let parent = place.out().parent().unwrap().to_path_buf();
    let mode = |bits| {
        std::fs::set_permissions(&parent, std::os::unix::fs::PermissionsExt::from_mode(bits))
            .unwrap()
    };
    mode(0o555);
    let claim = OutputFolder::claim(&place.out(), "demo", false).map(drop);
    mode(0o755);
    match claim {
        Err(e) => assert!(e.to_string().contains("hint: give this user access"), "{e}"),
        Ok(()) => crate::tests::skip("this user may write everywhere"),
    }
    place.holds("1", "first");
}

#[test]
fn leftovers_of_a_killed_run_are_mended() {
    let place = FolderBench::new();
    place.publish("1", "first");
    let beside = |name: &str| place.out().with_file_name(name);
    // Killed between the two renames of a file system without exchange.
    std::fs::rename(place.out(), beside(".demo.old-4711")).unwrap();
    std::fs::create_dir(beside(".demo.new-4711")).unwrap();
    drop(OutputFolder::claim(&place.out(), "demo", false).unwrap());
    place.holds("1", "first");
    // Killed before the old folder was removed; a neighbour with a similar name is not touched.
    for name in [".demo.old-1", ".demo.new-2", ".demo.new-old"] {
        std::fs::create_dir(beside(name)).unwrap();
    }
    std::fs::write(beside(".demo.lock"), "4711\n").unwrap();
    drop(OutputFolder::claim(&place.out(), "demo", false).unwrap());
    std::fs::remove_dir(beside(".demo.new-old")).unwrap();
    place.holds("1", "first");
}

#[test]
fn two_steps_do_what_the_exchange_does() {
    let place = FolderBench::new();
    place.publish("1", "first");
    let folder = OutputFolder::claim(&place.out(), "demo", false).unwrap();
    let new = folder.sibling("new");
    std::fs::create_dir(&new).unwrap();
    std::fs::write(new.join("manifest.json"), r#"{"job":"demo"}"#).unwrap();
    exchange_in_steps(&new, &folder.folder, &folder.sibling("old")).unwrap();
    assert_eq!(files_below(&place.out()).unwrap().len(), 1);
    assert_eq!(files_below(&new).unwrap().len(), 4);
    // The new folder is missing: the old one comes back.
    std::fs::remove_dir_all(&new).unwrap();
    assert!(exchange_in_steps(&new, &folder.folder, &folder.sibling("old")).is_err());
    assert_eq!(files_below(&place.out()).unwrap().len(), 1);
    drop(folder);
    place.is_tidy();
}

const HOLD: &str = "CFAUDIT_TEST_HOLD";

/// Not a separate test: the second process of the next one.
#[test]
fn hold_for_another_process() {
    let Some(folder) = std::env::var_os(HOLD) else { return };
    let _claimed = OutputFolder::claim(Path::new(&folder), "demo", false).unwrap();
    std::io::stdout().write_all(b"claimed\n").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(60));
}

#[test]
fn a_second_process_is_refused_until_the_first_is_killed() {
    let place = FolderBench::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "exec::folder::tests::hold_for_another_process", "--nocapture"])
        .env(HOLD, place.out())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("claimed")));
    let (exit, text) = words(&OutputFolder::claim(&place.out(), "demo", true).unwrap_err());
    assert_eq!(exit, Exit::Operator);
    text.says(&[&format!("process `{}` is writing to it", child.id()), "--out"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(OutputFolder::claim(&place.out(), "demo", false).is_ok());
}

#[test]
fn publishing_the_same_twice_gives_the_same_bytes() {
    let place = FolderBench::new();
    let read = || -> BTreeMap<String, Vec<u8>> {
        files_below(&place.out())
            .unwrap()
            .into_iter()
            .map(|file| (file.name, std::fs::read(file.path).unwrap()))
            .collect()
    };
    place.publish("1", "first");
    let first = read();
    std::fs::remove_dir_all(place.out()).unwrap();
    place.publish("1", "first");
    assert_eq!(read(), first);
}
