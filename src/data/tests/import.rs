//! Text files: types, quotes, line ends, and errors that name the line.

use arrow::datatypes::DataType;

use super::*;
use crate::data::source::csv_import::{CsvBlock, import_csv};
use crate::data::source::csv_records::TextEncoding;
use crate::data::source_form::SourceKind;
use crate::error::Result;

fn params(path: &Path) -> CsvBlock {
    CsvBlock { null_values: words(&["?"]), ..CsvBlock::at(path.to_str().unwrap()) }
}

fn import(text: &[u8], needed: &[&str]) -> Result<RecordBatch> {
    import_as(text, needed, |_| ())
}

fn import_as(text: &[u8], needed: &[&str], change: impl Fn(&mut CsvBlock)) -> Result<RecordBatch> {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("in.csv"), dir.path().join("source.parquet"));
    std::fs::write(&from, text).unwrap();
    let mut params = params(&from);
    change(&mut params);
    let declared = DeclaredColumns::new();
    let columns = (needed, &declared);
    import_csv(&params, columns, &to, silent(1024, &workers(2)))?;
    let file = ParquetFile::open(&to, FileOwner::Program)?;
    file.read_group(0, None)
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<Option<String>> {
    batch.column(column).as_string::<i32>().iter().map(|v| v.map(str::to_owned)).collect()
}

#[test]
fn types_hold_for_the_whole_file() {
    let text = b"\xEF\xBB\xBFa,b,c,d,unused\r\n1, 2.5 ,x,,1\r\n\r\n-7,3,\"y, \"\"z\"\"\r\n\
                 w\",,1\r\n?,1e3,true,?,1";
    let batch = import(text, &["b", "a", "c", "d"]).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Float64Type>().values(), &[2.5, 3.0, 1000.0]);
    let a = batch.column(1).as_primitive::<Int64Type>();
    assert_eq!(a.iter().collect::<Vec<_>>(), [Some(1), Some(-7), None]);
    assert_eq!(
        texts(&batch, 2),
        [Some("x".to_owned()), Some("y, \"z\"\r\nw".to_owned()), Some("true".to_owned())]
    );
    assert_eq!(batch.column(3).null_count(), 3);
}

/// Without a line feed the whole file would be its header.
#[test]
fn lines_that_end_by_cr_alone_are_refused() {
    let error = import(b"a,b\r1,2\r3,4\r", &["a"]).unwrap_err().to_string();
    error.says(&["ends its lines by CR alone", "tr '\\r'"]);
}

#[test]
fn what_is_no_number_makes_a_column_text() {
    let kind = |values: &str| {
        import(format!("a\n{values}").as_bytes(), &["a"]).unwrap().column(0).data_type().clone()
    };
    assert_eq!(kind("1\n2"), DataType::Int64);
    assert_eq!(kind("1\n2.0"), DataType::Float64);
    assert_eq!(kind("1\ninf"), DataType::Float64);
    // An integer beyond 64 bits may identify somebody; among decimals it is a number.
    assert_eq!(kind("1.5\n9223372036854775808"), DataType::Float64);
    assert_eq!(kind("9223372036854775807\n9223372036854775808"), DataType::Utf8);
    for text in ["1\nx", "1\nNaN", "2020-01-01", "1_000", "1,5".replace(',', ";").as_str()] {
        assert_eq!(kind(text), DataType::Utf8, "{text}");
    }
}

/// As floats two ids of 19 digits may be one number.
#[test]
fn whole_numbers_that_no_float_keeps_are_refused_as_features() {
    let prepared = |id: &str, params: &str| {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("in.csv"), dir.path().join("source.parquet"));
        std::fs::write(&from, format!("g,x\na,{id}\nb,12\na,12\nb,{id}\n")).unwrap();
        let params = PrepareParams::of(&format!("sensitive: {{g: [a, b]}}, {params}"));
        let declared = DeclaredColumns::new();
        let columns = (["g", "x"].as_slice(), &declared);
        let workers = &workers(1);
        import_csv(&self::params(&from), columns, &to, silent(1024, workers)).unwrap();
        prepare_parquet(&to, &params, dir.path(), 1024, 1)
    };
    let kind = |id: &str| {
        let layout = prepared(id, "nominal: [x]").unwrap().layout;
        layout.features[layout.feature("x").unwrap()].source_kind()
    };
    assert_eq!(kind("9223372036854775807"), SourceKind::Integer);
    assert_eq!(kind("nan"), SourceKind::Float);
    for exact in ["1e300", "10000000000000000000", "9223372036854775808"] {
        assert_ne!(kind(exact), SourceKind::Text);
    }
    for id in ["9223372036854775809", "-9223372036854775809"] {
        let fault = fault(prepared(id, "nominal: [x]"));
        assert_eq!((fault.code, fault.column.as_deref()), ("unreadable-value", Some("x")));
        fault.what.says(&[&format!("the whole number `{id}`")]);
    }
}

#[test]
fn headerless_files_and_other_delimiters() {
    let change = |c: &mut CsvBlock| (c.header, c.delimiter) = (false, ';');
    let batch = import_as(b"1;a\n2;b\n", &["column_2"], change).unwrap();
    assert_eq!(texts(&batch, 0), [Some("a".to_owned()), Some("b".to_owned())]);
    assert_eq!(fault(import_as(b"1\n", &[], |c| c.delimiter = '"')).code, "bad-dialect");
    assert_eq!(fault(import_as(b"1\n", &[], |c| c.delimiter = 'é')).code, "bad-dialect");
}

