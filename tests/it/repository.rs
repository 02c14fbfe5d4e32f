//! Rules of the repository: skipped tests are counted, and fail where none may be skipped; every
//! file is compiled; files are accessed only through `exec::files`; `make help` names all targets.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::layers::{code, sources};
use crate::work::{Says, root, skip};

/// A test that reads real rows, run again without them.
#[test]
fn what_is_skipped_is_counted_and_fails_with_ci() {
    let (target, empty) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = |ci: &str| {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", "oracle::german", "--test-threads", "2"]);
        again
            .env("CFAUDIT_SHARED", empty.path())
            .env("CARGO_TARGET_DIR", target.path())
            .env("CI", ci)
            .output()
            .unwrap()
    };
    let file = target.path().join("skipped.txt");
    let summary = || {
        let Output { stdout, .. } =
            Command::new(root().join("tests/skipped.sh")).arg(&file).output().unwrap();
        String::from_utf8(stdout).unwrap()
    };
    assert_eq!(summary(), "skipped: nothing\n");
    let why = "there is no expected/metrics/german in $CFAUDIT_SHARED or ../shared";
    for n in 1..=2 {
        assert!(run("").status.success());
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            format!("{why}\toracle::german\n").repeat(n)
        );
    }
    assert_eq!(summary(), format!("skipped: 2 tests or parts of tests; 2 x {why}\n"));
    assert!(
        !run("true").status.success(),
        "with CI=true nothing that real rows could serve is skipped"
    );
}

/// A file that no `mod` names is not compiled, and a test in it never runs.
#[test]
fn every_file_is_part_of_a_crate() {
    let mut files = Vec::new();
    ["src", "tests/it"].iter().for_each(|folder| sources(&root().join(folder), &mut files));
    for file in &files {
        let (folder, name) = (file.parent().unwrap(), file.file_stem().unwrap().to_str().unwrap());
        let (folder, name) = match name {
            "lib" | "main" | "cfaudit" => continue,
            "mod" => (folder.parent().unwrap(), folder.file_name().unwrap().to_str().unwrap()),
            name => (folder, name),
        };
        let above = folder.with_extension("rs");
        let parents = ["mod.rs", "lib.rs", "main.rs"]
            .map(|name| folder.join(name))
            .into_iter()
            .chain([above]);
        let declared = [format!("mod {name};"), format!("{name}.rs\"]")];
        let is_declared =
            parents.filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| {
                text.lines()
                    .any(|line| declared.iter().any(|end| line.trim().ends_with(end.as_str())))
            });
        assert!(is_declared, "no file declares {}", file.display());
    }
}

/// Every folder and file of expected values is described.
#[test]
fn expected_values_say_where_they_come_from() {
    let folder = root().join("tests/expected");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    readme.says(&["No row here describes a real person"]);
    for part in ["metrics", "generation", "cf-gu"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(
                readme.contains(&format!("`{part}/{name}")),
                "{part}/{name} is not in tests/expected/README.md"
            );
        }
    }
}

#[test]
fn make_help_names_every_target() {
    let make = |args: &[&str]| {
        Command::new("make").args(args).current_dir(root()).env_remove("MAKEFLAGS").output()
    };
    let Ok(help) = make(&["help"]) else { return skip("there is no make here") };
    let help = String::from_utf8(help.stdout).unwrap();
    let named: Vec<&str> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for file in ["Makefile", ".ci/common.mk", "bench/Makefile", "tests/packages/Makefile"] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let targets = text
            .lines()
            .filter_map(|line| line.strip_prefix(".PHONY:"))
            .flat_map(str::split_whitespace);
        targets.for_each(|target| {
            assert!(named.contains(&target), "`make help` does not name `{target}` of {file}")
        });
    }
    // The Makefile of the root passes these on.
    for (target, does) in [
        // Tests ask the program that a person calls, and leave it where it is.
        ("test", "--profile dev --test it"),
        ("bench-boss", "bench/boss.py"),
        ("bench", "bench/run.py"),
        ("dist-test", "tests/packages/try.sh"),
    ] {
        let would = make(&["--dry-run", target]).unwrap();
        assert!(
            would.status.success() && String::from_utf8_lossy(&would.stdout).contains(does),
            "make {target}: {would:?}"
        );
    }
}

/// Whether a line of code accesses files without `exec/files.rs`, or switches off the lint that
/// forbids it.
fn bypasses_exec_files(line: &str) -> bool {
    let inside = |braces: &str| {
        braces.split([',', '{', '}', ' ', ';']).any(|part| part == "fs" || part.starts_with("fs::"))
    };
    let named = line.contains("std::fs")
        || line.split_once("std::{").is_some_and(|(_, braces)| inside(braces));
    let called = ["read_dir", "metadata", "symlink_metadata", "canonicalize", "read_link"];
    let path = |call: &&str| {
        line.contains(&format!("path.{call}()")) || line.contains(&format!("folder.{call}()"))
    };
    named || called.iter().any(path) || line.contains("disallowed_methods")
}

/// One file for the program, and the one that the build script compiles alone.
#[test]
fn files_are_accessed_in_one_place() {
    let mut all = Vec::new();
    sources(&root().join("src"), &mut all);
    all.retain(|file| {
        file.components().all(|part| part.as_os_str() != "tests" && part.as_os_str() != "tests.rs")
    });
    // The crate as a whole lets its tests alone.
    all.retain(|file| *file != root().join("src/lib.rs"));
    let bypasses = |file: &PathBuf| {
        code(&fs::read_to_string(file).unwrap()).iter().any(|(_, line)| bypasses_exec_files(line))
    };
    let found: Vec<PathBuf> = all.into_iter().filter(bypasses).collect();
    let known =
        ["src/exec/files.rs", "src/exec/source_fingerprint.rs"].map(|file| root().join(file));
    assert_eq!(
        found, known,
        "call `exec::files` instead: its errors name the path and who must do what"
    );
}

#[test]
fn every_bypass_is_found() {
    for line in [
        "use std::fs;",
        "use std::{fs, io};",
        "use std::{io, fs::File};",
        "    path.metadata()?;",
        "let a = std::fs::read(b);",
    ] {
        assert!(bypasses_exec_files(line), "{line}");
    }
    for line in [
        "use std::os::unix::fs::MetadataExt;",
        "use std::{fmt, io};",
        "files::metadata(path)?",
        "use rustix::fs::OFlags;",
    ] {
        assert!(!bypasses_exec_files(line), "{line}");
    }
}

/// A stage reads another one through the handle that its builder gave it, so that its key covers
/// what it reads.
#[test]
fn stages_are_read_only_through_handles() {
    let mut files = Vec::new();
    sources(&root().join("src/stage"), &mut files);
    let mut callers: Vec<String> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let calls = code(&text).into_iter().filter(|(_, line)| line.contains("ctx.need("));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        callers.extend(calls.map(|(line, _)| format!("{name}:{line}")));
    }
    assert!(callers.len() == 1 && callers[0].starts_with("stage_builder.rs:"), "{callers:?}");
}

/// A measured value has a dozen fields that are mostly none: one function fills them.
#[test]
fn a_measured_value_is_put_together_in_one_place() {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    let makers: Vec<PathBuf> = files
        .into_iter()
        .filter(|file| {
            let text = fs::read_to_string(file).unwrap();
            code(&text).iter().any(|(_, line)| line.trim() == "furthest: None,")
        })
        .collect();
    assert!(
        matches!(makers.as_slice(), [one] if one.ends_with("measured_value.rs")),
        "`MeasuredValue::new` is the place: {makers:?}"
    );
}
