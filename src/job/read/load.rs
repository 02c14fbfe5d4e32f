//! Reads a job file into one tree: `include` merged, `--set` applied, `${vars.x}` filled.
//!
//! The format number is checked before anything else. Paths of `include` are relative to the file
//! that names them; maps are merged, lists and scalars replaced, a later file wins over an earlier
//! one and the including file over all. A value that consists only of a variable (`threshold:
//! ${vars.t}`) is read as if its text stood there, so it may be a number.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, FilePlace, JobProblem, Result};
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::job::messages::{self as m, Said};
use crate::job::read::tree::{self, YamlMapKey, YamlNode, YamlScalar, YamlValue, join, shorten};
use crate::job::read::word_lists::suggest;
use crate::job::schema::types_schema;
use crate::nearest::nearest;

/// The format of job files that this program reads.
pub(crate) const FORMAT: u64 = 1;

/// Longest job file in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Most files that one job may include, counted each time they are named.
const MAX_INCLUDES: usize = 100;

/// Maps of the job whose keys are names of the author's (`*` is any of them): `--set` cannot add to
/// them.
const BY_NAME: &[(&[&str], &str)] = &[
    (&["vars"], "variable"),
    (&["counterfactuals"], "counterfactual set"),
    (&["counterfactuals", "*", "graph-uncertain", "knowledge"], "scenario"),
    (&["models"], "model"),
    (&["experiments"], "experiment"),
    (&["experiments", "*", "arms", "directed", "rules"], "rule"),
    (&["recourse"], "block of recourse"),
    (&["gates"], "gate"),
    (&["why"], "`why` block"),
    (&["data", "derive"], "derived column"),
    (&["data", "sensitive"], "sensitive attribute"),
    (&["data", "bins"], "column with bins"),
    (&["data", "features", "ordinal"], "ordinal column"),
    (&["data", "features", "onehot"], "one-hot group"),
    (&["data", "rows", "synthetic", "columns"], "generated column"),
];

/// A file that was merged into the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// Its path, as the including file's folder and the written path give it.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

/// A job file as one tree.
#[derive(Debug, Clone)]
pub struct LoadedJob {
    /// The whole job.
    pub root: YamlNode,
    /// The job file as the caller named it.
    pub file: String,
    /// The files merged below it, in the order of reading.
    pub includes: Vec<IncludedFile>,
    /// The `--set` values, as given.
    pub sets: Vec<String>,
    /// What was wrong with variables and `--set`.
    pub problems: Vec<JobProblem>,
    /// Dotted paths of the values that could not be filled.
    pub unknown: Vec<String>,
    /// Dotted paths of the values that hold a variable.
    pub filled: BTreeSet<String>,
}

/// Reads the job file and all it includes; `sets` are `PATH=VALUE` of the command line, in order.
///
/// # Errors Files that cannot be read, YAML that cannot be parsed, a format number that this
/// program does not know. Problems with variables and `--set` are kept in [`LoadedJob::problems`],
/// so that they can be reported with the others.
pub(crate) fn load(path: &Path, sets: &[String]) -> Result<LoadedJob> {
    load_text(path, &read(path, None)?, sets)
}

/// As [`load`], for the text of a job file.
///
/// # Errors
/// As [`load`].
pub(crate) fn load_text(path: &Path, text: &[u8], sets: &[String]) -> Result<LoadedJob> {
    let file = path.display().to_string();
    let mut merge =
        IncludeMerge { includes: Vec::new(), chain: vec![(canonical(path), file.clone())] };
    let root = merge.file(&file, path, text).map_err(Error::Job)?;
    let mut loaded = LoadedJob {
        root,
        file,
        includes: merge.includes,
        sets: sets.to_vec(),
        problems: Vec::new(),
        unknown: Vec::new(),
        filled: BTreeSet::new(),
    };
    for set in sets {
        if let Err(problems) = apply(&mut loaded.root, set) {
            loaded.problems.extend(problems);
        }
    }
    fill(&mut loaded);
    Ok(loaded)
}

/// Whether a path represents a file that was opened for this process, such as standard input or
/// `<(...)` of a shell: the process that opened it has the other end, so a pipe there ends.
fn is_inherited_file(path: &Path) -> bool {
    path == Path::new("/dev/stdin")
        || path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
}

