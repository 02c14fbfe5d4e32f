//! Small shell programs that do what programs of users may do.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process_group};

use super::env_variable::EnvVariable;
use super::{ChildProgram, KeptProgram, ProgramInput, run};
use crate::error::{Error, Fault, Result, StopSignal};
use crate::exec::StageContext;
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::tests::Says;

#[derive(Default)]
struct ChildEvents(Mutex<Vec<Event>>);

impl Observer for ChildEvents {
    fn on(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

fn on_stage<T>(
    cancel: &CancelFlag,
    heard: &ChildEvents,
    work: impl FnOnce(&StageContext<'_>) -> T,
) -> T {
    work(&StageContext::new("score/live", Path::new("."), BTreeMap::new(), heard, cancel))
}

fn variable(name: &str, value: &str, secret: bool) -> EnvVariable {
    EnvVariable { name: name.to_owned(), value: value.into(), secret }
}

fn program(argv: &[&str]) -> ChildProgram {
    let path = std::env::var("PATH").unwrap();
    ChildProgram {
        name: "the command of model `live`".to_owned(),
        argv: argv.iter().map(|&a| a.to_owned()).collect(),
        env: vec![variable("PATH", &path, false), variable("TOKEN", "hunter2-hunter2", true)],
        time_limit: Duration::from_secs(60),
    }
}

fn shell(script: &str) -> ChildProgram {
    program(&["sh", "-c", script])
}

fn all(output: &mut dyn Read) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    output
        .read_to_end(&mut bytes)
        .map_err(|e| Fault::new("bad-output", format!("wrote what breaks off: {e}")))?;
    Ok(bytes)
}

/// Feeds ten megabytes.
fn flood(input: &mut ProgramInput<'_>) -> Result<()> {
    for i in 0..1000_u32 {
        let line = vec![i.to_le_bytes()[0]; 10_000];
        input.write_all(&line).map_err(|e| Error::io("feed", Path::new("stdin"), &e))?;
    }
    Ok(())
}

fn ran(program: &ChildProgram) -> Result<Vec<u8>> {
    on_stage(&CancelFlag::default(), &ChildEvents::default(), |ctx| run(ctx, program, flood, all))
        .map(|(bytes, _)| bytes)
}

#[track_caller]
fn fault(result: Result<Vec<u8>>) -> Fault {
    match result {
        Err(Error::Data(fault)) => *fault,
        other => panic!("expected a fault, got {:?}", other.map(|bytes| bytes.len())),
    }
}

#[test]
fn a_program_may_read_and_write_in_any_order() {
    assert_eq!(ran(&program(&["cat"])).unwrap().len(), 10_000_000);
    assert_eq!(
        ran(&shell("head -c 10000000 /dev/zero; cat > /dev/null")).unwrap().len(),
        10_000_000
    );
    assert_eq!(ran(&shell("cat > /dev/null; echo done")).unwrap(), b"done\n");
    // A program need not read its input: its output decides.
    assert_eq!(ran(&shell("echo done")).unwrap(), b"done\n");
    assert_eq!(ran(&shell("exec <&-; sleep 0.2; echo done")).unwrap(), b"done\n");
}

/// A line to a program that answers line by line, and its answer.
fn asked(
    kept: &KeptProgram,
    program: &ChildProgram,
    heard: &ChildEvents,
    word: &str,
) -> Result<String> {
    let read_line = |output: &mut dyn Read| {
        let (mut line, mut byte) = (Vec::new(), [0]);
        while output.read(&mut byte).unwrap_or_default() > 0 && byte != *b"\n" {
            line.push(byte[0]);
        }
        let no_line = Fault::new("bad-output", "wrote no line");
        if line.is_empty() { Err(no_line.into()) } else { Ok(String::from_utf8(line).unwrap()) }
    };
    let write = |input: &mut ProgramInput<'_>| {
        writeln!(input, "{word}").map_err(|e| Error::io("feed", Path::new("stdin"), &e))
    };
    let cancel = CancelFlag::default();
    on_stage(&cancel, heard, |ctx| kept.ask(ctx, program, write, read_line)).map(|(line, _)| line)
}

#[test]
fn a_kept_program_answers_again_and_again_and_ends_with_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let ended = folder.path().join("ended");
    let lines = format!(
        "echo $$; while read line; do [ $line = die ] && {{ echo why >&2; exit 4; }}; \
         [ $line = sleep ] && sleep 300; echo $line $$; done; echo well > {}",
        ended.display()
    );
    let (kept, heard) = (KeptProgram::default(), ChildEvents::default());
    let mut program = shell(&lines);
    let pid = asked(&kept, &program, &heard, "one").unwrap();
    assert_eq!(asked(&kept, &program, &heard, "two").unwrap(), format!("one {pid}"));
    assert_eq!(asked(&kept, &program, &heard, "three").unwrap(), format!("two {pid}"));
    let names: Vec<&str> = heard.0.lock().unwrap().iter().map(Event::name).collect();
    assert_eq!(names, ["command.start", "command.end", "command.end", "command.end"]);
    assert!(!ended.exists());
    drop(kept);
    assert_eq!(std::fs::read_to_string(&ended).unwrap(), "well\n");
    let alive = |pid: &str| test_kill_process_group(Pid::from_raw(pid.parse().unwrap()).unwrap());
    assert!(alive(&pid).is_err(), "nobody is left");
    // One that fails is started again for the next question, and one that is late is killed.
    let kept = KeptProgram::default();
    let first = asked(&kept, &program, &heard, "one").unwrap();
    let died = asked(&kept, &program, &heard, "die");
    let failed =
        fault(died.and_then(|_| asked(&kept, &program, &heard, "three")).map(String::into_bytes));
    assert!(failed.what.contains("failed with exit status 4") && failed.what.ends_with("| why"));
    let second = asked(&kept, &program, &heard, "one").unwrap();
    assert!(first != second && alive(&first).is_err());
    program.time_limit = Duration::from_millis(300);
    asked(&kept, &program, &heard, "sleep").unwrap();
    let late = fault(asked(&kept, &program, &heard, "two").map(String::into_bytes));
    late.what.says(&["time limit of 0.3 s"]);
    // The system reaps an orphaned process, which may take some time.
    let killed = Instant::now();
    while alive(&second).is_ok() {
        assert!(killed.elapsed() < Duration::from_secs(40), "somebody is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_environment_is_what_it_is_given() {
    let environment = String::from_utf8(ran(&program(&["env"])).unwrap()).unwrap();
    let mut names: Vec<&str> =
        environment.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["PATH", "TOKEN"]);
}

#[test]
fn failures_name_command_status_and_last_lines() {
    let failed = fault(ran(&shell(
        "echo one >&2; printf \"bar 1%%\\rbar 100%%\\n\\033[31mred $TOKEN\\n\" >&2; exit 3",
    )));
    assert_eq!(failed.code, "command-failed");
    let lines: Vec<&str> = failed.what.lines().collect();
    assert_eq!(lines[0], "the command of model `live` failed with exit status 3");
    assert!(lines[1].starts_with("  command: `sh -c 'echo one >&2;"), "{}", lines[1]);
    assert_eq!(
        lines[2..],
        [
            "  its standard error ended with:",
            "  | one",
            "  | bar 100%",
            "  | \\u{1b}[31mred [TOKEN]"
        ]
    );
    assert!(failed.hint.is_some());

    let killed = fault(ran(&shell("kill -SEGV $$")));
    killed.what.says(&["failed with signal 11 (SIGSEGV)", "wrote nothing to its standard error"]);
    let absent = fault(ran(&program(&["no-such-program-anywhere"])));
    assert_eq!(absent.code, "command-not-started", "{}", absent.what);
    absent.what.says(&["it is not in any folder of PATH"]);
    let absent = fault(ran(&program(&["./no/such/file"])));
    absent.what.says(&["in its first line, does not exist"]);
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    let refused = fault(ran(&program(&[plain.to_str().unwrap()])));
    refused.what.says(&["is not executable"]);
}

#[test]
fn a_flood_on_standard_error_is_drained_and_its_end_kept() {
    let script = "i=0; while [ $i -lt 60000 ]; do echo \"line $i of a long story that goes on and \
                  on and on and on and on\" >&2; i=$((i+1)); done; cat > /dev/null; exit 1";
    let failed = fault(ran(&shell(script)));
    let lines: Vec<&str> = failed.what.lines().filter(|l| l.starts_with("  | ")).collect();
    assert_eq!(lines.len(), 20);
    assert!(
        lines[19].contains("line 59999 of") && lines[0].contains("line 59980 of"),
        "{}",
        lines[0]
    );
}

#[test]
fn a_line_without_an_end_is_shown_by_its_end() {
    let failed = fault(ran(&shell(
        "head -c 5000000 /dev/zero | tr '\\0' 'x' >&2; printf ' the end' >&2; exit 1",
    )));
    let line = failed.what.lines().last().unwrap();
    assert!(line.len() < 500 && line.ends_with("xxx the end"), "{line}");
}

/// The process group whose number the script wrote to this file.
fn group(file: &Path) -> Pid {
    Pid::from_raw(std::fs::read_to_string(file).unwrap().trim().parse().unwrap()).unwrap()
}

#[track_caller]
fn assert_gone(group: Pid) {
    // Killed processes may take a moment to be reaped by init.
    let started = Instant::now();
    while test_kill_process_group(group).is_ok() {
        assert!(started.elapsed() < Duration::from_secs(5), "somebody of the group is left");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_time_limit_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let hangs = shell(&format!("echo $$ > {}; sleep 300 & sleep 300 | sleep 300", file.display()));
    let started = Instant::now();
    let late = fault(ran(&ChildProgram { time_limit: Duration::from_millis(300), ..hangs }));
    late.what.says(&["did not end within its time limit of 0.3 s"]);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_gone(group(&file));
}

#[test]
fn a_signal_to_the_run_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let hangs =
        shell(&format!("echo $$ > {}; trap '' TERM; sleep 300 & wait; sleep 300", file.display()));
    let (cancel, heard) = (CancelFlag::default(), ChildEvents::default());
    let started = Instant::now();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !file.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(50));
            cancel.raise(StopSignal::Terminate);
        });
        on_stage(&cancel, &heard, |ctx| run(ctx, &hangs, flood, all))
    });
    assert!(matches!(result, Err(Error::Interrupted(StopSignal::Terminate))));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_gone(group(&file));
    let heard = heard.0.into_inner().unwrap();
    assert!(
        matches!(&heard[..],
            [Event::CommandStart { .. }, Event::CommandEnd { code, .. }] if code == "killed"),
        "{heard:?}"
    );
}

