//! Manual pages and completions: they describe what the program does, and shells and `man` can read
//! them.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use cfaudit::error::EXITS;

use crate::work::{Ran, Says, Work};

/// The verbs that the help lists.
fn verbs(work: &Work) -> BTreeSet<String> {
    let help = work.cfaudit(0, "--help").stdout;
    let (_, listed) = help.split_once("\nCommands:\n").unwrap();
    let (listed, _) = listed.split_once("\nOptions:\n").unwrap();
    // A line that goes on from the one before is indented further.
    let lines = listed
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Whether a program can be started here; says so where it cannot.
fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        crate::work::skip(&format!("there is no {program} here"));
    }
    found
}

#[test]
fn the_manual_names_every_verb_status_and_variable() {
    let work = Work::new();
    // Escapes of roff aside.
    let page = work.cfaudit(0, "man").stdout.replace('\\', "");
    let verbs = verbs(&work);
    assert!(verbs.len() > 10, "{verbs:?}");
    assert!(["run", "completions"].iter().all(|verb| verbs.contains(*verb)), "{verbs:?}");
    for verb in &verbs {
        page.says(&[&format!("cfaudit-{verb}(1)")]);
    }
    for words in EXITS {
        page.says(&[&format!("\n.TP\nfB{}fR\n{};", words.exit.code(), words.means)]);
    }
    for name in ["THREADS", "MEMORY", "CACHE", "LOG", "DATA"] {
        page.says(&[&format!("CFAUDIT_{name}")]);
    }
    page.says(&["outputs/NAME/"]);
}

#[test]
fn a_folder_gets_one_page_for_each_verb() {
    let work = Work::new();
    work.cfaudit(0, "man share/man1");
    let files: BTreeSet<String> = fs::read_dir(work.path("share/man1"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut expected: BTreeSet<String> =
        verbs(&work).iter().map(|verb| format!("cfaudit-{verb}.1")).collect();
    expected.insert("cfaudit.1".to_owned());
    assert_eq!(files, expected);
    assert_eq!(work.read("share/man1/cfaudit.1"), work.cfaudit(0, "man").stdout);
    let run = work.read("share/man1/cfaudit-run.1").replace('\\', "");
    run.says(&["--baseline", "CFAUDIT_THREADS"]);
    run.lacks(&["--batch-rows"]);
    if is_there("groff") {
        for file in files {
            let path = work.path("share/man1").join(&file);
            let ran =
                Ran::of(Command::new("groff").args(["-man", "-ww", "-Tascii", "-z"]).arg(path), 0);
            assert_eq!(ran.stderr, "", "{file}");
        }
    }
    // A file in the way is the operator's business.
    work.write("taken", "");
    work.cfaudit(5, "man taken").says(&["taken"]);
}

#[test]
fn shells_can_read_their_completions() {
    let work = Work::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = work.cfaudit(0, &format!("completions {shell}")).stdout;
        script.says(&["baseline", "completions"]);
        work.write("script", &script);
        if ["bash", "zsh", "fish"].contains(&shell) && is_there(shell) {
            let ran = Ran::of(Command::new(shell).arg("-n").arg(work.path("script")), 0);
            assert_eq!(ran.stderr, "", "{shell}");
        }
    }
    work.cfaudit(2, "completions tcsh").says(&["tcsh"]);
}

#[test]
fn bash_completes_verbs_flags_and_values() {
    if !is_there("bash") {
        return;
    }
    let work = Work::new();
    work.write("cfaudit.bash", &work.cfaudit(0, "completions bash").stdout);
    for (words, expected) in [
        ("cfaudit ex", vec!["explain", "export"]),
        ("cfaudit run --bas", vec!["--baseline"]),
        ("cfaudit run --gates r", vec!["report"]),
        ("cfaudit export --to m", vec!["model-card"]),
    ] {
        let script = format!(
            "source cfaudit.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _cfaudit cfaudit \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; \
             echo \"${{COMPREPLY[@]}}\""
        );
        let ran = Ran::of(
            Command::new("bash").args(["--norc", "-c", &script]).current_dir(work.path("")),
            0,
        );
        let mut offered: Vec<&str> = ran.stdout.split_whitespace().collect();
        offered.sort_unstable();
        assert_eq!(offered, expected, "{words}");
    }
}
