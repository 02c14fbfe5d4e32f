//! Runs a program of the user's: writes its input, reads its output, enforces its time limit.
//!
//! - The program gets exactly the environment it is given, the working directory of cfaudit, and a
//!   process group of its own.
//! - Its three pipes are served by three threads, so it may read and write in any order, or not at
//!   all, without a deadlock. Nothing is buffered without bound: a program that reads slowly slows
//!   down the writer.
//! - The program has ended when the process that was started has ended. The rest of its group is
//!   then killed; it is killed at once when the run is stopped, the time limit is over, or its rows
//!   cannot be read, and soon after its output turns out to be unusable.
//! - The last lines of its standard error are kept for messages. Values of variables that are
//!   passed on by name are blanked wherever messages show its output.
//! - A program that answers several times ([`KeptProgram`]) goes on after an answer and gets the
//!   next question on the same pipes. It is ended with the run: its standard input is closed, and
//!   what has not ended soon after is killed.
//!
//! The contents of the pipes are the caller's concern.

pub(crate) mod env_variable;
mod output_text;
pub(super) mod shell;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use self::env_variable::EnvVariable;
use self::output_text::{OutputTail, SECRET, occurrences, printable, redact, redacted, secrets};
use self::shell::shell_line;
use super::event::{ANSWERED, Event};
use super::planned_stage::millis;
use super::{StageContext, files};
use crate::error::{Error, Fault, Result};

/// How often a thread that waits for a pipe checks whether it must stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The longest pause between two checks of the process.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a program may go on after its output turned out to be unusable.
///
/// The exit status of a failed program is more useful.
const GRACE: Duration = Duration::from_secs(2);

/// How long pipes may stay open after the program has ended.
///
/// A process outside its group may hold them.
const LINGER: Duration = Duration::from_secs(2);

/// A program of the user's with its arguments, environment and time limit.
#[derive(Debug, Clone)]
pub(crate) struct ChildProgram {
    /// The name in messages, such as "the command of model `live`".
    pub name: String,
    /// The program and its arguments.
    ///
    /// A path with a slash is relative to the working directory, a word without one is looked up in
    /// PATH.
    pub argv: Vec<String>,
    /// The whole environment of the program.
    pub env: Vec<EnvVariable>,
    /// The time after which it is killed.
    pub time_limit: Duration,
}

impl ChildProgram {
    /// The beginning of some output of the program, for messages.
    ///
    /// Secret values are blanked, even one of which only the beginning was read.
    pub(crate) fn excerpt(&self, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        let mut marks = occurrences(&self.env, &text);
        for (name, value) in secrets(&self.env) {
            let cut = value
                .char_indices()
                .map(|(at, _)| at)
                .rev()
                .find(|&at| at >= SECRET && text.ends_with(&value[..at]));
            marks.extend(cut.map(|at| (text.len() - at..text.len(), name)));
        }
        redact(&text, marks)
    }
}

/// The end of a program, for faults that are found in its results.
#[derive(Debug, Clone)]
pub(crate) struct ProgramExit {
    name: String,
    env: Vec<EnvVariable>,
    command: String,
    status: Option<String>,
    tail: Vec<String>,
}

impl ProgramExit {
    /// A fault of the program; `what` is what it did (`wrote 3 scores for 4 rows`).
    ///
    /// Command, status and last lines are added.
    pub(crate) fn fault(&self, code: &'static str, what: &str) -> Fault {
        let mut text = format!("{} {what}\n  command: `{}`", self.name, self.command);
        if let Some(status) = &self.status {
            text.push_str(&format!("\n  ended with: {status}"));
        }
        match self.tail.as_slice() {
            [] => text.push_str("\n  it wrote nothing to its standard error"),
            lines => {
                text.push_str("\n  its standard error ended with:");
                lines.iter().for_each(|line| text.push_str(&format!("\n  | {line}")));
            }
        }
        Fault { what: text, code, ..Fault::default() }
    }

    /// A fault found in the program's results, with program, command, status and last lines added.
    ///
    /// Secret values are blanked.
    #[must_use]
    pub(crate) fn complete(&self, fault: Fault) -> Fault {
        Fault { what: self.fault(fault.code, &redacted(&self.env, &fault.what)).what, ..fault }
    }
}