/// The bytes of the job file, or of one that is included at a place.
fn read(path: &Path, at: Option<&FilePlace>) -> Result<Vec<u8>> {
    let (file, wrong) = (path.display(), |said| Error::Job(vec![fault(at.cloned(), said)]));
    let Some(there) = files::metadata_if_there(path)? else {
        return Err(wrong(absent(path, at.is_some())));
    };
    // Opening a pipe already waits for a writer, who may never come.
    if !is_inherited_file(path) && !there.is_file() {
        let said = if at.is_some() { m::file_of_no_file(file) } else { m::job_of_no_file(file) };
        return Err(wrong(said));
    }
    let bytes = files::read_start(path, MAX_BYTES + 1)?;
    let is_long = bytes.len() as u64 > MAX_BYTES;
    if is_long { Err(wrong(m::file_long(file, MAX_BYTES >> 20))) } else { Ok(bytes) }
}

fn canonical(path: &Path) -> PathBuf {
    files::resolve(path).unwrap_or_else(|_| path.to_path_buf())
}

fn fault(place: Option<FilePlace>, Said { code, what, hint, .. }: Said) -> JobProblem {
    JobProblem { code, path: String::new(), place, what, hint: Some(hint) }
}

fn absent(path: &Path, is_included: bool) -> Said {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = files::list(folder).unwrap_or_default().into_iter();
    let mut found: Vec<String> = found.map(|path| files::name_of(&path)).collect();
    found.retain(|file| file.ends_with(".yaml") || file.ends_with(".yml"));
    let near = nearest(&files::name_of(path), found.iter().map(String::as_str));
    match near.map(|near| path.with_file_name(near).display().to_string()) {
        Some(near) if is_included => m::file_absent_near("included", path.display(), near),
        Some(near) => m::file_absent_near("job", path.display(), near),
        None if is_included => m::included_absent(path.display()),
        None if folder.is_dir() => m::job_absent(path.display()),
        None => m::job_absent_folder(path.display(), folder.display()),
    }
}

fn utf8<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, Vec<JobProblem>> {
    std::str::from_utf8(bytes).map_err(|e| {
        let good = String::from_utf8_lossy(&bytes[..e.valid_up_to()]);
        let line = good.matches('\n').count() as u64 + 1;
        let column = good.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
        let place = FilePlace { file: file.to_owned(), line, column };
        vec![fault(Some(place), m::file_no_utf8(file))]
    })
}

/// Merges a file with what it includes.
struct IncludeMerge {
    includes: Vec<IncludedFile>,
    /// The files being read: the job, then what it includes, down to the innermost.
    chain: Vec<(PathBuf, String)>,
}

