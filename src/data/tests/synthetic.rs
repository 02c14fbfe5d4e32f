//! Generated rows: draws compared with those computed by hand, their distribution, and independence
//! of threads.

use super::*;
use crate::data::source::synthetic::{
    LinearMechanism, LogitMechanism, Mechanism, MechanismNoise, NormalNoise, SyntheticBlock,
    generate,
};
use crate::param::{Count, Finite};

fn finite(value: f64) -> Finite {
    Finite::new(value).unwrap()
}

fn params(rows: u64) -> SyntheticBlock {
    let p = |p: f64| Fraction::new(p).unwrap();
    let levels = IndexMap::from([
        (Word("a".into()), p(0.2)),
        (Word("b".into()), p(0.5)),
        (Word("c".into()), p(0.3)),
    ]);
    let effects =
        IndexMap::from([("flag".to_owned(), finite(2.0)), ("level=b".to_owned(), finite(-1.0))]);
    let columns = IndexMap::from([
        (column("flag"), Mechanism::Bernoulli(p(0.3))),
        (column("level"), Mechanism::Levels(levels)),
        (
            column("x"),
            Mechanism::Linear(LinearMechanism {
                intercept: finite(5.0),
                effects,
                noise: MechanismNoise::Normal(NormalNoise { sd: finite(0.5) }),
            }),
        ),
        (
            column("y"),
            Mechanism::Logit(LogitMechanism {
                intercept: finite(-5.0),
                effects: IndexMap::from([("x".to_owned(), finite(1.0))]),
            }),
        ),
    ]);
    SyntheticBlock { rows: Count::new(rows).unwrap(), columns }
}

fn run(path: &Path, params: &SyntheticBlock, threads: usize) -> Vec<u8> {
    generate(params, 42, path, silent(4096, &workers(threads))).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn the_rows_follow_their_mechanisms() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.parquet");
    let bytes = run(&path, &params(20_000), 1);
    assert!(bytes == run(&path, &params(20_000), 8));

    let file = ParquetFile::open(&path, FileOwner::Program).unwrap();
    let mut rows = Vec::new();
    for group in 0..file.n_groups() {
        let batch = file.read_group(group, None).unwrap();
        for i in 0..batch.num_rows() {
            let int = |c: usize| batch.column(c).as_primitive::<Int64Type>().value(i);
            rows.push((
                int(0),
                batch.column(1).as_string::<i32>().value(i).to_owned(),
                batch.column(2).as_primitive::<Float64Type>().value(i),
                int(3),
            ));
        }
    }
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row.0, i64::from(u01(h(42, i as u64, 0)) < 0.3));
        let u = u01(h(42, i as u64, 1));
        assert_eq!(
            row.1,
            if u < 0.2 {
                "a"
            } else if u < 0.7 {
                "b"
            } else {
                "c"
            }
        );
    }
    // Five standard errors.
    let near = |value: f64, expected: f64, error: f64| {
        assert!((value - expected).abs() < 5.0 * error, "{value} is not near {expected}")
    };
    let n = rows.len() as f64;
    let noise: Vec<f64> = rows
        .iter()
        .map(|r| r.2 - 5.0 - 2.0 * r.0 as f64 + f64::from(u8::from(r.1 == "b")))
        .collect();
    near(noise.iter().sum::<f64>() / n, 0.0, 0.5 / n.sqrt());
    near(noise.iter().map(|e| e * e).sum::<f64>() / n, 0.25, 0.25 * (2.0 / n).sqrt());
    let p = |x: f64| 1.0 / (1.0 + (5.0 - x).exp());
    near(rows.iter().map(|r| r.3 as f64 - p(r.2)).sum::<f64>() / n, 0.0, 0.5 / n.sqrt());
}

#[test]
fn effects_must_name_what_was_drawn_before() {
    let dir = tempfile::tempdir().unwrap();
    for (effect, expected) in [
        ("y", "no column `y`"),
        ("flagg", "no column `flagg`"),
        ("level", "has levels"),
        ("level=z", "no level `z`"),
        ("flag=1", "is a number"),
    ] {
        let mut params = params(10);
        let effects = IndexMap::from([(effect.to_owned(), finite(1.0))]);
        params.columns.insert(
            column("x"),
            Mechanism::Logit(LogitMechanism { intercept: finite(0.0), effects }),
        );
        let fault =
            fault(generate(&params, 1, &dir.path().join("s.parquet"), silent(1024, &workers(1))));
        assert!(fault.code == "unknown-parent" && fault.what.contains(expected), "{fault}");
    }
}
