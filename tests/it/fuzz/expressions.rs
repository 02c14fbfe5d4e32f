//! SQL expressions under `derive` and `keep`, from their text to the column that they give.

use std::path::Path;

use super::mutate::{self, Dice};
use super::tables::{as_parquet, people};
use super::targets::{JOB, prepare};
use super::{Target, Verdict};

/// Expressions of every kind over the columns `id`, `sex`, `age` and `job`.
const SOUND: &[&str] = &[
    "age / 3 + 1",
    "-age * 2 - +id % 7",
    "age > 25",
    "age BETWEEN 20 AND 30 AND NOT sex = 'f'",
    "job IS NULL OR job IN ('cook', 'clerk')",
    "job IS NOT DISTINCT FROM sex",
    "job LIKE 'c%' OR job ILIKE '_OO_'",
    "(age > 20) IS NOT TRUE",
    "CASE WHEN age > 30 THEN 'old' WHEN age > 25 THEN job ELSE sex END",
    "CASE sex WHEN 'f' THEN 1 ELSE age END",
    "sex || '-' || job",
    "ROUND(age / 7, 2) + ABS(id - 120) + CEIL(age / 3) + FLOOR(age / 3)",
    "SQRT(age - 25) + LN(age - 20) + LOG2(age) + LOG10(id) + EXP(age) + POWER(age, 400)",
    "SIGN(age - 25) * MOD(id, 7)",
    "SUBSTR(job, 2, 3) || LEFT(job, 2) || RIGHT(job, 9)",
    "LENGTH(TRIM(UPPER(job))) + LENGTH(LTRIM(RTRIM(LOWER(sex))))",
    "REPLACE(CONCAT(job, sex), 'c', 'long')",
    "STARTS_WITH(job, 'c') AND ENDS_WITH(job, 'k') AND CONTAINS(job, '')",
    "TRY_CAST(job AS DOUBLE)",
    "YEAR('2026-11-20') + MONTH(job) + EXTRACT(DAY FROM '2024-02-29 10:00:00')",
    "DATE_DIFF('month', '2026-11-20', job) + DATE_DIFF('day', '0001-01-01', '9999-12-31')",
    "COALESCE(job, sex, 'x') = IFNULL(NULLIF(job, 'cook'), 'y')",
    "GREATEST(age, id, 3) - LEAST(age, NULL)",
    "\"age\" + 1e308 * 10",
    "date '2026-11-20' < '2026-11-21'",
];

/// Pieces that are repeated until an expression is long or deep.
const REPEATED: &[&str] =
    &["(", "-", "NOT ", "1+", "age*", "CASE WHEN ", "ABS(", "'", "\"", "a.", "[", "x IN (", "/*"];

/// Expressions.
pub(super) struct Expressions;

impl Target for Expressions {
    fn name(&self) -> &'static str {
        "expressions"
    }

    fn seeds(&self) -> Vec<Vec<u8>> {
        SOUND.iter().map(|sql| sql.as_bytes().to_vec()).collect()
    }

    fn mutate(&self, input: &mut Vec<u8>, seeds: &[Vec<u8>], dice: &mut Dice) {
        match dice.below(8) {
            0 => {}
            1 => {
                let piece = dice.of(REPEATED);
                let many = piece.repeat(1 + dice.below(4100 / piece.len()));
                let at = dice.below(input.len() + 1);
                input.splice(at..at, many.bytes());
            }
            2 => {
                let two = [b"(", input.as_slice(), b") + (", dice.seed(seeds), b")"].concat();
                *input = two;
            }
            _ => mutate::text(input, seeds, dice),
        }
    }

    fn feed(&self, folder: &Path, input: &[u8], dice: &mut Dice) -> Result<Verdict, String> {
        let file = folder.join("rows.parquet");
        if !file.exists() {
            let rows = as_parquet(&people(), &mut Dice::new(0)).unwrap();
            std::fs::write(&file, rows).unwrap();
        }
        // As JSON a text is a text of YAML, whatever is in it.
        let sql = serde_json::to_string(&String::from_utf8_lossy(input)).unwrap();
        let what = dice.of(&["derive: {made: {sql: SQL}}", "keep: [{sql: SQL}]"]);
        let kind = dice.of(&["[age, made], nominal: [job]", "[age], nominal: [job, made]"]);
        let mut job = JOB.replace("ROWS", &format!("{{parquet: '{}'}}", file.display()));
        if what.starts_with("derive") {
            job = job.replace("[age], nominal: [job]", kind);
        }
        let block = format!("\n  {}\n  split:", what.replace("SQL", &sql));
        prepare(folder, &job.replace("\n  split:", &block))
    }
}
