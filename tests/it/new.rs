//! `cfaudit new`: from a file to a first job.

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::ArrayRef;

use crate::case_folders::copy_all;
use crate::work::{Ran, Rows, Says, Work, column, draw, root};

const N: i64 = 600;

/// Applicants with a column of every kind that a file may have.
fn applicants(work: &Work, file: &str) {
    Rows::of(0..N)
        .with("application_id", |i| 10_000 + 3 * i)
        .with("sex", |i| if draw(i, 2) < 0.45 { "no, f" } else { "m" })
        .with("age", |i| 18 + (draw(i, 3) * 60.0) as i64)
        .with("income", |i| (i % 17 != 0).then(|| (draw(i, 5) * 6000.0).round() / 2.0))
        .with("region", |i| {
            (i % 23 != 0).then(|| ["North", "South: East", "yes"][(i % 3) as usize])
        })
        .with("owns", |i| if draw(i, 7) < 0.5 { "true" } else { "false" })
        .with("note", |i| format!("text {i}"))
        .with("country", |_| "XX")
        .with("repaid", |i| if draw(i, 5) + draw(i, 11) < 0.9 { "no" } else { "yes" })
        .write(work, file);
}

/// A job that `check` accepts: the text that `new` writes.
#[track_caller]
fn checked(work: &Work, new: &str) -> String {
    let text = work.cfaudit(0, &format!("new {new}")).stdout;
    work.write("job.yaml", &text);
    work.cfaudit(0, "check job.yaml");
    text
}

#[test]
fn a_new_job_checks_and_runs() {
    // Who repays least: by the draws that `applicants` makes.
    let share = |women: bool| {
        let own = || (0..N).filter(|&i| (draw(i, 2) < 0.45) == women);
        own().filter(|&i| draw(i, 5) + draw(i, 11) >= 0.9).count() as f64 / own().count() as f64
    };
    let of = |women: bool| format!("{:.1} %", share(women) * 100.0);
    let women = share(true) < share(false);
    let (group, other) = if women { ("\"no, f\"", "m") } else { ("m", "no, f") };
    let at_risk = format!(
        "harm_to: {{sex: {group}}}   # the group with the lowest share of favourable labels (`{}` \
         {}, `{other}` {})",
        group.trim_matches('"'),
        of(women),
        of(!women)
    );
    for file in ["people.parquet", "people.csv"] {
        let work = Work::new();
        applicants(&work, file);
        checked(&work, &format!("{file} --label repaid --sensitive sex")).says(&[
            "row_id: application_id",
            "positive: [\"yes\"]   # DECIDE: ",
            "favourable: positive   # DECIDE: ",
            "groups: [m, \"no, f\"]",
            "reference: m   # DECIDE: ",
            "continuous: [age, income]",
            "nominal: [region, owns]",
            "# left out: note (it identifies rows)",
            "# left out: country (it holds only one value)",
            "missing: {nominal: level, continuous: keep}",
            "  no-harm-by-sex: ",
            &at_risk,
        ]);
        let summary = work.run(0, "job.yaml", "").summary();
        assert_eq!((&summary["job"], &summary["rows"]), (&"people".into(), &180.into()));
        assert!(
            summary["headline"]["trained.flip.sex.sr"].is_f64()
                && summary["headline"]["blind.flip.sex.sr"] == 0.0,
            "{summary}"
        );
        assert_eq!(work.json("out/manifest.json")["row_id"], "column application_id");

        // What the caller says is not a guess.
        let said = "--label repaid --sensitive sex --positive no --favourable negative";
        let mut said = work.command(&format!("new {file} {said} --out said.yaml"));
        Ran::of(said.args(["--reference", "no, f"]), 0);
        let text = work.read("said.yaml");
        assert_eq!(text.matches("DECIDE: ").count(), 1, "{text}");
        work.cfaudit(0, "check said.yaml");
        work.cfaudit(5, &format!("new {file} --label repaid --sensitive sex --out said.yaml"))
            .says(&["the file already exists"]);
        assert_eq!(work.read("said.yaml"), text);
    }
}