/// Standard input of a program. Writing fails once the program no longer reads.
#[derive(Debug)]
pub(crate) struct ProgramInput<'a> {
    pipe: ChildStdin,
    stop: &'a AtomicBool,
    closed: bool,
}

impl Write for ProgramInput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let written = ready(self.pipe.as_fd(), PollFlags::OUT, self.stop)
                .and_then(|()| self.pipe.write(bytes));
            match written {
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                    ) => {}
                other => {
                    self.closed |= other.is_err();
                    return other;
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output or standard error of a program.
#[derive(Debug)]
pub(crate) struct ProgramOutput<'a, P> {
    pipe: P,
    stop: &'a AtomicBool,
    held_open: bool,
}

impl<P: Read + AsFd> Read for ProgramOutput<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = ready(self.pipe.as_fd(), PollFlags::IN, self.stop);
        self.held_open |= result.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::TimedOut);
        result.and_then(|()| self.pipe.read(buffer))
    }
}

/// Waits until the pipe can be used; errs with `TimedOut` when it must stop and nothing is there.
fn ready(pipe: BorrowedFd<'_>, how: PollFlags, stop: &AtomicBool) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::from_borrowed_fd(pipe, how)], Some(&TICK)) {
            Ok(0) if stop.load(Ordering::Relaxed) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The flags shared by the threads of one program.
#[derive(Debug, Default)]
struct ChildFlags {
    /// The pipes must no longer be waited for.
    stop: AtomicBool,
    /// Making its input failed.
    not_fed: AtomicBool,
    /// Its output was unusable.
    unusable: AtomicBool,
    /// It has answered, and keeps running.
    answered: AtomicBool,
    /// Number of output pipes that are still read.
    open: AtomicUsize,
}

/// Why a program ended, or why the run no longer waits for it.
enum EndCause {
    Exited,
    Answered,
    TimedOut,
    NotFed,
    Unusable,
    Stopped(Error),
}

/// Runs a program to its end.
///
/// `feed` writes its standard input on the calling thread, `read` reads its standard output on
/// another; both may return early. Output that `read` leaves unread after success is kept as last
/// lines, like standard error. Sends `command.start` and `command.end`.
///
/// # Errors
/// The program cannot be started, ends with another status than 0 or by a signal, or exceeds its
/// time limit; the error of `read` (with the program's name and last lines added); the error of
/// `feed`, unless the cause is that the program stopped reading; or the run is stopped.
pub(crate) fn run<T: Send>(
    ctx: &StageContext<'_>,
    program: &ChildProgram,
    feed: impl FnOnce(&mut ProgramInput<'_>) -> Result<()>,
    read: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
) -> Result<(T, ProgramExit)> {
    let started = RunningProgram::start(ctx, program)?;
    let (value, ended, _) = started.exchange(ctx, program, AfterAnswer::Ends, feed, read)?;
    Ok((value, ended))
}

/// A program that is started once and asked again and again, until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct KeptProgram(Mutex<Option<RunningProgram>>);

impl KeptProgram {
    /// Asks the program, which is started if it does not run; otherwise as [`run`]. `feed` writes
    /// one question, and `read` reads exactly the answer to it.
    ///
    /// # Errors
    /// As [`run`]; the program then no longer runs.
    pub(crate) fn ask<T: Send>(
        &self,
        ctx: &StageContext<'_>,
        program: &ChildProgram,
        feed: impl FnOnce(&mut ProgramInput<'_>) -> Result<()>,
        read: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
    ) -> Result<(T, ProgramExit)> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match kept.take() {
            Some(running) => running,
            None => RunningProgram::start(ctx, program)?,
        };
        let (value, ended, running) =
            running.exchange(ctx, program, AfterAnswer::GoesOn, feed, read)?;
        *kept = running;
        Ok((value, ended))
    }
}

impl Drop for KeptProgram {
    fn drop(&mut self) {
        let kept = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = kept.take() {
            running.end();
        }
    }
}

/// What a program does after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterAnswer {
    /// It ends on its own, and is waited for.
    Ends,
    /// It waits for the next question.
    GoesOn,
}

/// A program that was started, with its pipes.
#[derive(Debug)]
struct RunningProgram {
    process: ProcessGroup,
    ended: ProgramExit,
    input: ChildStdin,
    output: ChildStdout,
    signs: Arc<ChildFlags>,
    tail: Arc<Mutex<OutputTail>>,
}

impl RunningProgram {
    fn start(ctx: &StageContext<'_>, program: &ChildProgram) -> Result<Self> {
        let ended = ProgramExit {
            name: program.name.clone(),
            env: program.env.clone(),
            command: shell_line(&program.argv),
            status: None,
            tail: Vec::new(),
        };
        ctx.check()?;
        let mut process = ProcessGroup(start(program).map_err(|e| not_started(program, &e))?);
        ctx.emit(&Event::CommandStart {
            stage: ctx.stage().to_owned(),
            text: ended.command.clone(),
        });
        let signs = Arc::new(ChildFlags { open: AtomicUsize::new(1), ..ChildFlags::default() });
        let child = &mut process.0;
        let (Some(input), Some(output), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(Error::io(
                "open the pipes of",
                Path::new(&program.argv[0]),
                &io::ErrorKind::BrokenPipe.into(),
            ));
        };
        fcntl_setfl(&input, OFlags::NONBLOCK)
            .map_err(|e| Error::io("feed", Path::new(&program.argv[0]), &e.into()))?;
        let tail = Arc::new(Mutex::new(OutputTail::default()));
        let (flags, lines) = (Arc::clone(&signs), Arc::clone(&tail));
        let drain = move || {
            drain_output(
                &mut ProgramOutput { pipe: stderr, stop: &flags.stop, held_open: false },
                Some(&lines),
                &flags.stop,
            );
            flags.open.fetch_sub(1, Ordering::Relaxed);
        };
        thread::Builder::new()
            .spawn(drain)
            .map_err(|e| Error::operator("start", "threads", e, None))?;
        Ok(RunningProgram { process, ended, input, output, signs, tail })
    }

    /// Asks once; returns the program if it keeps running.
    fn exchange<T: Send>(
        self,
        ctx: &StageContext<'_>,
        program: &ChildProgram,
        after: AfterAnswer,
        feed: impl FnOnce(&mut ProgramInput<'_>) -> Result<()>,
        read: impl FnOnce(&mut dyn Read) -> Result<T> + Send,
    ) -> Result<(T, ProgramExit, Option<Self>)> {
        let started = Instant::now();
        let RunningProgram { mut process, mut ended, input, output, signs, tail } = self;
        let (goes_on, pid) = (after == AfterAnswer::GoesOn, Pid::from_child(&process.0));
        for sign in [&signs.not_fed, &signs.unusable, &signs.answered] {
            sign.store(false, Ordering::Relaxed);
        }
        signs.open.fetch_add(1, Ordering::Relaxed);
        let (fed, given, end, input) = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut output =
                    ProgramOutput { pipe: output, stop: &signs.stop, held_open: false };
                let result = read(&mut output);
                signs.unusable.store(result.is_err(), Ordering::Relaxed);
                if !goes_on || result.is_err() {
                    drain_output(&mut output, result.is_ok().then_some(&*tail), &signs.stop);
                }
                signs.open.fetch_sub(1, Ordering::Relaxed);
                (result, output.held_open, output.pipe)
            });
            let watcher = scope.spawn(|| watch(ctx, pid, started, program.time_limit, &signs));
            let mut input = ProgramInput { pipe: input, stop: &signs.stop, closed: false };
            let mut fed = feed(&mut input);
            // A program need not read all its input; its output decides whether it succeeded.
            if input.closed {
                fed = Ok(());
            }
            signs.not_fed.store(fed.is_err(), Ordering::Relaxed);
            let input = (goes_on && fed.is_ok() && !input.closed).then_some(input.pipe);
            let given = joined(reader);
            signs.answered.store(input.is_some() && given.0.is_ok(), Ordering::Relaxed);
            (fed, given, joined(watcher), input)
        });
        ended.tail = tail.lock().unwrap_or_else(PoisonError::into_inner).lines(&program.env);
        let (result, held_open, output) = given;
        if let (EndCause::Answered, Some(input)) = (&end, input) {
            let value = result?;
            tell_end(ctx, started, ANSWERED, &ended);
            let running =
                RunningProgram { process, ended: ended.clone(), input, output, signs, tail };
            return Ok((value, ended, Some(running)));
        }
        let status =
            process.0.wait().map_err(|e| Error::io("wait for", Path::new(&program.argv[0]), &e))?;
        let code = match end {
            EndCause::Exited | EndCause::Answered => status_words(status),
            EndCause::TimedOut => "time limit".to_owned(),
            EndCause::NotFed | EndCause::Unusable | EndCause::Stopped(_) => "killed".to_owned(),
        };
        tell_end(ctx, started, &code, &ended);
        if let EndCause::Stopped(error) = end {
            return Err(error);
        }
        fed?;
        match (end, result) {
            (_, Err(error)) if !matches!(error, Error::Data(_)) => Err(error),
            (EndCause::TimedOut, _) => {
                let what = format!(
                    "did not end within its time limit of {} s",
                    program.time_limit.as_secs_f64()
                );
                ended.fault("command-failed", &what).fail(
                    "increase `time_limit`, or find out what it waits for: it must read its \
                         standard input to the end",
                )
            }
            (EndCause::Exited, _) if !status.success() => Err(failed(&ended, status).into()),
            (_, Err(_)) if held_open => ended
                .fault(
                    "command-failed",
                    "ended, but a process that it had started kept its standard output open",
                )
                .fail("the program must wait for the processes that it starts"),
            (_, Err(Error::Data(fault))) => {
                ended.status = Some(code);
                Err(ended.complete(*fault).into())
            }
            (_, Err(error)) => Err(error),
            (_, Ok(value)) => {
                ended.status = Some(code);
                Ok((value, ended, None))
            }
        }
    }

    /// Ends a program that waits for the next question: without input it has nothing left to do.
    fn end(self) {
        let RunningProgram { mut process, input, output, signs, .. } = self;
        let pid = Pid::from_child(&process.0);
        drop((input, output));
        let closed = Instant::now();
        while !has_ended(pid) && closed.elapsed() < LINGER {
            thread::sleep(Duration::from_millis(1));
        }
        // Fails where no process is left.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = process.0.wait();
        signs.stop.store(true, Ordering::Relaxed);
    }
}

