//! Expressions: which are refused and where, values compared with DuckDB's, and rules that differ
//! from DuckDB's.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, StringViewArray};
use serde_json::Value as Json;

use crate::data::source::{SourceColumn, TextIdentity};
use crate::data::spelling::Spelling;
use crate::data::sql::length::text_bytes;
use crate::data::sql::{
    ComputedColumn, SqlProgram, column_of, column_of_levels, parse, source_values,
};
use crate::data::values::{SourceValues, ValueClass};
use crate::num::float_precision::FloatPrecision;
use crate::tests::Says;

fn number(x: &Json) -> Option<f64> {
    x.as_f64()
}

/// The columns of `sql.json` by name.
fn column(name: &str, values: &[Json]) -> (ValueClass, ArrayRef) {
    match name {
        "s" | "t" | "d" | "e" => (ValueClass::Text, texts(values.iter().map(Json::as_str))),
        "p" | "q" => (ValueClass::Bool, truths(values.iter().map(Json::as_bool))),
        _ => (ValueClass::Float, numbers(values.iter().map(number))),
    }
}

fn numbers(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(values.collect::<Float64Array>())
}

fn truths(values: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.collect::<BooleanArray>())
}

fn texts<T: AsRef<str>>(values: impl Iterator<Item = Option<T>>) -> ArrayRef {
    Arc::new(values.collect::<StringViewArray>())
}

/// At most 1e-12 of their size apart.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs()).max(1.0)
}

