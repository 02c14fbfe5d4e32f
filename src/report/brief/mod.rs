//! `report.html`: the brief, which prints on two pages and is signed, and the evidence behind it.
//!
//! The brief answers in ten seconds: the verdict, who is worse off, by how much, against what
//! limit. Every measured value leads to its row in the annex, where there is one. Sentences come
//! from a closed set of templates; none says why, and none names a group that the tables do not
//! name.

pub(crate) mod closing;
pub(crate) mod digits;
pub(crate) mod forest;
pub(crate) mod harm;
pub(crate) mod hero;
pub(crate) mod inputs;
pub(crate) mod limits;
pub(crate) mod shares;
pub(crate) mod voice;

use crate::report::brief::inputs::BriefInputs;
use crate::report::brief::voice::AuditVoice;
use crate::report::evidence;
use crate::report::page::PageBlock;
use crate::report::page::brief::{BriefPage, BriefSection};
use crate::report::page::number::count;
use crate::report::page::plots::{BriefBlock, VerdictBadge};
use crate::report::page::terms::PageGlossary;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::words;

/// The page of a folder.
pub(crate) fn page(
    audit: &AuditFolder,
    title: String,
    glossary: &mut PageGlossary<'_>,
) -> BriefPage {
    let m = &audit.manifest;
    let voice = AuditVoice::new(m, audit.classes.are_there());
    let results = harm::all(audit, &voice);
    let shares = shares::all(audit, &voice);
    let limits = limits::all(audit);
    let annex = !m.words.without_annex;
    let inputs = BriefInputs {
        audit,
        voice: &voice,
        results: &results,
        shares: &shares,
        limits: &limits,
        annex,
    };
    let waits = !m.awaited.is_empty();
    let (brief, evidence) = if waits {
        (vec![waiting(&inputs)], Vec::new())
    } else {
        (brief(&inputs, glossary), evidence::sections(&inputs, glossary))
    };
    BriefPage {
        title,
        job: m.job.clone(),
        run: m.run.clone(),
        program: m.program.clone(),
        version: m.words.version.clone(),
        decision: m.words.decision.clone(),
        facts: facts(audit),
        stand_in: m.stand_in.is_some(),
        annex,
        brief,
        evidence,
    }
}

/// What stands below the title.
fn facts(audit: &AuditFolder) -> Vec<(&'static str, RichText)> {
    let m = &audit.manifest;
    let audited = i64::try_from(m.rows.audited).unwrap_or(i64::MAX);
    let mut facts = vec![("People", RichText::from(count(audited)))];
    let origin: Vec<&str> = match &m.stand_in {
        Some(_) => vec!["made up by cfaudit"],
        None => [&m.words.period, &m.words.source]
            .into_iter()
            .filter_map(|text| text.as_deref())
            .collect(),
    };
    if origin.is_empty() {
        let data = m.inputs.iter().filter(|input| input.what == "data");
        let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let files: Vec<String> = data.map(|input| name(&input.path)).collect();
        if !files.is_empty() {
            facts.push(("Source", RichText::new().quote(files.join(", "))));
        }
    } else {
        facts.push(("Period and source", RichText::new().quote(origin.join(", "))));
    }
    if let Some(version) = &m.words.version {
        facts.push(("Model version", RichText::new().quote(version)));
    }
    facts.push(("Job", RichText::new().quote(&m.job)));
    facts.push(("Run", RichText::new().code(&m.run)));
    facts
}

fn section(
    id: &'static str,
    title: RichText,
    short: &'static str,
    blocks: Vec<PageBlock>,
) -> BriefSection {
    BriefSection { id, title, short, blocks }
}

/// What must be read before the sentence of the page: labels that only some people have, models
/// whose version is not known.
fn first_of_all(audit: &AuditFolder) -> impl Iterator<Item = PageBlock> {
    let told = audit.issues.iter().filter(|issue| issue.code.as_str() == "selective-labels");
    told.map(|issue| {
        let words = RichText::new()
            .strong("Outcomes are known for some people only.")
            .text(" ")
            .quote(voice::capital(issue.text.as_str().trim_end_matches('.')))
            .text(".");
        BriefBlock::Boxed(words).into()
    })
}

/// Doubts about the scores that a reader of the verdict must know.
fn doubts(audit: &AuditFolder) -> Vec<PageBlock> {
    let mut blocks: Vec<PageBlock> = Vec::new();
    for issue in audit.issues.iter() {
        let what = match issue.code.as_str() {
            "no-recheck" => "Model version not checked.",
            "not-repeatable" => "The model does not answer alike.",
            "unexpected-scores" => "Some scores are not the known ones.",
            _ => continue,
        };
        let words = RichText::new()
            .strong(what)
            .text(" ")
            .quote(voice::capital(issue.text.as_str().trim_end_matches('.')))
            .text(".");
        blocks.push(BriefBlock::Boxed(words).into());
    }
    let unbound = audit.manifest.answers.iter().filter(|answer| !answer.named).count();
    if unbound > 0 {
        let files = if unbound == 1 { "1 file of scores does" } else { "Some files of scores do" };
        blocks.push(
            BriefBlock::Boxed(RichText::new().strong("Not bound to the rows of this audit.").text(
                format!(
                    " {files} not name the request that was answered: nothing but the keys says \
                     that the scores belong to these rows."
                ),
            ))
            .into(),
        );
    }
    blocks
}