impl IncludeMerge {
    fn file(&mut self, file: &str, path: &Path, bytes: &[u8]) -> Result<YamlNode, Vec<JobProblem>> {
        let text = utf8(file, bytes)?;
        let mut root = tree::parse(file, text)?;
        if root.scalar().is_some_and(|s| s.text.is_empty()) {
            return Err(vec![fault(Some(root.place), m::file_is_empty(file))]);
        }
        if !matches!(root.value, YamlValue::Map(_)) {
            let said = m::file_no_map(file, root.describe());
            return Err(vec![fault(Some(root.place), said)]);
        }
        format_number(file, &root, self.chain.len() == 1)?;
        let mut below: Option<YamlNode> = None;
        let mut problems = Vec::new();
        if let Some(include) = root.get("include").cloned() {
            let YamlValue::Seq(items) = &include.value else {
                let said = m::include_no_list(include.describe());
                return Err(vec![fault(Some(include.place), said)]);
            };
            for item in items {
                match self.include(path, item) {
                    Ok(node) => below = Some(below.map_or(node.clone(), |b| merged(b, node))),
                    Err(found) => problems.extend(found),
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        if self.chain.len() > 1
            && let YamlValue::Map(entries) = &mut root.value
        {
            entries.retain(|(key, _)| key.text != "include");
        }
        Ok(match below {
            Some(below) => merged(below, root),
            None => root,
        })
    }

    fn include(&mut self, from: &Path, item: &YamlNode) -> Result<YamlNode, Vec<JobProblem>> {
        let fail = |said| Err(vec![fault(Some(item.place.clone()), said)]);
        let scalar = item.scalar().filter(|scalar| !scalar.is_null());
        let Some(YamlScalar { text: written, .. }) = scalar else {
            return fail(m::include_no_path(item.describe()));
        };
        if written.contains("${") {
            return fail(m::include_variable(written));
        }
        let path = from.parent().unwrap_or(Path::new("")).join(written);
        let file = path.display().to_string();
        let bytes = match read(&path, Some(&item.place)) {
            Ok(bytes) => bytes,
            Err(Error::Job(problems)) => return Err(problems),
            Err(other) => return fail(m::include_unreadable(&file, other.cause())),
        };
        let key = canonical(&path);
        if let Some(start) = self.chain.iter().position(|(included, _)| *included == key) {
            let names = self.chain[start..].iter().map(|(_, name)| format!("`{name}`"));
            return fail(m::include_circle(Vec::from_iter(names).join(" -> "), file));
        }
        if self.includes.len() >= MAX_INCLUDES {
            return fail(m::includes_many(MAX_INCLUDES));
        }
        let sha256 = sha256(&bytes);
        self.includes.push(IncludedFile { path: file.clone(), sha256 });
        self.chain.push((key, file.clone()));
        let node = self.file(&file, &path, &bytes);
        self.chain.pop();
        node
    }
}

fn format_number(file: &str, root: &YamlNode, required: bool) -> Result<(), Vec<JobProblem>> {
    let number = |node: &YamlNode| node.scalar().filter(|s| !s.quoted)?.text.parse::<u64>().ok();
    let (place, said) = match root.get("cfaudit").map(|node| (node, number(node))) {
        None if required => (&root.place, m::format_missing(file)),
        None | Some((_, Some(1..=FORMAT))) => return Ok(()),
        Some((node, Some(newer))) if newer > FORMAT => {
            (&node.place, m::format_newer(file, newer, FORMAT))
        }
        Some((node, _)) => (&node.place, m::format_no_number(node.describe())),
    };
    Err(vec![fault(Some(place.clone()), said)])
}

/// Two trees as one: maps merged key by key, all else taken from `above`.
fn merged(below: YamlNode, above: YamlNode) -> YamlNode {
    let YamlNode { value: above_value, place } = above;
    match (below.value, above_value) {
        (YamlValue::Map(mut entries), YamlValue::Map(more)) => {
            for (key, node) in more {
                match entries.iter_mut().find(|(k, _)| k.text == key.text) {
                    Some(entry) => {
                        let empty = YamlNode::empty(node.place.clone());
                        *entry = (key, merged(std::mem::replace(&mut entry.1, empty), node));
                    }
                    None => entries.push((key, node)),
                }
            }
            YamlNode { value: YamlValue::Map(entries), place }
        }
        // A key without a value is an empty map: it adds nothing.
        (YamlValue::Map(entries), YamlValue::Scalar(scalar)) if scalar.is_null() => {
            YamlNode { value: YamlValue::Map(entries), place: below.place }
        }
        (_, value) => YamlNode { value, place },
    }
}

fn apply(root: &mut YamlNode, set: &str) -> Result<(), Vec<JobProblem>> {
    let place = FilePlace { file: format!("--set {set}"), line: 0, column: 0 };
    let fail = |said| vec![fault(Some(place.clone()), said)];
    let Some((mut path, text)) = set_parts(set) else {
        return Err(fail(m::set_form(shorten(set))));
    };
    let variables = root.get("vars").and_then(YamlNode::entries).unwrap_or(&[]).iter();
    let variables: Vec<&str> = variables.map(|(key, _)| key.text.as_str()).collect();
    if let [name] = path.as_slice() {
        if variables.contains(&name.as_str()) {
            path.insert(0, "vars".to_owned());
        } else if matches!(&**name, "cfaudit" | "include" | "vars")
            || types_schema()["properties"].get(name).is_none()
        {
            // No key of the job itself, or one that is read before `--set`.
            let near = suggest(name, "declared under `vars`", variables);
            return Err(fail(m::variable_undeclared(name, near)));
        }
    }
    let mut value = if path[0] == "vars" && !text.starts_with(['"', '\'']) {
        // A variable is text: no quoting is needed beyond the shell's.
        YamlNode::text(text, text.is_empty(), place.clone())
    } else {
        let with_place = |problem: JobProblem| {
            // A value on the command line has no lines that could be indented.
            let hint = problem.hint.filter(|hint| *hint != m::yaml_lines().hint);
            let quoted = format!("--set '{}=\"{text}\"'", path.join("."));
            let quote = format!("quote the value for YAML and for the shell: `{quoted}`");
            JobProblem { place: Some(place.clone()), hint: hint.or(Some(quote)), ..problem }
        };
        let parsed = tree::parse("", text);
        parsed.map_err(|problems| problems.into_iter().map(with_place).collect::<Vec<_>>())?
    };
    set_place(&mut value, &place);
    let mut node = root;
    for (i, key) in path.iter().enumerate() {
        if node.scalar().is_some_and(YamlScalar::is_null) {
            node.value = YamlValue::Map(Vec::new());
        }
        let above = path[..i].iter().fold(String::new(), |p, k| join(&p, k));
        let found = node.describe();
        let YamlValue::Map(entries) = &mut node.value else {
            return Err(fail(m::set_in_no_map(above, found, key)));
        };
        let known = entries.iter().position(|(k, _)| k.text == *key);
        let above_is = |map: &[&str]| {
            map.len() == i && map.iter().zip(&path).all(|(name, key)| *name == "*" || name == key)
        };
        let named = BY_NAME.iter().find(|(map, _)| above_is(map));
        if let (None, Some((_, noun))) = (known, named) {
            let near = suggest(key, "known names", entries.iter().map(|(k, _)| k.text.as_str()));
            return Err(fail(m::name_unknown(noun, key, near)));
        }
        let at = known.unwrap_or_else(|| {
            let added = YamlMapKey { text: key.clone(), place: place.clone() };
            entries.push((added, YamlNode::empty(place.clone())));
            entries.len() - 1
        });
        node = &mut entries[at].1;
    }
    *node = value;
    Ok(())
}

/// Splits `a."b.c".d=VALUE`.
fn set_parts(set: &str) -> Option<(Vec<String>, &str)> {
    let mut path = vec![String::new()];
    let mut quoted = false;
    for (i, c) in set.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => path.push(String::new()),
            '=' if !quoted => {
                return (!path.iter().any(String::is_empty)).then(|| (path, &set[i + 1..]));
            }
            c => path.last_mut()?.push(c),
        }
    }
    None
}

fn set_place(node: &mut YamlNode, place: &FilePlace) {
    node.place = place.clone();
    match &mut node.value {
        YamlValue::Seq(items) => items.iter_mut().for_each(|item| set_place(item, place)),
        YamlValue::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
            key.place = place.clone();
            set_place(value, place);
        }),
        YamlValue::Scalar(_) => {}
    }
}

