//! Real files: each example of `docs/rows.md` is run, and what it promises is looked at.

use crate::work::{Ran, Work, root};

/// Applicants, as the examples of the guide have them, and the job around each example.
pub(crate) fn applicants() -> Work {
    let work = Work::new();
    let mut loans = "application_id,sex,country,income,debt,days_late,paid\n".to_owned();
    let mut protected = "application_id,gender,birth_year\n".to_owned();
    for i in 0..240_u32 {
        let sex = ["w", "m", "W", "m ", "w", "M"][(i % 6) as usize];
        let country = ["DE", "FR", "IT", "de"][(i / 6 % 4) as usize];
        let (income, debt) = (i * 37 % 101 * 40, i * 53 % 97 * 30);
        let paid = ["yes", "no"][usize::from((i * 29 + i / 7) % 10 < 4)];
        loans += &format!("A{i},{sex},{country},{income},{debt},{},{paid}\n", i * 13 % 120);
        let gender = ["female", "male"][(i % 2) as usize];
        protected += &format!("A{},{gender},{}\n", 239 - i, 1950 + i * 7 % 50);
    }
    work.write("loans.csv", &loans);
    work.write("protected.csv", &protected);
    work.write(
        "base.yaml",
        "data:\n  rows: {csv: {path: loans.csv}}\n  row_id: application_id\n  label: {column: \
         paid, positive: [yes], favourable: positive}\n  sensitive:\n    sex: {groups: [w, m], \
         reference: m}\n  features: {continuous: [income], nominal: [country]}\n  split: {share: \
         {train: 0.5, audit: 0.5}}\ncounterfactuals: {flip: naive}\n\
         models: {logit: {logistic: {l2: 1.0}}}\n",
    );
    work
}

/// The examples of the guide below a heading, in order.
pub(crate) fn examples(heading: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(root().join("docs/rows.md")).unwrap();
    let section = guide.split("\n## ").find(|part| part.starts_with(heading)).unwrap();
    let blocks = section.split("```yaml\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

pub(crate) fn check(work: &Work, status: i32, part: &str) -> Ran {
    work.write("job.yaml", &format!("cfaudit: 1\nname: loans\ninclude: [base.yaml]\n{part}"));
    work.cfaudit(status, "check job.yaml")
}

#[test]
fn values_that_differ_only_by_case_or_blanks_are_told_and_joined() {
    let work = applicants();
    let told = check(&work, 0, "").stdout;
    for words in [
        "`W` (40; it and `w` differ only by case)",
        "`m ` (40; it and `m` differ only by blanks)",
        "where they mean a group, write `data.columns.sex: {trim: true, case: fold}`",
        "values of `country` differ only by case, and count as values of their own: `DE` (60) and \
         `de` (60); where they mean the same write `data.columns.country: {case: fold}`",
    ] {
        assert!(told.contains(words), "`{words}` is not in\n{told}");
    }
    let [joined] = &examples("One spelling")[..] else { panic!() };
    let told = check(&work, 0, joined).stdout;
    assert!(!told.contains("differ only"), "{told}");
    let seen = work.cfaudit(0, "data job.yaml --json").stdout;
    let seen: serde_json::Value = serde_json::from_str(&seen).unwrap();
    let groups = seen["attributes"][0]["groups"].as_array().unwrap();
    let rows: Vec<_> = groups.iter().map(|g| (g["group"].as_str(), g["rows"].as_u64())).collect();
    assert_eq!(rows, [(Some("w"), Some(120)), (Some("m"), Some(120)), (None, Some(0))]);
    let respelt = seen["issues"].as_array().unwrap().iter();
    let respelt: Vec<_> = respelt
        .filter(|issue| issue["code"] == "respelt-value")
        .map(|issue| (issue["where"].as_str().unwrap(), issue["n"].as_u64().unwrap()))
        .collect();
    assert_eq!(respelt, [("country", 180), ("sex", 120)]);
}

/// A map takes a value in another case for none of its own.
#[test]
fn a_map_says_what_it_lacks_by_a_letter() {
    let work = applicants();
    let derive = "data:\n  derive: {region: {from: country, map: {near: [DE, FR]}, else: far}}\n  \
                  features: {nominal: [region]}\n";
    let told = check(&work, 0, derive).stdout;
    let words = "60 rows have a value of `country` that differs only by case from one in the map \
                 of `region`: `de` (60; the map has `DE`); they count as `far`; where they mean \
                 the same write `data.columns.country: {case: fold}`";
    assert!(told.contains(words), "{told}");
    let fold = derive.to_owned() + "  columns: {country: {case: fold}}\n";
    let told = check(&work, 0, &fold).stdout;
    assert!(!told.contains("differs only by case"), "{told}");
}

/// `new` joins what differs only so, and the job that it writes runs.
#[test]
fn a_first_job_joins_them() {
    let work = applicants();
    let args = "new loans.csv --label paid --sensitive sex --reference M --positive yes";
    let text = work.cfaudit(0, args).stdout;
    for words in [
        "groups: [m, w]",
        "reference: m   # the group",
        "    sex: {trim: true, case: fold}   # `M` and `m` and `m `, `w` and `W`",
        "    country: {case: fold}   # `DE` and `de`",
    ] {
        assert!(text.contains(words), "`{words}` is not in\n{text}");
    }
    work.write("first.yaml", &text);
    let told = work.cfaudit(0, "check first.yaml").stdout;
    assert!(!told.contains("differ only"), "{told}");
}
