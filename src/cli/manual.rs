//! The command line as manual pages and as completions of shells: both are generated from the
//! definition in `args`.
//!
//! A page carries no date, so that the same program writes the same bytes.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::error::{EXITS, Error, Exit, Result};
use crate::exec::files;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::args::CommandLine;

/// The files that the program reads and writes unless a flag says otherwise.
const FILES: &[(&str, &str)] = &[
    (
        "outputs/NAME/",
        "the output folder of the job NAME: report.html, summary.json, manifest.json, \
         job.resolved.yaml, tables/, rows/",
    ),
    ("outputs/.cache/", "stage results, addressed by content, shared by all jobs; safe to delete"),
    ("data/", "public data sets, one folder each, downloaded and verified on first use"),
];

/// Prints the page of the program, or writes it and one of each verb into `dir`.
pub(crate) fn man(dir: Option<&Path>) -> Result<Exit> {
    let pages = pages().map_err(|e| Error::io("write", Path::new("the manual page"), &e))?;
    let Some(dir) = dir else {
        let page = pages.first().map(|(_, page)| page.as_slice()).unwrap_or_default();
        crate::cli::print(&String::from_utf8_lossy(page))?;
        return Ok(Exit::Done);
    };
    files::make_folder(dir)?;
    for (name, page) in pages {
        files::write(&dir.join(name), page)?;
    }
    Ok(Exit::Done)
}

/// Prints what a shell needs to complete verbs, flags and their values.
pub(crate) fn completions(shell: Shell) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CommandLine::command(), "cfaudit", &mut script);
    crate::cli::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

/// Each manual page with the name of its file, that of the program first.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut program = CommandLine::command();
    program.build();
    let shown = program.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs = shown.cloned().collect::<Vec<_>>();
    let mut pages = vec![page(program.clone(), Some(&verbs))?];
    for verb in verbs {
        pages.push(page(verb, None)?);
    }
    Ok(pages)
}

/// A page with its file name; `verbs` are listed on the page of the program, which also describes
/// what they have in common.
fn page(command: Command, verbs: Option<&[Command]>) -> io::Result<(String, Vec<u8>)> {
    let source = format!("cfaudit {}", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).source(source).manual("cfaudit");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let mut roff = Roff::new();
    match verbs {
        Some(verbs) => {
            man.render_subcommands_section(&mut text)?;
            common(&mut roff, verbs);
        }
        None => {
            roff.control("SH", ["SEE ALSO"]);
            roff.text([bold("cfaudit"), roman("(1) for exit statuses, variables and files")]);
        }
    }
    roff.to_writer(&mut text)?;
    Ok((man.get_filename(), text))
}

/// Exit statuses, variables and files.
fn common(roff: &mut Roff, verbs: &[Command]) {
    roff.control("SH", ["EXIT STATUS"]);
    for words in EXITS {
        item(
            roff,
            &words.exit.code().to_string(),
            &format!("{}; who acts: {}", words.means, words.who),
        );
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, flag) in variables(verbs) {
        item(roff, &name, &format!("replaces the flag --{flag} if it is not given"));
    }
    roff.control("SH", ["FILES"]);
    for (path, text) in FILES {
        item(roff, path, text);
    }
}

fn item(roff: &mut Roff, term: &str, text: &str) {
    roff.control("TP", []);
    roff.text([bold(term)]);
    roff.text([roman(text)]);
}

/// Every variable that a flag of any verb may come from, with that flag.
fn variables(verbs: &[Command]) -> BTreeMap<String, String> {
    let flags = verbs.iter().flat_map(Command::get_arguments);
    flags
        .filter_map(|flag| {
            Some((flag.get_env()?.to_string_lossy().into_owned(), flag.get_long()?.to_owned()))
        })
        .collect()
}