fn brief(inputs: &BriefInputs<'_>, glossary: &mut PageGlossary<'_>) -> Vec<BriefSection> {
    let BriefInputs { audit, voice, results, limits, .. } = *inputs;
    let href = |anchor: &str| inputs.href(anchor);
    let finding = inputs.choose_hero();
    let mut verdict: Vec<PageBlock> = Vec::new();
    let tally = limits::tally(limits);
    if let Some(name) = &audit.manifest.stand_in {
        let audited = i64::try_from(audit.manifest.rows.audited).unwrap_or(i64::MAX);
        verdict.push(
            BriefBlock::State(
                VerdictBadge::StandIn,
                "Nothing on this page is about real people.".into(),
            )
            .into(),
        );
        let words = RichText::from("Made-up rows, no finding: the data set ")
            .quote(name)
            .text(" could not be read, so ")
            .strong(format!("{} generated people", count(audited)))
            .text(" were audited in its place.");
        verdict.push(BriefBlock::Hero(words).into());
        verdict.push(
            BriefBlock::How(
                "They have the same columns and about the same shares. Use this page to see that \
                 the job runs."
                    .into(),
            )
            .into(),
        );
    } else {
        verdict.push(BriefBlock::State(limits::page_badge(limits), tally.into()).into());
        verdict.extend(first_of_all(audit));
        verdict.push(BriefBlock::Hero(inputs.hero_sentence(&finding, glossary)).into());
        let how = inputs.hero_test(&finding);
        if how != RichText::new() {
            verdict.push(BriefBlock::How(how).into());
        }
        verdict.extend(words::persons(audit).map(|words| BriefBlock::How(words).into()));
        verdict.extend(doubts(audit));
    }
    verdict.extend(inputs.hero_chart(&finding, &href));
    let mut sections = vec![section("verdict", "Verdict".into(), "Verdict", verdict)];
    if !limits.is_empty() {
        let words = RichText::from(
            "Hatched: the side where a limit is broken. A limit is kept or broken when the whole \
             interval says so. ",
        );
        let mut blocks = vec![PageBlock::Note(
            words.strong("Cannot tell").text(": the interval lies on both sides."),
        )];
        let arms = limits.iter().any(|limit| !limit.arm.is_empty());
        if arms {
            blocks.push(PageBlock::Note(
                "A limit on a retrained model says nothing about the model that is audited.".into(),
            ));
        }
        let table = limits::table(audit, limits, voice, glossary, &href);
        blocks.push(BriefBlock::Plots(table).into());
        sections.push(section("limits", limits::heading(limits).into(), "Limits", blocks));
    }
    let all = forest::blocks(audit, results, voice, limits, &href);
    if !all.is_empty() {
        sections.push(section("all", forest::heading(results, voice), "All results", all));
    }
    let not = closing::not_shown(audit, results, voice);
    sections.push(section(
        "not",
        "What this audit does not show".into(),
        "What is not shown",
        vec![BriefBlock::Points("not", not).into()],
    ));
    let sign = vec![closing::sign_off(audit, voice)];
    sections.push(section("sign", "Sign-off".into(), "Sign-off", sign));
    sections
}

/// The page of a run that waits for scores.
fn waiting(inputs: &BriefInputs<'_>) -> BriefSection {
    let audit = inputs.audit;
    let m = &audit.manifest;
    let audited = i64::try_from(m.rows.audited).unwrap_or(i64::MAX);
    let mut models: Vec<&str> = m.awaited.iter().map(|file| file.model.as_str()).collect();
    models.sort_unstable();
    models.dedup();
    let words = RichText::from("The answer is not there yet: ")
        .strong(words::people(audit, audited))
        .text(if models.len() == 1 {
            " wait to be scored by the model "
        } else {
            " wait to be scored by the models "
        });
    let words = models
        .iter()
        .enumerate()
        .fold(words, |words, (i, model)| if i > 0 { words.text(", ") } else { words }.name(*model));
    let files = if m.awaited.len() == 1 {
        "1 file of scores is missing".to_owned()
    } else {
        format!("{} files of scores are missing", m.awaited.len())
    };
    let mut blocks: Vec<PageBlock> = vec![
        BriefBlock::State(
            VerdictBadge::Waiting,
            format!("{files}. Nothing was measured, and no limit was judged.").into(),
        )
        .into(),
        BriefBlock::Hero(words.text(".")).into(),
        BriefBlock::How(
            "Score the rows in each folder below, write the scores to the file, and start the same \
             run again. It goes on from here."
                .into(),
        )
        .into(),
    ];
    let file = |file: &crate::folder::manifest::AwaitedScores| {
        let rows = i64::try_from(file.rows).unwrap_or(i64::MAX);
        RichText::new()
            .code(&file.to_score)
            .text(format!(
                ": {}; scores go to ",
                crate::report::page::number::count_of(rows, "row", "rows")
            ))
            .quote(&file.path)
            .text(" (model ")
            .name(&file.model)
            .text(if file.counterfactual.is_empty() { ", rows as they are" } else { ", set " })
            .name(&file.counterfactual)
            .text(")")
    };
    blocks.push(BriefBlock::Points("lines", m.awaited.iter().map(file).collect()).into());
    blocks.push(PageBlock::Code("Command", m.command.clone()));
    if inputs.annex {
        let words = RichText::from("What the files must hold stands in ");
        blocks.push(PageBlock::Note(inputs.link(words, "the annex", "waiting").text(".")));
    }
    section("verdict", "Verdict".into(), "Verdict", blocks)
}
