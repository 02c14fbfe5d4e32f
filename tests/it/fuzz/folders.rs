//! Whole folders, read by the program itself: finished audits and plans in shards of which a file
//! is not what the program wrote.
//!
//! An input is a line with the name of the file and whether its hash is made to fit (`forged`) or
//! not (`altered`), and what the file holds.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::mutate::{self, Dice};
use super::{Target, Verdict};
use crate::work::{Files, Work, files, results, sha256};

/// The line above the content.
fn input_of(how: &str, name: &str, content: &[u8]) -> Vec<u8> {
    [format!("{how} {name}\n").as_bytes(), content].concat()
}

/// Whether the hash is to fit, the name of the file, and what it holds.
fn parts_of(input: &[u8]) -> (bool, String, &[u8]) {
    let end = input.iter().position(|&byte| byte == b'\n').map_or(input.len(), |at| at + 1);
    let line = String::from_utf8_lossy(&input[..end]).trim_end().to_owned();
    let (how, name) = line.split_once(' ').unwrap_or_default();
    (how == "forged", name.to_owned(), &input[end..])
}

/// Texts are changed as texts, and now and then nothing is.
fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
    let start = parts_of(input).2.len();
    let mut content = input.split_off(input.len() - start);
    match dice.below(8) {
        0 => {}
        1..5 if std::str::from_utf8(&content).is_ok() => mutate::text(&mut content, seeds, dice),
        _ => mutate::bytes(&mut content, 0, seeds, dice),
    }
    input.extend(content);
}

/// Runs the program to an end that is one of its own; its exit status.
fn status(work: &Work, args: &str) -> Result<i32, String> {
    let output = work.command(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(status @ 0..=5) if !said.contains("panicked at") => Ok(status),
        other => Err(format!("`{args}` ends with {other:?}: {said}")),
    }
}

fn verdict(status: i32) -> Verdict {
    if status == 0 { Verdict::Taken } else { Verdict::Refused }
}

/// The folder of a finished audit, in `out`.
pub(super) struct Finished {
    work: Work,
    sound: Files,
}

/// What is done next with a folder that was verified; the length of the input chooses.
const NEXT: [&str; 4] = [
    "pack out --file out.zip",
    "diff out old",
    "export out --to prometheus --file out.prom",
    "explain sr --in out",
];

impl Finished {
    pub(super) fn new() -> Self {
        let work = crate::proof::audited();
        work.cfaudit(0, "run job.yaml --out old --cache cache");
        let mut sound = files(&work.path("out"));
        sound.retain(|name, _| name != "run.json" && !name.starts_with("logs/"));
        Finished { work, sound }
    }

    /// Writes a file of the folder, with its hash into the manifest where that is to fit.
    fn write(&self, name: &str, content: &[u8], is_forged: bool) {
        fs::write(self.work.path("out").join(name), content).unwrap();
        if is_forged && name != "manifest.json" {
            let mut manifest: Json = serde_json::from_slice(&self.sound["manifest.json"]).unwrap();
            manifest["files"][name] = sha256(content).into();
            if name == "job.resolved.yaml" {
                manifest["job_hash"] = sha256(content).into();
            }
            let text = serde_json::to_string_pretty(&manifest).unwrap() + "\n";
            self.work.write("out/manifest.json", &text);
        }
    }
}

impl Target for Finished {
    fn name(&self) -> &'static str {
        "folders"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let both = ["altered", "forged"].into_iter();
        let all = both.flat_map(|how| self.sound.iter().map(move |file| (how, file)));
        all.map(|(how, (name, content))| input_of(how, name, content)).collect()
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        change(input, seeds, dice);
    }

    fn feed(&self, _: &Path, input: &[u8], _: &mut Dice) -> Result<Verdict, String> {
        let (is_forged, name, content) = parts_of(input);
        let Some(sound) = self.sound.get(&name) else { return Ok(Verdict::Refused) };
        self.write(&name, content, is_forged);
        let found = status(&self.work, "verify out --json");
        let next = status(&self.work, NEXT[input.len() % NEXT.len()]);
        self.write(&name, sound, false);
        self.work
            .write("out/manifest.json", std::str::from_utf8(&self.sound["manifest.json"]).unwrap());
        let (found, next) = (found?, next?);
        let is_listed = name != "manifest.json";
        if !is_forged && is_listed && (content != sound) != (found == 5) {
            return Err(format!("`verify` ends with {found} after an alteration of {name}"));
        }
        if found == 5 && input.len().is_multiple_of(NEXT.len()) && next != 5 {
            return Err(format!("`pack` ends with {next} and `verify` with {found}"));
        }
        Ok(verdict(found))
    }
}