/// The process that was started; dropping this kills the rest of its group.
#[derive(Debug)]
struct ProcessGroup(Child);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // After a wait its number may belong to another process: then nothing is killed.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

fn start(program: &ChildProgram) -> io::Result<Child> {
    let [name, args @ ..] = program.argv.as_slice() else {
        return Err(io::ErrorKind::NotFound.into());
    };
    Command::new(name)
        .args(args)
        .env_clear()
        .envs(program.env.iter().map(|v| (&v.name, &v.value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

/// Checks whether a program can be started, as far as its file shows.
///
/// # Errors
/// Its file is not there, or is not executable; says where it was looked for.
pub(crate) fn check_program(program: &ChildProgram) -> Result<()> {
    let name = program.argv.first().map_or("", String::as_str);
    let may = |path: &Path| {
        let found = files::metadata_if_there(path).ok().flatten().ok_or(io::ErrorKind::NotFound)?;
        let runs = found.is_file() && found.permissions().mode() & 0o111 != 0;
        if runs { Ok(()) } else { Err(io::Error::from(io::ErrorKind::PermissionDenied)) }
    };
    let there = if name.contains('/') {
        may(Path::new(name))
    } else {
        let folders = program.env.iter().find(|v| v.name == "PATH").map(|v| &v.value);
        let found = folders.map(|folders| std::env::split_paths(folders).map(|f| f.join(name)));
        let mut found = found.into_iter().flatten().filter(|path| path.is_file());
        if found.any(|path| may(&path).is_ok()) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    };
    there.map_err(|e| not_started(program, &e))
}

fn not_started(program: &ChildProgram, cause: &io::Error) -> Error {
    let name = program.argv.first().map_or("", String::as_str);
    let (why, hint) = match cause.kind() {
        io::ErrorKind::NotFound if name.contains('/') => (
            "the file, or the interpreter in its first line, does not exist".to_owned(),
            "paths are relative to the working directory of cfaudit",
        ),
        io::ErrorKind::NotFound => (
            "it is not in any folder of PATH".to_owned(),
            "write a program in the working directory as `./NAME`",
        ),
        io::ErrorKind::PermissionDenied => (
            "it is not executable".to_owned(),
            "make it executable (`chmod +x`), or start it by its interpreter",
        ),
        _ => (cause.to_string(), "check whether the program runs when you start it yourself"),
    };
    let what = format!(
        "{} cannot be started: `{}`: {why}\n  command: `{}`",
        program.name,
        printable(name),
        shell_line(&program.argv)
    );
    Fault::new("command-not-started", what).hint(hint).into()
}

/// Signals that a program has ended, or has answered.
fn tell_end(ctx: &StageContext<'_>, started: Instant, code: &str, ended: &ProgramExit) {
    ctx.emit(&Event::CommandEnd {
        stage: ctx.stage().to_owned(),
        code: code.to_owned(),
        ms: millis(started.elapsed()),
        text: ended.tail.join("\n"),
    });
}

fn failed(ended: &ProgramExit, status: ExitStatus) -> Fault {
    let hint = match status.signal() {
        Some(9) => "SIGKILL often means that the machine ran out of memory",
        Some(_) => "run the command yourself on a few rows to reproduce the failure",
        None => "its last lines may give the reason; a successful program ends with status 0",
    };
    ended.fault("command-failed", &format!("failed with {}", status_words(status))).hint(hint)
}

/// `exit status 3`, `signal 11 (SIGSEGV)`.
fn status_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => {
            let name = match signal {
                1 => " (SIGHUP)",
                2 => " (SIGINT)",
                6 => " (SIGABRT)",
                9 => " (SIGKILL)",
                11 => " (SIGSEGV)",
                13 => " (SIGPIPE)",
                15 => " (SIGTERM)",
                _ => "",
            };
            format!("signal {signal}{name}")
        }
        (None, None) => "no status".to_owned(),
    }
}

/// Whether the process has ended. It is not reaped: as long as it is a zombie, no other process
/// gets its number or that of its group.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid), options), Ok(None) | Err(Errno::INTR))
}

/// Waits for the answer or the end of the process; at its end it kills what is left of its group.
fn watch(
    ctx: &StageContext<'_>,
    pid: Pid,
    started: Instant,
    limit: Duration,
    signs: &ChildFlags,
) -> EndCause {
    let mut pause = Duration::from_millis(1);
    let mut unusable_since = None;
    let end = loop {
        if signs.answered.load(Ordering::Relaxed) {
            return EndCause::Answered;
        }
        if has_ended(pid) {
            break EndCause::Exited;
        }
        if let Err(error) = ctx.check() {
            break EndCause::Stopped(error);
        }
        if signs.not_fed.load(Ordering::Relaxed) {
            break EndCause::NotFed;
        }
        if started.elapsed() >= limit {
            break EndCause::TimedOut;
        }
        if signs.unusable.load(Ordering::Relaxed)
            && unusable_since.get_or_insert_with(Instant::now).elapsed() >= GRACE
        {
            break EndCause::Unusable;
        }
        thread::sleep(pause);
        pause = (2 * pause).min(PAUSE);
    };
    // Fails where no process is left.
    let _ = kill_process_group(pid, Signal::KILL);
    let killed = Instant::now();
    while signs.open.load(Ordering::Relaxed) > 0 && killed.elapsed() < LINGER {
        thread::sleep(Duration::from_millis(1));
    }
    signs.stop.store(true, Ordering::Relaxed);
    end
}

/// The result of a thread; a panic there (a bug) is resumed here.
fn joined<T>(handle: ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|bug| panic::resume_unwind(bug))
}

/// Reads to the end and keeps the last bytes.
fn drain_output<P: Read + AsFd>(
    output: &mut ProgramOutput<'_, P>,
    tail: Option<&Mutex<OutputTail>>,
    stop: &AtomicBool,
) {
    let mut buffer = [0; 8192];
    // A read error ends the output. A program that never stops writing is abandoned once the pipes
    // must no longer be waited for.
    while let Ok(n) = output.read(&mut buffer)
        && n > 0
    {
        if let Some(tail) = tail {
            tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..n]);
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
}

#[cfg(test)]
mod tests;