#[test]
fn text_files_of_other_countries() {
    let text = b"Name;Betrag;Jahr;Quote\nM\xfcller;4.583,58;2.020;0,5\nGr\xfc\xdfe \x80;\
                 -1.000;1.999;\n";
    let german = |c: &mut CsvBlock| {
        (c.delimiter, c.decimal, c.thousands) = (';', ',', Some('.'));
        c.encoding = TextEncoding::Windows1252;
    };
    let batch = import_as(text, &["Name", "Betrag", "Jahr", "Quote"], german).unwrap();
    assert_eq!(texts(&batch, 0), [Some("Müller".to_owned()), Some("Grüße €".to_owned())]);
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().values(), &[4583.58, -1000.0]);
    assert_eq!(batch.column(2).as_primitive::<Int64Type>().values(), &[2020, 1999]);
    assert_eq!(batch.column(3).null_count(), 1);

    let latin = |c: &mut CsvBlock| (c.quote, c.encoding) = ('\'', TextEncoding::Latin1);
    let batch = import_as(b"a,\xe9t\xe9\n'x, ''y''',\x80\n", &["a", "été"], latin).unwrap();
    assert_eq!(texts(&batch, 0), [Some("x, 'y'".to_owned())]);
    assert_eq!(texts(&batch, 1), [Some("\u{80}".to_owned())]);

    // A value of another notation leaves the column text; it never becomes another number.
    let batch = import_as(b"a\n1.5\n", &["a"], |c| c.decimal = ',').unwrap();
    assert_eq!(texts(&batch, 0), [Some("1.5".to_owned())]);
    let code = |text: &[u8], change: fn(&mut CsvBlock)| fault(import_as(text, &["a"], change)).code;
    assert_eq!(code(b"\xef\xbb\xbfa\n1\n", |c| c.encoding = TextEncoding::Latin1), "bad-encoding");
    assert_eq!(code(b"a\0\n\0", |c| c.encoding = TextEncoding::Latin1), "bad-encoding");
    assert_eq!(code(b"a\n1\n", |c| c.thousands = Some('.')), "bad-dialect");
    assert_eq!(code(b"a\n1\n", |c| c.quote = ','), "bad-dialect");
    assert_eq!(code(b"a\n1\n", |c| c.quote = 'é'), "bad-dialect");
    assert_eq!(code(b"a\n1\n", |c| c.decimal = ';'), "bad-dialect");
}

#[test]
fn broken_lines_are_named() {
    let check = |text: &[u8], code: &str, row: Option<&str>| {
        let fault = fault(import(text, &["a"]));
        assert_eq!(
            (fault.code, fault.row.as_deref()),
            (code, row),
            "{}",
            String::from_utf8_lossy(text)
        );
        assert!(fault.file.is_some());
    };
    check(b"", "empty-file", None);
    check(b"\n\r\n", "empty-file", None);
    check(b"b,c\n1,2\n", "missing-column", None);
    check(b"a,b,a\n1,2,3\n", "duplicate-column", None);
    check(b"a,b\n1,2\n\n1,2,3\n", "ragged-row", Some("line 4"));
    check(b"a,b\n1,\"2\n3\"\n1\n", "ragged-row", Some("line 4"));
    check(b"a,b\n1,2\n1,x\"y\n", "bad-quoting", Some("line 3"));
    check(b"a,b\n1,\"x\"y\n", "bad-quoting", Some("line 2"));
    check(b"a,b\n1,\"x\"\ry\n", "bad-quoting", Some("line 2"));
    check(b"a,b\n1,2\n1,\"never\nclosed\n", "bad-quoting", Some("line 3"));
    check(b"a,b\n1,caf\xE9\n", "bad-encoding", Some("line 2"));
    // Halves of one character in two fields.
    check(b"a,b\n\xC3,\xA9\n", "bad-encoding", Some("line 2"));
    let mut endless = b"a,b\n1,\"".to_vec();
    endless.resize(40 << 20, b'x');
    check(&endless, "bad-quoting", Some("line 2"));
    // A name that occurs twice is a fault only where the column is needed.
    assert!(import(b"a,b,b\n1,2,3\n", &["a"]).is_ok());
}

#[test]
fn compas_as_text_gives_the_rows_of_compas_as_parquet() {
    let (Some(text), Some(typed)) =
        (shared("data/compas/compas-scores-two-years.csv"), shared("data/compas/compas.parquet"))
    else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let prepare_params = PrepareParams::of(
        r#"row_id: id, keep: [{days_b_screening_arrest: {between: [-30, 30]}}],
           label: {column: two_year_recid, positive: ["1"]}, continuous: [age],
           sensitive: {race: [African-American, Caucasian]}, nominal: [c_charge_desc]"#,
    );
    let needed = prepare_params.columns();
    let declared = DeclaredColumns::new();
    let of = (needed.as_slice(), &declared);
    let run = |name: &str, source: &ParquetSource| {
        let out = dir.path().join(name);
        std::fs::create_dir(&out).unwrap();
        prepare(source, &prepare_params, &out, silent(BATCH, &workers(2))).unwrap();
        (std::fs::read(out.join("rows.parquet")).unwrap(), counts(&out, 0))
    };
    let imported = dir.path().join("source.parquet");
    let files = import_csv(&params(&text), of, &imported, silent(1024, &workers(2))).unwrap();
    assert_eq!(files, std::slice::from_ref(&text));
    let source = ParquetSource::imported(&imported, &text, &needed, &declared).unwrap();
    let from_text = run("text", &source);
    assert_eq!(from_text.1.values().sum::<u64>(), 6_172);
    let source = ParquetSource::parquet(typed.to_str().unwrap(), &needed, &declared).unwrap();
    assert!(from_text == run("parquet", &source));
    // `priors_count` has a twin in the file.
    assert_eq!(
        fault(import_csv(
            &params(&text),
            (&["priors_count"], &declared),
            &imported,
            silent(1024, &workers(1))
        ))
        .code,
        "duplicate-column"
    );
}