/// A plan in two shards, in `plan2`, with everything that its workers and merges wrote.
pub(super) struct Shards {
    work: Work,
    sound: Files,
    results: Files,
}

/// The files of a plan, and the verb that reads each; `PLAN` is the folder.
const READ_BY: &[(&str, &str)] = &[
    ("plan.json", "merge PLAN --pass count"),
    ("plan.json", "worker PLAN --pass count --shard 0 --cache off"),
    ("job.resolved.yaml", "worker PLAN --pass count --shard 0 --cache off"),
    ("survey/part-00000.state", "merge PLAN --pass survey"),
    ("count/part-00001.state", "merge PLAN --pass count"),
    ("survey/merged.state", "worker PLAN --pass count --shard 0 --cache off"),
    ("count/merged.state", "run job.yaml --from PLAN --out out --cache off"),
];

impl Shards {
    /// None where this build cannot run its job.
    pub(super) fn new() -> Option<Self> {
        if crate::shards::is_without_lightgbm() {
            return None;
        }
        let work = crate::shards::with_job("naive");
        crate::shards::pass_over(&work, 2, &crate::shards::PASSES, "");
        work.cfaudit(0, "run job.yaml --from plan2 --out out --cache off");
        let sound = files(&work.path("plan2"));
        let results = work.results();
        Some(Shards { work, sound, results })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path("plan2").join(name)
    }

    /// Writes back what an input changed.
    fn restore(&self) {
        let now = files(&self.work.path("plan2"));
        for (name, content) in
            self.sound.iter().filter(|(name, content)| now.get(*name) != Some(content))
        {
            fs::write(self.path(name), content).unwrap();
        }
    }
}

/// The first two lines of a file of states, and the states as text.
fn open_states(file: &[u8]) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = file.splitn(3, |&byte| byte == b'\n').collect();
    let [first, header, body] = parts.as_slice() else { return None };
    let text = zstd::bulk::decompress(body, 1 << 28).ok()?;
    Some([first, b"\n".as_slice(), header, b"\n", &text].concat())
}

/// The other way round; the header gets the size and the hash of the states.
fn closed_states(open: &[u8]) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = open.splitn(3, |&byte| byte == b'\n').collect();
    let [first, header, text] = parts.as_slice() else { return None };
    let mut header: Json = serde_json::from_slice(header).ok()?;
    let fields = header.as_object_mut()?;
    fields.insert("bytes".to_owned(), text.len().into());
    fields.insert("sha256".to_owned(), sha256(text).into());
    let body = zstd::bulk::compress(text, 3).unwrap();
    Some([first, b"\n".as_slice(), header.to_string().as_bytes(), b"\n", &body].concat())
}

impl Target for Shards {
    fn name(&self) -> &'static str {
        "shards"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = Vec::new();
        for (name, _) in READ_BY {
            let content = &self.sound[*name];
            seeds.push(input_of("altered", name, content));
            let states = name.contains("part-").then(|| open_states(content).unwrap());
            seeds.extend(states.map(|open| input_of("forged", name, &open)));
        }
        seeds
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        change(input, seeds, dice);
    }

    fn feed(&self, _: &Path, input: &[u8], dice: &mut Dice) -> Result<Verdict, String> {
        let (is_forged, name, content) = parts_of(input);
        let verbs: Vec<&str> =
            READ_BY.iter().filter(|(of, _)| *of == name).map(|(_, verb)| *verb).collect();
        let closed = if is_forged { closed_states(content) } else { Some(content.to_vec()) };
        let (Some(closed), false) = (closed, verbs.is_empty()) else { return Ok(Verdict::Refused) };
        fs::write(self.path(&name), closed).unwrap();
        let verb = dice.of(&verbs);
        let written = match verb.split(' ').next() {
            Some("worker") => "count/part-00000.state",
            Some("merge") if verb.ends_with("survey") => "survey/merged.state",
            Some("merge") => "count/merged.state",
            _ => "",
        };
        if !written.is_empty() {
            fs::remove_file(self.path(written)).unwrap();
        }
        let ended = status(&self.work, &verb.replace("PLAN", "plan2"));
        let made = fs::read(self.path(written)).ok();
        self.restore();
        let ended = ended?;
        let is_same = match written {
            "" => results(&self.work.path("out")) == self.results,
            file => made.as_ref() == Some(&self.sound[file]),
        };
        if ended == 0 && !is_forged && !is_same {
            return Err(format!("`{verb}` takes an altered {name} and gives something else"));
        }
        Ok(verdict(ended))
    }
}