/// The table that Aequitas reads: `entity_id`, `score`, `label_value` and attributes.
#[test]
fn an_aequitas_table_is_audited_as_it_stands() {
    let work = Work::new();
    let ids = 1..=N;
    Rows::of(ids)
        .with("entity_id", |i| i)
        .with("score", |i| f64::from(u8::from(draw(i, 2) > 0.6)))
        .with("label_value", |i| i64::from(draw(i, 3) > 0.5))
        .with("race", |i| ["A", "B", "C"][(i % 3) as usize])
        .with("sex", |i| ["f", "m"][(i % 2) as usize])
        .write(&work, "compas_for_aequitas.csv");
    let text = checked(&work, "compas_for_aequitas.csv");
    text.says(&["row_id: entity_id", "column: label_value", "factual: {column: score}"]);
    let summary = work.run(0, "job.yaml", "").summary();
    assert_eq!((&summary["job"], &summary["rows"]), (&"compas-for-aequitas".into(), &N.into()));
    let attributes = &work.json("out/manifest.json")["attributes"];
    let names = [0, 1, 2].map(|i| attributes[i]["name"].as_str());
    assert_eq!(names, [Some("race"), Some("sex"), None]);
    let of_one = checked(&work, "compas_for_aequitas.csv --sensitive race");
    assert_eq!(of_one.matches("reference:").count(), 1);
}

#[test]
fn what_no_job_can_be_made_of_is_told() {
    let work = Work::new();
    applicants(&work, "people.parquet");
    work.parquet(
        "flags.parquet",
        vec![("y", column(vec![true, true])), ("g", column(vec!["a", "b"]))],
    );
    work.write("twice.csv", "id,g,out,out\n1,a,0,1\n2,b,1,1\n3,a,1,0\n4,b,0,0\n");
    for (args, words) in [
        ("people.parquet", "hint: write `--label COLUMN`"),
        (
            "people.parquet --label repaid",
            "hint: write `--sensitive COLUMN`; with few values are `sex`, `region`, `owns`",
        ),
        ("people.parquet --label repayed --sensitive sex", "repayed"),
        ("people.parquet --label note --sensitive sex", "too-many-levels"),
        ("people.parquet --label repaid --sensitive age --reference 7", "too-many-levels"),
        ("people.parquet --label repaid --sensitive country", "one-class"),
        (
            "people.parquet --label repaid --sensitive sex --positive maybe",
            "hint: its values are `no`, `yes`",
        ),
        ("people.parquet --label repaid --sensitive sex --reference x", "unknown-group"),
        ("people.parquet --label repaid --sensitive sex --score region", "bad-scores"),
        ("people.parquet --label repaid --sensitive repaid", "two-roles"),
        ("people.parquet --label repaid --score repaid --sensitive sex", "two-roles"),
        ("people.parquet --label repaid --sensitive sex --sensitive sex", "two-roles"),
        ("twice.csv --label out --sensitive g", "duplicate-column"),
        ("flags.parquet --label y --sensitive g", "one-class"),
        ("nowhere.csv --label y --sensitive g", "nowhere.csv"),
    ] {
        work.cfaudit(3, &format!("new {args}")).says(&[words]);
    }
}

/// Neither a header that occurs twice nor a table without features makes a job that `check`
/// refuses.
#[test]
fn a_new_job_of_a_poor_table_checks() {
    let work = Work::new();
    work.write("poor.csv", "id,g,out,x,x\n1,a,0,1,2\n2,b,1,1,3\n3,a,1,0,4\n4,b,0,0,5\n");
    let text = checked(&work, "poor.csv --label out --sensitive g");
    text.says(&["# left out: x (several columns have this name)"]);
    text.lacks(&["blind:"]);
}