/// 260 random expressions on 48 rows with missing values; `tests/oracle/sql.py` asks DuckDB.
#[test]
fn values_are_those_of_duckdb() {
    let oracle: Json =
        serde_json::from_str(include_str!("../../../tests/oracle/sql.json")).unwrap();
    let data = &oracle["columns"];
    let n = data["a"].as_array().unwrap().len();
    let cases = oracle["cases"].as_array().unwrap();
    assert!(cases.len() >= 200);
    let mut wrong = Vec::new();
    for case in cases {
        let sql = case["sql"].as_str().unwrap();
        let tree = parse(sql).unwrap_or_else(|problem| panic!("{sql}: {}", problem.located()));
        let columns = tree
            .columns
            .iter()
            .map(|name| column(name.as_str(), data[name.as_str()].as_array().unwrap()));
        let (classes, columns): (Vec<_>, Vec<_>) = columns.unzip();
        let program = SqlProgram::new(sql, &classes)
            .unwrap_or_else(|problem| panic!("{sql}: {}", problem.located()));
        let values = source_values(&program.compute(&columns, n).values);
        let answer = case["answer"].as_array().unwrap();
        for (i, expected) in answer.iter().enumerate() {
            let (found, is_same) = match &values {
                SourceValues::Float(values) => {
                    let found = values.iter().nth(i).flatten();
                    let same = match (found, number(expected)) {
                        (Some(a), Some(b)) => near(a, b),
                        (a, b) => a.is_none() && b.is_none() && expected.is_null(),
                    };
                    (format!("{found:?}"), same)
                }
                SourceValues::Bool(values) => {
                    let found = values.iter().nth(i).flatten();
                    let is_null = found.is_none() && expected.is_null();
                    (format!("{found:?}"), is_null || expected.as_bool() == found)
                }
                values => {
                    let found = values.word(i);
                    (format!("{found:?}"), expected.as_str() == found.as_deref())
                }
            };
            if !is_same {
                wrong.push(format!("{sql} in row {i}: {found}, DuckDB {expected}"));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// Whatever looks at other rows, gives another value each time or is not known has a place.
#[test]
fn what_is_refused_says_where() {
    for (sql, place, words) in [
        ("", "line 1, column 1", "the expression is empty"),
        ("income +", "line 1", "no SQL expression"),
        ("income / debt FROM t", "line 1, column 15", "`FROM` does not belong"),
        ("1 +\n  avg(income)", "line 2, column 3", "`avg` looks at other rows"),
        ("income - max(income)", "line 1, column 10", "`max` looks at other rows"),
        ("sum(x) OVER (PARTITION BY y)", "line 1, column 1", "`sum` looks at other rows"),
        ("abs(x) OVER ()", "line 1, column 1", "`abs` looks at other rows"),
        ("row_number() OVER (ORDER BY x)", "line 1, column 1", "looks at other rows"),
        ("lag(x)", "line 1, column 1", "looks at other rows"),
        ("x > (SELECT 1)", "line 1", "a query looks at other rows"),
        ("x IN (SELECT y FROM t)", "line 1, column 1", "a query looks at other rows"),
        ("EXISTS (SELECT 1)", "line 1", "a query looks at other rows"),
        ("x + random()", "line 1, column 5", "`random` gives another value each time"),
        ("year(now())", "line 1, column 6", "`now` gives another value each time"),
        ("CURRENT_DATE", "line 1, column 1", "gives another value each time"),
        ("sqr(x)", "line 1, column 1", "no function is called `sqr`"),
        ("round(x, 2, 3)", "line 1, column 1", "has 3 arguments and takes 1 or 2"),
        ("abs(DISTINCT x)", "line 1, column 1", "a form that is not known"),
        ("coalesce(*)", "line 1, column 1", "a form that is not known"),
        ("t.x > 1", "line 1, column 1", "`t.x` names a table"),
        ("x ^ 2", "line 1, column 1", "the operator `^` is not known"),
        ("CAST(x AS INTEGER)", "line 1", "only texts are converted"),
        ("x > 9007199254740993", "line 1, column 5", "beyond 2^53"),
        ("x LIKE 'a' ESCAPE '!'", "line 1, column 1", "is not known"),
        ("x = ?", "line 1, column 5", "is no value that is known"),
        ("a; DROP TABLE b", "line 1, column 2", "does not belong"),
    ] {
        let problem = parse(sql).expect_err(sql);
        let text = problem.located();
        assert!(text.contains(place) && text.contains(words), "{sql}: {text}");
        assert!(!problem.hint.is_empty(), "{sql}");
    }
    let deep = format!("{}x{}", "abs(".repeat(400), ")".repeat(400));
    assert!(parse(&deep).is_err());
    let long = vec!["x"; 3000].join(" + ");
    parse(&long).unwrap_err().what.says(&["4000 bytes"]);
    let chain = vec!["x"; 300].join(" + ");
    parse(&chain).unwrap_err().what.says(&["nested more than"]);
    // The longest chain that is read at all, called from a thread with little stack.
    let longest = format!("{}a", "1+".repeat(1990));
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let read = small.spawn(move || parse(&longest).unwrap_err().what).unwrap();
    read.join().unwrap().says(&["nested more than"]);
}

/// Nothing is converted in silence.
#[test]
fn types_must_fit() {
    use ValueClass::{Bool, Float, Text};
    for (sql, classes, words) in [
        ("a + 1", &[Text][..], "a text stands where a number is wanted"),
        ("a > 'x'", &[Float], "a number and a text meet here"),
        ("a AND b", &[Bool, Float], "a number stands where a truth value is wanted"),
        ("NOT a", &[Float], "a number stands where a truth value is wanted"),
        ("a IN (1, 'x')", &[Float], "a number and a text meet here"),
        ("CASE WHEN a THEN 1 ELSE 'x' END", &[Bool], "a number and a text meet here"),
        ("coalesce(a, 0)", &[Text], "a text and a number meet here"),
        ("lower(a)", &[Float], "a number stands where a text is wanted by `lower`"),
        ("substr(a, b)", &[Text, Float], "must be written out"),
        ("substr(a, 0)", &[Text], "a whole number from 1 to 1000"),
        ("date_diff('week', a, b)", &[Text, Text], "must be 'day', 'month' or 'year'"),
        ("TRY_CAST(a AS DOUBLE)", &[Float], "a number stands where a text is wanted"),
    ] {
        let problem = SqlProgram::new(sql, classes).expect_err(sql);
        assert!(problem.what.contains(words), "{sql}: {}", problem.located());
    }
    let gives = |sql: &str, classes: &[ValueClass]| SqlProgram::new(sql, classes).unwrap().gives;
    assert_eq!(gives("a / 2", &[ValueClass::Int]), ValueClass::Float);
    assert_eq!(gives("a IS NULL", &[Text]), ValueClass::Bool);
    assert_eq!(gives("a || 'x'", &[Text]), ValueClass::Text);
    assert_eq!(gives("NULL", &[]), ValueClass::Empty);
}

#[test]
fn what_is_not_finite_is_missing_and_counted() {
    let compute = |sql: &str, values: &[f64]| {
        let column = numbers(values.iter().map(|x| Some(*x)));
        let program = SqlProgram::new(sql, &[ValueClass::Float]).unwrap();
        let ComputedColumn { values, not_finite: rows, .. } =
            program.compute(&[column], values.len());
        (values, rows.len())
    };
    let numbers = |values: &[Option<f64>]| numbers(values.iter().copied());
    assert_eq!(compute("1 / a", &[0.0, 2.0]), (numbers(&[None, Some(0.5)]), 1));
    assert_eq!(compute("sqrt(a)", &[-1.0, 4.0]), (numbers(&[None, Some(2.0)]), 1));
    assert_eq!(compute("ln(a)", &[0.0, 1.0]), (numbers(&[None, Some(0.0)]), 1));
    assert_eq!(compute("a * 1e300", &[1e300, 1.0]), (numbers(&[None, Some(1e300)]), 1));
    // In between it is a number like any other.
    let infinite = truths([Some(true), Some(false)].into_iter());
    assert_eq!(compute("1 / a > 3", &[0.0, 2.0]), (infinite, 0));
    // Where none is divided by 0 nothing is lost.
    let guarded = "CASE WHEN a <> 0 THEN 1 / a ELSE 0 END";
    assert_eq!(compute(guarded, &[0.0, 2.0]), (numbers(&[Some(0.0), Some(0.5)]), 0));
    // A cut that integers would suffer does not happen.
    assert_eq!(compute("a / 2 + 1 / 2", &[1.0]), (numbers(&[Some(1.0)]), 0));
}

#[test]
fn integers_that_no_float_holds_are_an_error() {
    let column = SourceColumn {
        name: "id".to_owned(),
        class: ValueClass::Int,
        precision: FloatPrecision::Double,
        spelling: Spelling::default(),
        identity: TextIdentity::default(),
        read_csv: false,
        kind: None,
    };
    let most = 1_i64 << 53;
    let held = SourceValues::Int(vec![Some(most), Some(-most), None].into());
    assert!(column_of(&column, &held).is_ok());
    for x in [most + 1, -most - 1, i64::MIN, i64::MAX] {
        let values = SourceValues::Int(vec![Some(1), Some(x)].into());
        let (fault, at) = column_of(&column, &values).unwrap_err();
        assert_eq!((fault.code, at), ("large-integer", 1));
    }
}

#[test]
fn codes_are_read_as_what_they_stand_for() {
    let levels: Vec<String> = ["1", "2.5", "missing"].map(str::to_owned).to_vec();
    let codes = [1, 0, 2, u32::MAX];
    assert_eq!(
        &column_of_levels(&levels, ValueClass::Float, codes.into_iter()),
        &numbers([Some(2.5), Some(1.0), None, None].into_iter())
    );
    let found = column_of_levels(&levels, ValueClass::Text, codes.into_iter());
    let expected = [Some("2.5"), Some("1"), None, None];
    assert_eq!(&found, &texts(expected.into_iter()));
}

/// Texts as long as allowed are made, and no longer ones, at whichever step of an expression.
#[test]
fn texts_that_grow_end_at_64_kib() {
    let grown = |sql: &str, text: &str, n: usize| {
        let column = texts(vec![Some(text); n].into_iter());
        SqlProgram::new(sql, &[ValueClass::Text]).unwrap().compute(&[column], n)
    };
    let half = "x".repeat(32 << 10);
    for sql in ["a || a", "concat(a, a)", "concat(a, NULL, a)", "replace(a, 'x', 'yz')"] {
        let of = |text: &str| grown(sql, text, 3);
        let whole = of(&half);
        assert_eq!((text_bytes(&whole.values), whole.long), (3 * (64 << 10), None), "{sql}");
        let long = of(&format!("{half}x"));
        assert_eq!(long.long.unwrap().row, 0, "{sql}");
        let none: [Option<&str>; 3] = [None; 3];
        assert_eq!(&long.values, &texts(none.into_iter()), "{sql}");
    }
    // In a step between, where nothing of it is left in the end.
    let steps = |n: usize, inner: &str| (0..n).fold("a".to_owned(), |x, _| inner.replace('_', &x));
    for (sql, is_long) in [
        (format!("length({})", steps(6, "replace(_, 'x', 'xxxxxxxxxx')")), true),
        (format!("length({})", steps(16, "replace(_, 'x', 'xx')")), false),
        (format!("length({})", steps(17, "replace(_, 'x', 'xx')")), true),
        (format!("left({}, 2)", steps(17, "replace(_, 'x', 'xx')")), true),
    ] {
        assert_eq!(grown(&sql, "x", 2).long.is_some(), is_long, "{sql}");
    }
    // Spellings that take more bytes, and texts of the source that only pass.
    let long = "\u{390}".repeat(20_000);
    assert!(
        grown("upper(a)", &long, 1).long.is_some() && grown("lower(a)", &long, 1).long.is_none()
    );
    let source = "x".repeat(70_000);
    assert_eq!(text_bytes(&grown("coalesce(a, 'x')", &source, 1).values), 70_000);
    // The first row is named, behind those that are computed at once; the fault says where.
    let text = |i: usize| Some(if i < 2000 { "x".to_owned() } else { half.clone() + "x" });
    let column = texts((0..2003).map(text));
    let program = SqlProgram::new("length(a || a)", &[ValueClass::Text]).unwrap();
    let computed = program.compute(&[column], 2003);
    let long = computed.long.unwrap();
    assert_eq!((long.row, long.fault().code), (2000, "large-text"));
    assert!(long.fault().to_string().contains("column 8 of"), "{}", long.fault());
    assert_eq!(text_bytes(&computed.values), 0);
    // All rows together.
    assert!(grown("concat(a, a)", &half, 4000).long.is_none());
    assert!(grown("concat(a, a)", &half, 5000).long.is_some());
}