#[test]
fn what_is_left_behind_is_ended_with_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let leaves = shell(&format!("echo $$ > {}; sleep 300 & echo done", file.display()));
    assert_eq!(ran(&leaves).unwrap(), b"done\n");
    assert_gone(group(&file));
    // A process that left the group and holds the pipes cannot be killed, and is not waited for.
    let started = Instant::now();
    let daemon = fault(ran(&shell("setsid sleep 8 & sleep 0.5; echo done")));
    daemon.what.says(&["kept its standard output open"]);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn unusable_output_ends_the_program_and_its_own_failure_says_more() {
    let refuse = |output: &mut dyn Read| -> Result<()> {
        let mut first = [0; 4];
        output.read_exact(&mut first).map_err(|e| Error::io("read", Path::new("stdout"), &e))?;
        Fault::new("bad-output", format!("wrote `{}`", String::from_utf8_lossy(&first)))
            .fail("do not")
    };
    let run_it = |script: &str| {
        on_stage(&CancelFlag::default(), &ChildEvents::default(), |ctx| {
            run(ctx, &shell(script), flood, refuse)
        })
    };
    let check = |script: &str, words: &str| match run_it(script) {
        Err(Error::Data(fault)) => {
            assert!(fault.what.contains(words) && fault.hint.is_some(), "{}", fault.what)
        }
        other => panic!("{other:?}"),
    };
    let started = Instant::now();
    check("echo rubbish; exec yes", "the command of model `live` wrote `rubb`\n  command: ");
    assert!(started.elapsed() < Duration::from_secs(20));
    check("echo rubbish; sleep 0.1; exit 7", "failed with exit status 7");
    check("echo rubbish", "ended with: exit status 0");
}