/// Words among numbers mean missing, and what people are refused is not what they want.
#[test]
fn a_new_job_understands_words() {
    let work = Work::new();
    let mut text = "age;income;town;title;decision\n".to_owned();
    for i in 0..200 {
        let income = if i % 9 == 0 { "NA".to_owned() } else { (i * 37 % 900).to_string() };
        let (town, title) = (["north", "south", "NA"][i % 3], ["f", "m"][i % 2]);
        let decision = if i % 5 == 0 { "refused" } else { "in order" };
        text += &format!("{};{income};{town};{title};{decision}\n", 20 + i % 50);
    }
    work.write("credit.csv", &text);
    checked(&work, "credit.csv --label decision --sensitive title").says(&[
        "csv: {path: credit.csv, delimiter: \";\", null_values: [\"NA\"]}",
        "continuous: [age, income]",
        "nominal: [town]",
        "positive: [refused]   # DECIDE: ",
        "favourable: negative   # DECIDE: ",
    ]);
    work.run(0, "job.yaml", "");
    work.edit("credit.csv", "credit.csv", &[("in order", "granted"), ("NA;", "7;")]);
    let text = work.cfaudit(0, "new credit.csv --label decision --sensitive title").stdout;
    text.says(&["positive: [granted]", "favourable: positive"]);
    text.lacks(&["null_values"]);
}

/// A file as a German bank writes it: the job says how to read it, and every number is what it is.
#[test]
fn a_new_job_reads_the_files_of_other_countries() {
    let work = Work::new();
    let mut text = "Alter;Betrag;Geschlecht;Ort;Entscheidung\n".to_owned();
    for i in 0..300_usize {
        let age = if i % 50 == 7 { "k.A.".to_owned() } else { (20 + i % 50).to_string() };
        let amount = format!("{}.{:03},{:02}", 1 + i % 9, i * 37 % 1000, i % 100);
        let (sex, town) = (["w", "m"][i % 2], ["Köln", "Münster", "5 € Straße"][i % 3]);
        let decision = if i % 5 == 0 { "abgelehnt" } else { "bewilligt" };
        text += &format!("{age};{amount};{sex};{town};{decision}\n");
    }
    let bytes: Vec<u8> =
        text.chars().map(|c| if c == '€' { 0x80 } else { u8::try_from(c).unwrap() }).collect();
    fs::write(work.path("kredite.csv"), bytes).unwrap();
    let command_line =
        "kredite.csv --label Entscheidung --positive bewilligt --sensitive Geschlecht";
    checked(&work, command_line).says(&[
        "csv: {path: kredite.csv, delimiter: \";\", encoding: windows-1252, decimal: \",\", \
         thousands: \".\", null_values: [\"k.A.\"]}",
        "continuous: [Alter, Betrag]",
        "nominal: [Ort]",
        "positive: [bewilligt]",
    ]);
    work.run(0, "job.yaml", "");
}

