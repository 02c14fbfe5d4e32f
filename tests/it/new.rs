//! `cfaudit new`: from a file to a first job.

use std::fs;
use std::path::{Path, PathBuf};

use arrow::array::{Float64Array, Int64Array};

use crate::seam_cases::copy_all;
use crate::work::{Ran, Rows, Says, Work, array, column, draw, root};

const N: i64 = 600;

/// Applicants with a column of every kind that a file may have.
fn applicants(work: &Work, file: &str) {
    let ids = 0..N;
    let columns = vec![
        ("application_id", column(ids.clone().map(|i| 10_000 + 3 * i))),
        ("sex", column(ids.clone().map(|i| if draw(i, 2) < 0.45 { "no, f" } else { "m" }))),
        ("age", column(ids.clone().map(|i| 18 + (draw(i, 3) * 60.0) as i64))),
        (
            "income",
            column(ids.clone().map(|i| (i % 17 != 0).then(|| (draw(i, 5) * 6000.0).round() / 2.0))),
        ),
        (
            "region",
            column(
                ids.clone().map(|i| {
                    (i % 23 != 0).then(|| ["North", "South: East", "yes"][(i % 3) as usize])
                }),
            ),
        ),
        ("owns", column(ids.clone().map(|i| if draw(i, 7) < 0.5 { "true" } else { "false" }))),
        ("note", column(ids.clone().map(|i| format!("text {i}")))),
        ("country", column(ids.clone().map(|_| "XX"))),
        ("repaid", column(ids.map(|i| if draw(i, 5) + draw(i, 11) < 0.9 { "no" } else { "yes" }))),
    ];
    if file.ends_with(".csv") { work.csv_of(file, columns) } else { work.parquet(file, columns) }
}