/// A declared variable.
struct JobVariable {
    name: String,
    place: FilePlace,
    /// `None` where it is required and not given, or is declared wrongly.
    text: Option<String>,
    used: bool,
}

fn fill(loaded: &mut LoadedJob) {
    let mut filler = VariableFiller::default();
    for (key, node) in loaded.root.get("vars").and_then(YamlNode::entries).unwrap_or(&[]) {
        let path = join("vars", &key.text);
        let mut text = None;
        match node.scalar() {
            Some(scalar) if scalar.text == "required" && !scalar.quoted => {
                filler.problem(&path, &key.place, m::variable_required(&key.text));
            }
            Some(scalar) if scalar.text.contains("${") => {
                filler.problem(&path, &node.place, m::variable_of_variable(&key.text));
            }
            Some(scalar) if !scalar.is_null() => text = Some(scalar.text.clone()),
            _ => {}
        }
        filler.variables.push(JobVariable {
            name: key.text.clone(),
            place: key.place.clone(),
            text,
            used: false,
        });
    }
    for (_, node) in loaded.root.get("vars").and_then(YamlNode::entries).unwrap_or(&[]) {
        node.scalar().inspect(|scalar| filler.mark_used(&scalar.text));
    }
    if let YamlValue::Map(entries) = &mut loaded.root.value {
        for (key, node) in
            entries.iter_mut().filter(|(key, _)| !matches!(key.text.as_str(), "vars" | "include"))
        {
            filler.walk(&join("", &key.text), node);
        }
    }
    for variable in std::mem::take(&mut filler.variables).iter().filter(|v| !v.used) {
        let said = m::variable_unused(&variable.name);
        filler.problem(&join("vars", &variable.name), &variable.place, said);
    }
    loaded.problems.append(&mut filler.problems);
    loaded.unknown = filler.unknown;
    loaded.filled = filler.filled;
}