#[test]
fn what_stops_the_feeder_ends_the_program() {
    let stuck =
        |_: &mut ProgramInput<'_>| -> Result<()> { Err(Fault::new("bad-row", "row 7").into()) };
    let result = on_stage(&CancelFlag::default(), &ChildEvents::default(), |ctx| {
        run(ctx, &program(&["sleep", "300"]), stuck, all)
    });
    assert!(matches!(result, Err(Error::Data(fault)) if fault.code == "bad-row"));
}

#[test]
fn events_tell_start_and_end() {
    let heard = ChildEvents::default();
    let unread = |_: &mut dyn Read| Ok(());
    let script = "echo 'for people' ; echo 'a b' >&2";
    let ((), ended) = on_stage(&CancelFlag::default(), &heard, |ctx| {
        run(ctx, &shell(script), |_| Ok(()), unread)
    })
    .unwrap();
    let heard = heard.0.into_inner().unwrap();
    let [Event::CommandStart { stage, text }, Event::CommandEnd { code, text: tail, .. }] =
        &heard[..]
    else {
        panic!("{heard:?}")
    };
    assert_eq!((stage.as_str(), code.as_str()), ("score/live", "exit status 0"));
    assert!(text.starts_with("sh -c 'echo '\\''for people"), "{text}");
    tail.says(&["a b", "for people"]);
    ended.fault("bad-scores", "wrote rubbish").what.says(&["ended with: exit status 0"]);
}