/// What the rows show before anything is measured.
#[test]
fn a_check_warns_of_people_who_drop_out() {
    let work = Work::new();
    applicants(&work, "people.parquet");
    checked(&work, "people.parquet --label repaid --sensitive sex");
    work.cfaudit(0, "check job.yaml").stdout.lacks(&["warning["]);
    let less = [
        ("groups: [m, \"no, f\"]", "groups: [m, f]"),
        ("harm_to: {sex: \"no, f\"}", "harm_to: {sex: f}"),
    ];
    work.edit("job.yaml", "less.yaml", &less);
    let stdout = work.cfaudit(0, "check less.yaml").stdout;
    stdout.says(&["no error in the job or its data, 2 warnings", "warning[undeclared-group]: "]);
    let json = work.cfaudit(0, "check less.yaml --json").summary();
    let warnings = json["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["code"] == "undeclared-group"), "{json}");
    work.cfaudit(0, "run less.yaml --out out --cache cache").says(&["warning: undeclared-group: "]);
}

/// Groups that are texts are counted letter by letter, as they are listed.
#[test]
fn the_group_at_risk_is_one_of_the_groups() {
    let work = Work::new();
    let file = |name: &str, bands: ArrayRef, granted: fn(i64) -> bool| {
        Rows::of(0..bands.len() as i64)
            .column("band", bands)
            .with("x", |i| (i * 7 % 50) as f64)
            .with("y", |i| i64::from(granted(i)))
            .write(&work, name);
    };
    file("a.parquet", column((0..200_i64).map(|i| 1 + i % 2)), |i| i % 4 != 0);
    file("b.parquet", column(vec!["2.0"; 80]), |i| i % 4 == 0);
    let text = work.cfaudit(0, "new *.parquet --label y --sensitive band").stdout;
    text.says(&["band: text", "groups: [\"1\", \"2\", \"2.0\"]", "harm_to: {band: \"2.0\"}"]);
}

/// If the side that people want is taken from a word, the job says so.
#[test]
fn a_guess_is_said() {
    let work = Work::new();
    let mut text = "number;sex;age;offer\n".to_owned();
    for i in 0..200_usize {
        let offer = if i.is_multiple_of(4) { "no" } else { "yes" };
        text += &format!("{i};{};{};{offer}\n", ["w", "m", "m"][i % 3], 20 + i % 50);
    }
    work.write("kredit.csv", &text);
    let new = |args: &str| {
        work.cfaudit(0, &format!("new kredit.csv --label offer --sensitive sex {args}"))
    };
    let guessed = new("");
    guessed.says(&[
        "guessed: `positive: [\"yes\"]` of the label `offer`",
        "guessed: `favourable: positive`: the file",
        "guessed: `reference: m`",
    ]);
    guessed.stdout.says(&[
        "positive: [\"yes\"]   # DECIDE: a guess",
        "# A guess: the file does not show whether people want \"yes\" as offer.\n    favourable: \
         positive",
    ]);
    // The caller's word, and a guess that does not call a no good news.
    let refused = new("--positive no --reference w");
    refused.says(&["guessed: `favourable: negative`"]);
    refused.stderr.lacks(&["`positive: ", "`reference: "]);
    refused.stdout.says(&["favourable: negative   # DECIDE: "]);
    let said = new("--positive no --favourable negative --reference w");
    assert_eq!(said.stderr, "");
    said.stdout.lacks(&["# A guess"]);
    // The same value under a label that is bad news.
    work.write("kredit.csv", &text.replace("offer", "default"));
    work.cfaudit(0, "new kredit.csv --label default --sensitive sex")
        .says(&["`positive: [\"yes\"]`", "`favourable: negative`"]);
    work.write("kredit.csv", &text.replace("yes", "perhaps"));
    new("").says(&["`positive: [perhaps]`", "`favourable: positive`"]);
}

/// A column that reveals the label, the score, the decision or the person is not an input of a
/// model; one that merely looks like it is.
#[test]
fn what_no_model_should_read_is_left_out() {
    let work = Work::new();
    let line = |i: i64| {
        let (age, score) =
            (18 + (draw(i, 3) * 60.0) as i64, (draw(i, 2) * 1000.0).round() / 1000.0);
        let repaid = score + draw(i, 7) > 0.8;
        let yes = |is: bool| if is { "yes" } else { "no" };
        let label = if i % 5 == 0 { "" } else { yes(repaid) };
        format!(
            "{},{},{label},{age},{},{score},{},{},{},{},{},{},{},Customer {} said that all was \
             well on day {}\n",
            7000 + 3 * i,
            ["m", "f"][(i % 2) as usize],
            (draw(i, 11) * 300.0) as i64 * 10,
            300.0 + (score * score * 550.0),
            if score >= 0.5 { "offered" } else { "withheld" },
            if label.is_empty() { String::new() } else { i64::from(repaid).to_string() },
            if repaid { 100.0 + draw(i, 5) } else { draw(i, 5) },
            yes(age >= 65),
            if i % 5 == 0 { "out" } else { "in" },
            ["web", "branch", "phone"][(i % 3) as usize],
            i % 400,
            i % 300,
        )
    };
    let head = "line,sex,repaid,age,income,schufa_score,points,offer,paid_back,profit,senior,\
                channel_state,channel,note";
    work.write("loans.csv", &format!("{head}\n{}", (0..N).map(line).collect::<String>()));
    checked(&work, "loans.csv --label repaid --sensitive sex").says(&[
        "continuous: [age, income]",
        "nominal: [senior, channel]",
        "# left out: line (it identifies rows; ",
        "# left out: schufa_score (its name suggests that it is a score; ",
        "# left out: points (it ranks people like schufa_score)",
        "# left out: offer (it is the decision based on schufa_score)",
        "# left out: paid_back (it is a copy of repaid)",
        "# left out: profit (on its own it predicts repaid: its AUC is 1.000)",
        "# left out: channel_state (a decision: labels are missing where it is out, and nowhere \
         else)",
        "# left out: note (free text)",
        "# scored: {scores: {factual: {column: points}}, scale: {from: 300, to: 850}, threshold: \
         575}",
        "decision: {column: channel_state, positive: [in]}",
    ]);
    // A file that is longer than the sample, in Parquet: the same columns.
    let long = 90_000;
    let y = |i: i64| i64::from(draw(i, 5) > 0.6);
    Rows::of(0..long)
        .with("sex", |i| ["m", "f"][(i % 2) as usize])
        .with("y", y)
        .with("z", |i| y(i) == 0)
        .with("x", |i| draw(i, 7))
        .write(&work, "long.parquet");
    let text = work.cfaudit(0, "new long.parquet --label y --sensitive sex").stdout;
    text.says(&["# left out: z (it is a copy of y)", "continuous: [x]"]);
}

/// A text file of one column more than `head` names: people by turns of both sexes.
fn table(work: &Work, file: &str, head: &str, line: impl Fn(i64) -> String) {
    let line = |i: i64| format!("{},{}\n", ["m", "f"][(i % 2) as usize], line(i));
    work.write(file, &format!("sex,{head}\n{}", (0..N).map(line).collect::<String>()));
}

/// Whole numbers that all differ are numbers of people and contracts, in any order; one of them
/// distinguishes rows.
#[test]
fn numbers_of_people_are_no_features() {
    let work = Work::new();
    let mixed = |i: i64, by: i64| 500_000 + i * by % 601;
    let line = |i: i64| {
        format!(
            "{},{},{},{:05},{},{}",
            mixed(i, 77),
            mixed(i, 113),
            draw(i, 7),
            1000 + i % 30 * 450,
            i * 7 % 590,
            if draw(i, 5) > 0.5 { "yes" } else { "no" }
        )
    };
    table(&work, "people.csv", "vertrag,kundennr,x,plz,income,hired", line);
    work.cfaudit(0, "new people.csv --label hired --sensitive sex --out job.yaml")
        .stderr
        .lacks(&["DECIDE"]);
    work.read("job.yaml").says(&[
        "row_id: kundennr",
        "continuous: [x, income]",
        "nominal: [plz]",
        "# left out: vertrag (it identifies rows; move it to continuous if it is a number)",
    ]);
    work.cfaudit(0, "check job.yaml");
}

/// A column of several types is text, and the job says why.
#[test]
fn a_column_that_changes_its_type_is_text() {
    let work = Work::new();
    fs::create_dir(work.path("parts")).unwrap();
    let people = Rows::of(0..N)
        .with("sex", |i| ["f", "m"][(i % 2) as usize])
        .with("age", |i| 20 + i * 7 % 50)
        .with("repaid", |i| i * 5 % 7 % 2);
    people.clone().with("branch", |i| i % 5).write(&work, "parts/a.parquet");
    people.with("branch", |i| format!("b{}", i % 5)).write(&work, "parts/b.parquet");
    checked(&work, "parts/*.parquet --label repaid --sensitive sex")
        .says(&["    branch: text   # its files hold values of different types\n"]);
}

/// A text file that spells booleans out: 1 and 0 name them, as in a column of booleans.
#[test]
fn a_wish_for_1_is_one_for_true() {
    let work = Work::new();
    let flag = |yes: bool| if yes { "True" } else { "False" };
    let line = |i: i64| format!("{},{}", draw(i, 7), flag(draw(i, 5) > 0.4));
    table(&work, "people.csv", "x,hired", line);
    let new = "new people.csv --label hired --sensitive sex --out job.yaml --positive";
    work.cfaudit(0, &format!("{new} 0"));
    work.read("job.yaml").says(&["positive: [\"false\"]"]);
    work.cfaudit(0, "check job.yaml");
    work.cfaudit(3, &format!("{new} 2")).says(&["its values are `false`, `true`"]);
}

/// Two negations in a name cancel, and capitals begin words.
#[test]
fn names_of_labels_tell_what_people_want() {
    let work = Work::new();
    for (label, side) in [
        ("default", "negative"),
        ("no_default", "positive"),
        ("not_rejected", "positive"),
        ("not_approved", "negative"),
        ("LoanDefault", "negative"),
        ("hasDefaulted", "negative"),
        ("notRejected", "positive"),
    ] {
        let line = |i: i64| {
            format!("{},{}", draw(i, 7), i64::from(draw(i, 5) > 0.5 + (i % 2) as f64 / 4.0))
        };
        table(&work, "loans.csv", &format!("x,{label}"), line);
        let new = |args: &str| {
            work.cfaudit(0, &format!("new loans.csv --label {label} --sensitive sex {args}"))
        };
        let group = if side == "positive" { "f" } else { "m" };
        let follows = format!("`harm_to: {{sex: {group}}}` depends on `favourable`; change both");
        new("").says(&[
            "`positive: [\"1\"]`",
            &format!("`favourable: {side}`: the file"),
            &follows,
        ]);
        new(&format!("--favourable {side}")).stderr.lacks(&["harm_to"]);
    }
}

/// Women get fewer loans, and those who get one repay more often: the decision names the group at
/// risk, and if the file holds none, the reader must name it.
#[test]
fn decisions_tell_who_is_at_risk() {
    let work = Work::new();
    let granted = |i: i64| draw(i, 5) < if i % 2 == 1 { 0.4 } else { 0.75 };
    let repaid = |i: i64| if draw(i, 7) < 0.7 + (i % 2) as f64 * 0.2 { "yes" } else { "no" };
    let label = move |i: i64| if granted(i) { repaid(i) } else { "" };
    let outcome = |i: i64| match granted(i) {
        true if i % 5 == 0 => "refer",
        true => "approve",
        false => "decline",
    };
    let new = || work.cfaudit(0, "new loans.csv --label repaid --sensitive sex");
    table(&work, "loans.csv", "x,outcome,code,repaid", |i| {
        format!("{},{},{},{}", draw(i, 11), outcome(i), &outcome(i)[..1], label(i))
    });
    let ran = new();
    ran.stdout.says(&[
        "# left out: outcome (a decision: labels are missing where it is decline, and nowhere \
         else)",
        "# left out: code (a decision: labels are missing where it is d, and nowhere else)",
        "harm_to: {sex: f}   # the group with the lowest share of favourable decisions by outcome \
         (`f` ",
        "continuous: [x]",
        "flip: {naive: {}, models: [trained, blind]}",
        "  current:             # what was decided; `positive` is the side of the positive \
         label\n    decision: {column: outcome, positive: [approve, refer]}\n",
        "model: current\n    between: worst_case\n",
    ]);
    ran.stderr.lacks(&["harm_to"]);
    work.write("job.yaml", &ran.stdout);
    work.run(0, "job.yaml", "");
    work.table("gates").at("gate=gap-today").holds("metric=demp_difference, verdict=fail");
    // The model that the set asks has switches, although the decision of the file has none.
    let metrics = work.table("metrics");
    assert!(metrics.has("metric=sr, model=trained, value!="));
    assert!(!metrics.has("metric=sr, model=current"));
    // A label that says what nobody wants turns the side of the decision.
    table(&work, "loans.csv", "x,outcome,default", |i| {
        let bad = if !granted(i) { "" } else { ["no", "yes"][usize::from(repaid(i) == "no")] };
        format!("{},{},{bad}", draw(i, 11), outcome(i))
    });
    let stdout = work.cfaudit(0, "new loans.csv --label default --sensitive sex").stdout;
    stdout.says(&["decision: {column: outcome, positive: [decline]}"]);
    // A decision that words tell, with all labels.
    table(&work, "loans.csv", "x,approved,repaid", |i| {
        format!("{},{},{}", draw(i, 11), i64::from(granted(i)), repaid(i))
    });
    let ran = new();
    let doubt = "only names suggest that approved is the decision and 1 its favourable side";
    ran.says(&[&format!(
        "`harm_to: {{sex: f}}`: {doubt}; name the group that is refused more often"
    )]);
    let words = format!(
        "harm_to: {{sex: f}}   # DECIDE: a guess, {doubt}; the group with the lowest share of \
         favourable decisions by approved ("
    );
    ran.stdout.says(&[&words]);
    // Both groups are decided about alike: nobody has the lowest share.
    table(&work, "loans.csv", "x,approved,repaid", |i| {
        format!("{},{},{}", draw(i, 11), i64::from(i / 2 % 3 > 0), repaid(i))
    });
    let text = new().stdout;
    let line = text.lines().find(|line| line.contains("harm_to: {sex: ")).unwrap();
    line.says(&["# DECIDE: a guess, "]);
    line.lacks(&["lowest share"]);
    // No decision at all.
    table(&work, "loans.csv", "x,repaid", |i| format!("{},{}", draw(i, 11), label(i)));
    let ran = new();
    ran.says(&[
        "`harm_to: {sex: m}`: labels are missing for one group more often than for another",
    ]);
    ran.stdout.says(&["harm_to: {sex: m}   # DECIDE: a guess, labels are missing"]);
}

/// Scores on a scale other than [0, 1] are audited as they are.
#[test]
fn scores_tell_their_scale() {
    let work = Work::new();
    for (number, width, scale, threshold) in [
        (312.0, 538.0, "{from: 300, to: 850}", "575"),
        (2.0, 90.0, "{from: 0, to: 100}", "50"),
        (120.0, 870.0, "{from: 0, to: 1000}", "500"),
        (-4.0, 8.0, "log-odds", "0"),
        (20_000.0, 39_000.0, "{from: 20000, to: 60000}", "40000"),
    ] {
        let line = |i: i64| {
            let score = number + (draw(i, 5) * width).round();
            format!("{score},{}", if draw(i, 7) > 0.5 { "yes" } else { "no" })
        };
        table(&work, "loans.csv", "points,repaid", line);
        let ran = work.cfaudit(0, "new loans.csv --label repaid --sensitive sex --score points");
        let scaled = format!("    scale: {scale}   # DECIDE: ");
        ran.stdout.says(&[&scaled, &format!("    threshold: {threshold} ")]);
        ran.says(&[&format!("`scale: {scale}` and the threshold of `points`, by its values")]);
        work.write("job.yaml", &ran.stdout);
        work.cfaudit(0, "check job.yaml --no-data");
    }
    work.run(0, "job.yaml", "");
}

/// Words that reveal the label, even if only by being present.
#[test]
fn words_that_tell_the_label_are_left_out() {
    let work = Work::new();
    table(&work, "loans.csv", "x,status,reason,remark,repaid", |i| {
        let repaid = draw(i, 7) < 0.6;
        let status =
            ["closed", "collections", "charged off"][usize::from(!repaid) * (1 + (i % 2) as usize)];
        let reason = if repaid { "" } else { ["a", "b"][(i % 2) as usize] };
        let remark = if repaid { String::new() } else { format!("r{i}") };
        let label = if repaid { "yes" } else { "no" };
        format!("{},{status},{reason},{remark},{label}", draw(i, 11))
    });
    let text = work.cfaudit(0, "new loans.csv --label repaid --sensitive sex").stdout;
    for column in ["status", "reason", "remark"] {
        text.says(&[&format!(
            "# left out: {column} (on its own it predicts repaid: its AUC is 1.000)"
        )]);
    }
    text.says(&["continuous: [x]"]);
}

/// The inputs of a case with the label and the sensitive column that its steps or its jobs name.
fn inputs(folder: &Path) -> Vec<[String; 3]> {
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    let expect: serde_json::Value =
        serde_json::from_str(&text(&folder.join("expect.json"))).unwrap();
    for step in expect["steps"].as_array().unwrap() {
        let args: Vec<&str> =
            step["run"].as_array().into_iter().flatten().filter_map(|arg| arg.as_str()).collect();
        if let ["new", data, "--label", label, "--sensitive", sensitive] = args.as_slice() {
            found.push([data, label, sensitive].map(|word| (*word).to_owned()));
        }
    }
    let jobs = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for job in jobs.filter(|path| path.extension().is_some_and(|e| e == "yaml")) {
        let job = text(&job);
        // The word after a key of a flow map.
        let word = |keys: [&str; 2]| {
            let rest = job.split_once(keys[0])?.1.split_once(keys[1])?.1;
            let end = rest.find([',', '}', ':', '\n'])?;
            Some(rest[..end].trim().trim_matches('"').to_owned())
        };
        let data = word(["rows:", "path:"]).or_else(|| word(["rows:", "parquet:"]));
        let label = word(["label:", "column:"]);
        let sensitive = word(["sensitive:", "{"]);
        found.extend(data.zip(label).zip(sensitive).map(|((data, label), of)| [data, label, of]));
    }
    found.retain(|[data, ..]| folder.join(data).exists());
    found.sort();
    found.dedup();
    found
}

/// What `new` writes is a job: its rows can be prepared.
#[test]
fn a_job_written_by_new_runs_on_every_input_of_the_cases() {
    let mut cases: Vec<PathBuf> =
        fs::read_dir(root().join("tests/cases")).unwrap().map(|e| e.unwrap().path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    let mut n = 0;
    for case in cases {
        for [data, label, sensitive] in inputs(&case) {
            let work = Work::new();
            let (from, to) = (case.join(&data), work.path(&data));
            if from.is_dir() {
                copy_all(&from, &to);
            } else {
                fs::copy(&from, &to).unwrap();
            }
            let new = format!("new {data} --label {label} --sensitive {sensitive}");
            work.write("new.yaml", &work.cfaudit(0, &new).stdout);
            // Rows that somebody is writing are waited for.
            let status = if from.join("_temporary").exists() { 4 } else { 0 };
            work.cfaudit(status, "run new.yaml --until prepare --out out");
            n += 1;
        }
    }
    assert!(n >= 15, "{n} inputs");
}

/// One column of each role that no model should read.
#[test]
fn roles_of_columns_are_seen_by_their_values() {
    let work = Work::new();
    let head = "visit,patient_code,sex,born,weight,body_weight_kg,when,work_code,rate,repaid";
    let line = |i: i64| {
        let person = i / 3;
        format!(
            "{i},{},{},{},{:.5},{:.1},2024-{:02}-{:02},{},{:.1} %,{}",
            90_000 + 7 * person,
            ["f", "m"][(person % 2) as usize],
            1940 + (draw(person, 3) * 60.0) as i64,
            1.0 + draw(i, 5),
            50.0 + 40.0 * draw(i, 7),
            1 + i % 12,
            1 + i % 28,
            1 + i % 5,
            100.0 * draw(i, 11),
            ["no", "yes"][usize::from(draw(i, 5) + draw(i, 11) > 1.0)],
        )
    };
    let lines: String = (0..N).map(|i| line(i) + "\n").collect();
    work.write("visits.csv", &format!("{head}\n{lines}"));
    let ran = work.cfaudit(0, "new visits.csv --label repaid --sensitive sex");
    ran.says(&["guessed: `person: patient_code`"]);
    let text = ran.stdout;
    text.says(&[
        "person: patient_code   # DECIDE: a person has 3.0 rows",
        "# weight: weight   # DECIDE",
        "# left out: weight (it looks like the weight of a row",
        "# left out: when (it holds dates",
        "body_weight_kg",
        "nominal: [work_code]   # DECIDE: whole numbers that may be codes: work_code",
        "rate: percent",
    ]);
    // A person that the job does not name is no guess.
    work.write("some.csv", &format!("{head}\n{}", lines.replacen(",90000,", ",,", 1)));
    let some = work.cfaudit(0, "new some.csv --label repaid --sensitive sex");
    some.stdout.says(&["  # person: patient_code "]);
    some.stderr.lacks(&["person: "]);
    let continuous = text.lines().find(|line| line.contains("continuous: [")).unwrap();
    continuous.says(&["body_weight_kg", "rate"]);
    work.write("job.yaml", &text);
    work.cfaudit(0, "check job.yaml");
    // What `new` leaves out `check` warns of.
    let listed = text.replace("continuous: [", "continuous: [weight, work_code, ");
    let listed = listed.replace("    nominal: [work_code]", "    nominal: [patient_code]");
    let listed = listed.replace("  person: ", "  # person: ");
    work.write("listed.yaml", &listed);
    work.cfaudit(0, "check listed.yaml").stdout.says(&[
        "`weight` may know what it should not: it looks like the weight of a row",
        "`patient_code` may know what it should not: it says whose row it is",
        "`work_code` has 5 different whole numbers, which may be codes of levels",
    ]);
}