#[derive(Default)]
struct VariableFiller {
    variables: Vec<JobVariable>,
    problems: Vec<JobProblem>,
    unknown: Vec<String>,
    filled: BTreeSet<String>,
}

impl VariableFiller {
    fn walk(&mut self, path: &str, node: &mut YamlNode) {
        match &mut node.value {
            YamlValue::Seq(items) => items
                .iter_mut()
                .enumerate()
                .for_each(|(i, item)| self.walk(&format!("{path}[{i}]"), item)),
            YamlValue::Map(entries) => {
                for (key, value) in entries {
                    if key.text.contains("${") {
                        self.mark_used(&key.text);
                        self.problem(path, &key.place, m::key_with_variable(shorten(&key.text)));
                    }
                    self.walk(&join(path, &key.text), value);
                }
            }
            YamlValue::Scalar(scalar) if scalar.text.contains("${") => {
                match self.filled(path, &scalar.text, &node.place) {
                    Some(text) => {
                        let alone = scalar.text.starts_with("${")
                            && scalar.text.find('}') == Some(scalar.text.len() - 1);
                        scalar.quoted = if alone { text.is_empty() } else { scalar.quoted };
                        scalar.text = text;
                        self.filled.insert(path.to_owned());
                    }
                    None => self.unknown.push(path.to_owned()),
                }
            }
            YamlValue::Scalar(_) => {}
        }
    }

    /// Counts variables as used also in places where they are not filled: one mistake gives one
    /// message.
    fn mark_used(&mut self, text: &str) {
        self.variables
            .iter_mut()
            .filter(|v| text.contains(&format!("${{vars.{}}}", v.name)))
            .for_each(|v| v.used = true);
    }

    fn problem(&mut self, path: &str, place: &FilePlace, said: Said) {
        let problem = fault(Some(place.clone()), said);
        self.problems.push(JobProblem { path: path.to_owned(), ..problem });
    }

    /// The text with its variables filled, unless one of them is unknown.
    fn filled(&mut self, path: &str, text: &str, place: &FilePlace) -> Option<String> {
        let mut out = Some(String::new());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(end) = rest[start..].find('}') else {
                self.problem(path, place, m::variable_open(shorten(&rest[start..])));
                return None;
            };
            let inner = &rest[start + 2..start + end];
            let value = self.variable(path, inner, place);
            out = out.zip(value).map(|(out, value)| out + &rest[..start] + &value);
            rest = &rest[start + end + 1..];
        }
        out.map(|out| out + rest)
    }

    fn variable(&mut self, path: &str, inner: &str, place: &FilePlace) -> Option<String> {
        let name = inner.strip_prefix("vars.").filter(|name| !name.is_empty());
        let found = name.and_then(|name| self.variables.iter_mut().find(|v| v.name == name));
        if let Some(variable) = found {
            variable.used = true;
            return variable.text.clone();
        }
        let known: Vec<&str> = self.variables.iter().map(|v| v.name.as_str()).collect();
        let guess = name.and_then(|name| nearest(name, known.iter().copied()));
        let guess = self.variables.iter().position(|v| Some(v.name.as_str()) == guess);
        let near = name.map(|name| (name, suggest(name, "declared under `vars`", known)));
        let said = match near {
            Some((name, near)) => m::variable_unknown(name, near),
            None => m::variable_only(shorten(inner)),
        };
        self.problem(path, place, said);
        // The variable that was probably meant is not reported as unused as well.
        guess.into_iter().for_each(|i| self.variables[i].used = true);
        None
    }
}