impl Work {
    /// Writes a text file with quotes where a value needs them.
    fn csv_of(&self, below: &str, columns: Vec<(&str, arrow::array::ArrayRef)>) {
        self.csv(below, columns);
        let text = self.read(below);
        self.write(below, &text.replace("no, f", "\"no, f\""));
    }
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
        let text = work.cfaudit(0, &format!("new {file} --label repaid --sensitive sex")).stdout;
        text.says(&[
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
        work.write("job.yaml", &text);
        work.cfaudit(0, "check job.yaml");
        let summary = work.run(0, "job.yaml", "").summary();
        assert_eq!((&summary["job"], &summary["rows"]), (&"people".into(), &180.into()));
        assert!(
            summary["headline"]["trained.flip.sex.sr"].is_f64()
                && summary["headline"]["blind.flip.sex.sr"] == 0.0,
            "{summary}"
        );
        assert_eq!(work.json("out/manifest.json")["row_id"], "column application_id");

        // What the caller says is not a guess.
        let said = work.command(&format!(
            "new {file} --label repaid --sensitive sex --positive no \
             --favourable negative --out said.yaml"
        ));
        let mut said = said;
        Ran::of(said.arg("--reference").arg("no, f"), 0);
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
    let text = work.cfaudit(0, "new compas_for_aequitas.csv").stdout;
    text.says(&["row_id: entity_id", "column: label_value", "factual: {column: score}"]);
    work.write("job.yaml", &text);
    work.cfaudit(0, "check job.yaml");
    let summary = work.run(0, "job.yaml", "").summary();
    assert_eq!((&summary["job"], &summary["rows"]), (&"compas-for-aequitas".into(), &N.into()));
    let attributes = work.json("out/manifest.json")["attributes"].clone();
    let names: Vec<&str> =
        attributes.as_array().unwrap().iter().filter_map(|a| a["name"].as_str()).collect();
    assert_eq!(names, ["race", "sex"]);
    assert!(
        work.cfaudit(0, "new compas_for_aequitas.csv --sensitive race")
            .stdout
            .matches("reference:")
            .count()
            == 1
    );
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
    work.cfaudit(0, "new poor.csv --label out --sensitive g --out poor.yaml");
    let text = work.read("poor.yaml");
    text.says(&["# left out: x (several columns have this name)"]);
    text.lacks(&["blind:"]);
    work.cfaudit(0, "check poor.yaml");
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
    let text = work.cfaudit(0, "new credit.csv --label decision --sensitive title").stdout;
    text.says(&[
        "csv: {path: credit.csv, delimiter: \";\", null_values: [\"NA\"]}",
        "continuous: [age, income]",
        "nominal: [town]",
        "positive: [refused]   # DECIDE: ",
        "favourable: negative   # DECIDE: ",
    ]);
    work.write("job.yaml", &text);
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
    let told = "new kredite.csv --label Entscheidung --positive bewilligt --sensitive Geschlecht";
    let text = work.cfaudit(0, told).stdout;
    text.says(&[
        "csv: {path: kredite.csv, delimiter: \";\", encoding: windows-1252, decimal: \",\", \
         thousands: \".\", null_values: [\"k.A.\"]}",
        "continuous: [Alter, Betrag]",
        "nominal: [Ort]",
        "positive: [bewilligt]",
    ]);
    work.write("job.yaml", &text);
    work.run(0, "job.yaml", "");
}

/// What the rows tell before anything is measured.
#[test]
fn a_check_warns_of_people_who_drop_out() {
    let work = Work::new();
    applicants(&work, "people.parquet");
    let text = work.cfaudit(0, "new people.parquet --label repaid --sensitive sex").stdout;
    work.write("job.yaml", &text);
    assert!(!work.cfaudit(0, "check job.yaml").stdout.contains("warning["));
    let less = text
        .replace("groups: [m, \"no, f\"]", "groups: [m, f]")
        .replace("harm_to: {sex: \"no, f\"}", "harm_to: {sex: f}");
    work.write("less.yaml", &less);
    let told = work.cfaudit(0, "check less.yaml").stdout;
    told.says(&["no error in the job or its data, 2 warnings", "warning[undeclared-group]: "]);
    let json: serde_json::Value =
        serde_json::from_str(&work.cfaudit(0, "check less.yaml --json").stdout).unwrap();
    assert!(
        json["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "undeclared-group"),
        "{json}"
    );
    work.cfaudit(0, "run less.yaml --out out --cache cache").says(&["warning: undeclared-group: "]);
}

/// Groups that are texts are counted letter by letter, as they are listed.
#[test]
fn the_group_at_risk_is_one_of_the_groups() {
    let work = Work::new();
    let file = |name: &str, bands: arrow::array::ArrayRef, granted: fn(i64) -> bool| {
        let n = bands.len() as i64;
        let granted = Int64Array::from_iter_values((0..n).map(|i| i64::from(granted(i))));
        let x = Float64Array::from_iter_values((0..n).map(|i| (i * 7 % 50) as f64));
        work.parquet(name, vec![("band", bands), ("x", array(x)), ("y", array(granted))]);
    };
    let whole = Int64Array::from_iter_values((0..200).map(|i| 1 + i % 2));
    file("a.parquet", array(whole), |i| i % 4 != 0);
    file("b.parquet", column(vec!["2.0"; 80]), |i| i % 4 == 0);
    let text = work.cfaudit(0, "new *.parquet --label y --sensitive band").stdout;
    text.says(&["band: text", "groups: [\"1\", \"2\", \"2.0\"]", "harm_to: {band: \"2.0\"}"]);
}

/// Which side people want is never taken from a word in silence.
#[test]
fn a_guess_is_said() {
    let work = Work::new();
    let line = |i: usize| {
        format!(
            "{};{};{};{}\n",
            i,
            ["w", "m", "m"][i % 3],
            20 + i % 50,
            if i.is_multiple_of(4) { "no" } else { "yes" }
        )
    };
    work.write(
        "kredit.csv",
        &format!("number;sex;age;offer\n{}", (0..200).map(line).collect::<String>()),
    );
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
    assert!(
        said.stderr.is_empty() && !said.stdout.contains("# A guess"),
        "{}{}",
        said.stderr,
        said.stdout
    );
    // The same value under a label that is bad news.
    let text = work.read("kredit.csv");
    work.write("kredit.csv", &text.replace("offer", "default"));
    work.cfaudit(0, "new kredit.csv --label default --sensitive sex")
        .says(&["`positive: [\"yes\"]`", "`favourable: negative`"]);
    work.write("kredit.csv", &text.replace("yes", "perhaps"));
    new("").says(&["`positive: [perhaps]`", "`favourable: positive`"]);
}

/// What tells the label, the score, the decision or the person is not an input of a model; what
/// merely looks like it is.
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
    let text = work.cfaudit(0, "new loans.csv --label repaid --sensitive sex").stdout;
    text.says(&[
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
    work.write("job.yaml", &text);
    work.cfaudit(0, "check job.yaml");
    // A file that is longer than the sample, in Parquet: the same columns.
    let long = 90_000;
    let y = |i: i64| i64::from(draw(i, 5) > 0.6);
    Rows::of(0..long)
        .with("sex", |i| ["m", "f"][(i % 2) as usize])
        .with("y", y)
        .column("z", column((0..long).map(|i| y(i) == 0).collect::<Vec<bool>>()))
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
    let text = work.cfaudit(0, "new people.csv --label hired --sensitive sex --out job.yaml");
    assert!(!text.stderr.contains("DECIDE"), "{}", text.stderr);
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
    let part = |file: &str, branch: arrow::array::ArrayRef| {
        let people = 0..N;
        let sex = people.clone().map(|i| ["f", "m"][(i % 2) as usize]);
        let columns = vec![
            ("sex", column(sex)),
            ("age", column(people.clone().map(|i| 20 + i * 7 % 50))),
            ("branch", branch),
            ("repaid", column(people.map(|i| i * 5 % 7 % 2))),
        ];
        work.parquet(file, columns);
    };
    part("parts/a.parquet", column((0..N).map(|i| i % 5)));
    let names = (0..N).map(|i| format!("b{}", i % 5));
    part("parts/b.parquet", column(names));
    let new = "new parts/*.parquet --label repaid --sensitive sex --out job.yaml";
    work.cfaudit(0, new);
    let text = work.read("job.yaml");
    let why = "    branch: text   # its files hold values of different types\n";
    assert!(text.contains(why), "{text}");
    work.cfaudit(0, "check job.yaml");
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

/// What is negated twice is good news, and capitals begin words.
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
        assert!(!new(&format!("--favourable {side}")).stderr.contains("harm_to"));
    }
}

/// Women get fewer loans, and those who get one repay more often: the decision names the group at
/// risk, and where the file holds none nobody but the reader does.
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
    let told = new();
    told.stdout.says(&[
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
    assert!(!told.stderr.contains("harm_to"), "{}", told.stderr);
    work.write("job.yaml", &told.stdout);
    work.run(0, "job.yaml", "");
    work.table("gates").at("gate=gap-today").holds("metric=demp_difference, verdict=fail");
    // The model that the set asks has switches, although the decision of the file has none.
    let metrics = work.table("metrics");
    let switches = |row: &crate::frame::TableRecord<'_>| row.text("metric") == "sr";
    let switches: Vec<_> = metrics.records().filter(switches).collect();
    assert!(
        switches.iter().any(|row| row.text("model") == "trained" && row.real("value").is_some())
    );
    assert!(switches.iter().all(|row| row.text("model") != "current"));
    // A label that says what nobody wants turns the side of the decision.
    table(&work, "loans.csv", "x,outcome,default", |i| {
        let bad = if !granted(i) { "" } else { ["no", "yes"][usize::from(repaid(i) == "no")] };
        format!("{},{},{bad}", draw(i, 11), outcome(i))
    });
    let told = work.cfaudit(0, "new loans.csv --label default --sensitive sex").stdout;
    told.says(&["decision: {column: outcome, positive: [decline]}"]);
    // A decision that words tell, with all labels.
    table(&work, "loans.csv", "x,approved,repaid", |i| {
        format!("{},{},{}", draw(i, 11), i64::from(granted(i)), repaid(i))
    });
    let told = new();
    let doubt = "only names suggest that approved is the decision and 1 its favourable side";
    told.says(&[&format!(
        "`harm_to: {{sex: f}}`: {doubt}; name the group that is refused more often"
    )]);
    let words = format!(
        "harm_to: {{sex: f}}   # DECIDE: a guess, {doubt}; the group with the lowest share of \
         favourable decisions by approved ("
    );
    assert!(told.stdout.contains(&words), "{}", told.stdout);
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
    let told = new();
    told.says(&[
        "`harm_to: {sex: m}`: labels are missing for one group more often than for another",
    ]);
    told.stdout.says(&["harm_to: {sex: m}   # DECIDE: a guess, labels are missing"]);
}

/// Scores of a scale of their own are audited as they are.
#[test]
fn scores_tell_their_scale() {
    let work = Work::new();
    for (number, scale, threshold) in [
        (312.0, "{from: 300, to: 850}", "575"),
        (2.0, "{from: 0, to: 100}", "50"),
        (120.0, "{from: 0, to: 1000}", "500"),
        (-4.0, "log-odds", "0"),
        (20_000.0, "{from: 20000, to: 60000}", "40000"),
    ] {
        let width = match number {
            312.0 => 538.0,
            2.0 => 90.0,
            120.0 => 870.0,
            -4.0 => 8.0,
            _ => 39_000.0,
        };
        let line = |i: i64| {
            let score = number + (draw(i, 5) * width).round();
            format!("{score},{}", if draw(i, 7) > 0.5 { "yes" } else { "no" })
        };
        table(&work, "loans.csv", "points,repaid", line);
        let ran = work.cfaudit(0, "new loans.csv --label repaid --sensitive sex --score points");
        let words = format!("    scale: {scale}   # DECIDE: ");
        assert!(ran.stdout.contains(&words), "{}", ran.stdout);
        ran.stdout.says(&[&format!("    threshold: {threshold} ")]);
        ran.says(&[&format!("`scale: {scale}` and the threshold of `points`, by its values")]);
        work.write("job.yaml", &ran.stdout);
        work.cfaudit(0, "check job.yaml --no-data");
    }
    work.run(0, "job.yaml", "");
}

/// Words that tell the label alone, be it by being there.
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
        let words =
            format!("# left out: {column} (on its own it predicts repaid: its AUC is 1.000)");
        assert!(text.contains(&words), "`{words}` is not in\n{text}");
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
    assert!(!some.stderr.contains("person: "), "{}", some.stderr);
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
