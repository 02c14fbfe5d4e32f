//! An audit as a bill of materials with model cards: CycloneDX 1.6, JSON.
//!
//! | Place in the file | What it holds |
//! | --- | --- |
//! | `components`, `machine-learning-model` | one for each model of the job, with a `modelCard` |
//! | `quantitativeAnalysis.performanceMetrics` | performance of everybody and of each group, gaps of each pair, switch rates of each direction; an undefined value says why |
//! | `considerations.fairnessAssessments` | one for each group: who of it would be decided otherwise as a member of another group, with counts and intervals |
//! | `considerations.ethicalConsiderations` | the gates on the model with their verdicts |
//! | `components`, `data` and `file` | the inputs of the run with their SHA-256 |
//!
//! Source: the JSON schema of CycloneDX 1.6 (ECMA-424), against which a test validates. The file
//! carries no time. Its serial number is made of the SHA-256 of the rest (a UUID of version 8, RFC
//! 9562), so that equal audits have equal files.

use minijinja::context;
use minijinja::value::Value as Fact;
use serde_json::{Value, json};

use crate::exec::hash::sha256;
use crate::folder::manifest::{InputFile, Manifest, ModelWords};
use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::report::brief::harm::side_of;
use crate::report::brief::voice::AuditVoice;
use crate::report::export::{ExportedAudit, deciding, gate_sentence};
use crate::table::MetricRow;
use crate::table::digits::{decimals_apart, end_pairs, fixed_digits, interval_digits};
use crate::text::fact;

/// The address of the schema of the file.
const SCHEMA: &str = "http://cyclonedx.org/schema/bom-1.6.schema.json";

/// The bill of materials.
pub(crate) fn model_card(audit: &ExportedAudit<'_>) -> String {
    let manifest = audit.manifest;
    let own = audit.metrics.iter().filter(|row| row.key.arm.is_empty() && row.key.slice.is_empty());
    let voice = &AuditVoice::new(manifest, has_classes(manifest)).with_counts(own);
    let inputs = inputs(manifest, voice);
    let data: Vec<Value> = inputs
        .iter()
        .filter(|component| component["type"] == "data")
        .map(|component| json!({"ref": component["bom-ref"]}))
        .collect();
    let models = manifest.models.iter().map(|model| component(audit, model, &data, voice));
    let components: Vec<Value> = models.chain(inputs.iter().cloned()).collect();
    let audited = manifest.rows.audited.to_string();
    let properties = [
        ("job", Some(&manifest.job)),
        ("run", Some(&manifest.run)),
        ("job-sha256", Some(&manifest.job_hash)),
        ("verdict", Some(&audit.summary.verdict)),
        ("people-audited", Some(&audited)),
        ("stand-in-data", manifest.stand_in.as_ref()),
    ];
    let properties = properties.into_iter().filter_map(|(name, value)| {
        Some(json!({"name": format!("cfaudit:{name}"), "value": value?}))
    });
    let mut card = stripped(json!({
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "",
        "version": 1,
        "metadata": {
            "tools": {"components": [
                {"type": "application", "name": "cfaudit", "version": manifest.program},
            ]},
            "properties": properties.collect::<Vec<_>>(),
        },
        "components": components,
    }));
    let hash = sha256(card.to_string().as_bytes());
    card["serialNumber"] = format!("urn:uuid:{}", uuid(&hash)).into();
    serde_json::to_string_pretty(&card).unwrap_or_default() + "\n"
}

/// Whether the label has several classes.
fn has_classes(manifest: &Manifest) -> bool {
    manifest.label.as_ref().is_some_and(|label| !label.classes.is_empty())
}

/// What a macro of `card.txt` says about something.
fn said(voice: &AuditVoice<'_>, name: &str, of: Fact) -> String {
    voice.say(("card.txt", name), &[of])
}

/// A value without the fields that have none.
fn stripped(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.into_iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name, stripped(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(stripped).collect(),
        value => value,
    }
}

/// The list; none where it is empty.
fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// A UUID of version 8, variant 10, from the first digits of a hash in hexadecimal.
fn uuid(hash: &str) -> String {
    // Two bits of the digit are the variant; the other two stay.
    let variant = hash[16..17].chars().next().and_then(|c| c.to_digit(16)).unwrap_or(0) & 3 | 8;
    format!(
        "{}-{}-8{}-{variant:x}{}-{}",
        &hash[..8],
        &hash[8..12],
        &hash[13..16],
        &hash[17..20],
        &hash[20..32]
    )
}

/// The inputs of the run; of rows that the job generates, a component without a hash.
fn inputs(manifest: &Manifest, voice: &AuditVoice<'_>) -> Vec<Value> {
    let component = |(i, input): (usize, &InputFile)| {
        let is_rows = input.what == "data";
        // Objects in a bucket have no SHA-256.
        let has_hash = input.etag.is_none();
        json!({
            "type": if is_rows { "data" } else { "file" },
            "bom-ref": format!("input-{i}"),
            "name": input.path,
            "description": input.what,
            "hashes": has_hash.then(|| json!([{"alg": "SHA-256", "content": input.sha256}])),
            "data": is_rows.then(|| [dataset(manifest, &input.path, voice)]),
        })
    };
    let mut found: Vec<Value> = manifest.inputs.iter().enumerate().map(component).collect();
    if !found.iter().any(|component| component["type"] == "data") {
        let name = said(voice, "generated", fact(manifest));
        found.push(json!({
            "type": "data",
            "bom-ref": "generated-rows",
            "name": name,
            "data": [dataset(manifest, &name, voice)],
        }));
    }
    found
}

fn dataset(manifest: &Manifest, name: &str, voice: &AuditVoice<'_>) -> Value {
    let told = said(voice, "rows", fact(manifest));
    let sensitive: Vec<&str> = manifest.attributes.iter().map(|a| a.name.as_str()).collect();
    json!({"type": "dataset", "name": name, "description": told, "sensitiveData": sensitive})
}

/// A model with its card.
fn component(
    audit: &ExportedAudit<'_>,
    model: &ModelWords,
    data: &[Value],
    voice: &AuditVoice<'_>,
) -> Value {
    let manifest = audit.manifest;
    let words = &manifest.words;
    let described = context!(stand_in => &manifest.stand_in, words => &model.words);
    let described = said(voice, "model", described);
    let listed = of_model(audit, model).filter(|row| is_listed(row));
    let performance: Vec<Value> = listed.map(|row| performance_metric(row, voice)).collect();
    let gates = deciding(audit.gates).filter(|row| row.model == model.name).map(|row| {
        let name = said(voice, "gate", context!(told => gate_sentence(row), ..fact(row)));
        json!({"name": name, "mitigationStrategy": words.gate_notes.get(row.gate.as_str())})
    });
    let uses = [&words.decision, &words.purpose].into_iter().flatten().map(|text| text.trim());
    json!({
        "type": "machine-learning-model",
        "bom-ref": format!("model-{}", model.name),
        "name": model.name,
        "description": described,
        "modelCard": {
            "modelParameters": {
                "task": if model.amount.is_some() { "regression" } else { "classification" },
                "modelArchitecture": model.kind,
                "datasets": data,
            },
            "quantitativeAnalysis": {"performanceMetrics": performance},
            "considerations": {
                "useCases": filled(uses.collect()),
                "technicalLimitations": filled(words.limitations.iter().collect()),
                "ethicalConsiderations": filled(gates.collect()),
                "fairnessAssessments": filled(assessments(audit, model, voice)),
            },
        },
        "version": words.version,
    })
}

/// The values of the plain audit of a model, without slices.
fn of_model<'a>(
    audit: &ExportedAudit<'a>,
    model: &ModelWords,
) -> impl Iterator<Item = &'a MetricRow> {
    let name = model.name.clone();
    audit.metrics.iter().filter(move |row| {
        row.key.model == name && row.key.arm.is_empty() && row.key.slice.is_empty()
    })
}

/// Whether a value stands among the metrics of performance; the others are in the tables.
fn is_listed(row: &MetricRow) -> bool {
    let places: [(MetricFamily, &[&str]); 5] = [
        (MetricFamily::Performance, &["total", "group"]),
        (MetricFamily::Group, &["pair"]),
        (MetricFamily::Ccm, &["direction"]),
        (MetricFamily::Scores, &["total", "group", "pair"]),
        (MetricFamily::Amounts, &["total", "group", "pair", "direction"]),
    ];
    places.iter().any(|(family, scopes)| {
        row.family == family.as_str() && scopes.contains(&row.key.scope.as_str())
    })
}

fn performance_metric(row: &MetricRow, voice: &AuditVoice<'_>) -> Value {
    let id = row.metric.as_str();
    let name = find(id).map_or_else(|| id.to_owned(), |metric| format!("{id}: {}", metric.name()));
    let value = match row.value {
        Some(value) => value.to_string(),
        None => format!("undefined: {}", row.undefined.as_str()),
    };
    let ends = row.lo.zip(row.hi).map(|(lo, hi)| [lo, hi].map(|end| end.to_string()));
    let ends = ends.map(|[lo, hi]| json!({"lowerBound": lo, "upperBound": hi}));
    let slice = Some(said(voice, "slice", fact(row))).filter(|slice| !slice.is_empty());
    json!({"type": name, "value": value, "slice": slice, "confidenceInterval": ends})
}

/// The assessment of each group: as harms what a member of another group would be spared, as
/// benefits what a member of another group would lack.
fn assessments(
    audit: &ExportedAudit<'_>,
    model: &ModelWords,
    voice: &AuditVoice<'_>,
) -> Vec<Value> {
    let manifest = audit.manifest;
    let conditions = &manifest.words.conditions;
    let mut found = Vec::new();
    for attribute in &manifest.attributes {
        for group in &attribute.groups {
            let (mut harms, mut benefits) = (Vec::new(), Vec::new());
            let rows = of_model(audit, model).filter(|row| {
                row.key.sensitive == attribute.name
                    && row.key.scope == "direction"
                    && row.class.is_empty()
                    && HARM.contains(&row.metric.as_str())
            });
            for row in rows {
                let is_denied = row.metric == HARM[0];
                // Refused people of the group, or granted people of the other one.
                let is_own = row.key.from_group == *group;
                if is_own || row.key.to_group == *group {
                    let told = if is_denied == is_own { &mut harms } else { &mut benefits };
                    told.push(said(voice, "assessed", assessed(row, voice)));
                }
            }
            if harms.is_empty() {
                let no_side = has_classes(manifest)
                    || manifest.favourable_is_positive().is_none() && manifest.amounts().is_none();
                harms.push(said(voice, "unassessed", no_side.into()));
            }
            found.push(json!({
                "groupAtRisk": format!("{} = {group}", attribute.name),
                "harms": harms.join(" "),
                "benefits": filled(benefits).map(|benefits| benefits.join(" ")),
                "mitigationStrategy": filled(conditions.clone()).map(|all| all.join(" ")),
            }));
        }
    }
    found
}

/// Who of a direction would be decided otherwise, with the numbers of its row.
fn assessed(row: &MetricRow, voice: &AuditVoice<'_>) -> Fact {
    let set = row.key.counterfactual.as_str();
    let ends = row.lo.zip(row.hi);
    let decimals = decimals_apart(&end_pairs(ends).collect::<Vec<_>>()).saturating_sub(2);
    let percent = |share: f64, decimals| fixed_digits(100.0 * share, decimals);
    let group = |name: &str| fact(&voice.called_group(&row.key.sensitive, name));
    context! {
        set, called => fact(&voice.called_set(set)),
        strategy => voice.set(set).map_or("", |set| set.strategy.as_str()),
        side => fact(&side_of(&row.metric)), from => group(&row.key.from_group),
        to => group(&row.key.to_group), share => row.value.map(|share| percent(share, decimals)),
        ends => ends.map(|(lo, hi)| interval_digits(100.0 * lo, 100.0 * hi, decimals)),
        level => row.level.map(|level| percent(level, 0)), undefined => row.undefined.as_str(),
        counts => fact(&row.counts()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::manifest::{
        AmountWords, AttributeWords, DecisionNames, LabelWords, RunSummary, SetWords,
    };
    use crate::table::{AuditKey, GateRow};
    use crate::tests::{Says, TextRow};

    fn words(text: &str) -> String {
        text.to_owned()
    }

    fn manifest() -> Manifest {
        Manifest {
            job: words("loans"),
            run: words("0a1b2c"),
            label: Some(LabelWords {
                favourable_is_positive: true,
                words: Some(DecisionNames {
                    favourable: words("granted"),
                    unfavourable: words("refused"),
                    object: Some(words("the loan")),
                }),
                ..LabelWords::default()
            }),
            attributes: vec![AttributeWords {
                name: words("sex"),
                groups: vec![words("Male"), words("Female")],
                reference: words("Male"),
                made_of: None,
                called: None,
                words: [("Male", "men"), ("Female", "women")]
                    .map(|(group, people)| (words(group), words(people)))
                    .into(),
            }],
            counterfactuals: vec![SetWords {
                name: words("flip"),
                strategy: words("naive"),
                ..SetWords::default()
            }],
            models: vec![ModelWords {
                name: words("scorecard"),
                kind: words("logistic"),
                ..ModelWords::default()
            }],
            inputs: vec![InputFile {
                what: words("data"),
                path: words("loans.parquet"),
                sha256: "ab".repeat(32),
                etag: None,
                bytes: 7,
            }],
            ..Manifest::default()
        }
    }

    fn row(scope: &'static str, from: &'static str, to: &'static str, metric: &str) -> MetricRow {
        MetricRow {
            key: AuditKey {
                counterfactual: if scope == "direction" { "flip" } else { "" }.into(),
                ..AuditKey::of(&format!(
                    "model=scorecard, sensitive=sex, scope={scope}, from_group={from}, \
                     to_group={to}"
                ))
            },
            metric: words(metric).into(),
            ..MetricRow::default()
        }
    }

    fn card(manifest: &Manifest, metrics: &[MetricRow], gates: &[GateRow]) -> Value {
        let summary = RunSummary { verdict: words("fail"), ..RunSummary::default() };
        let audit =
            ExportedAudit { manifest, summary: &summary, metrics, gates, inconclusive_fails: true };
        let text = model_card(&audit);
        assert_eq!(text, model_card(&audit));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_group_has_its_harms_and_benefits() {
        let harm = |from, to, metric, part, whole| MetricRow {
            value: Some(part as f64 / whole as f64),
            ..row("direction", from, to, metric).with(&format!(
                "family=ccm, numerator={part}, denominator={whole}, lo=0.2, hi=0.5, level=0.95"
            ))
        };
        let metrics = [
            row("group", "Female", "", "acc")
                .with("family=performance, value=0.75, lo=0.7, hi=0.8"),
            row("total", "", "", "tpr").with("family=performance, undefined=no_cases"),
            row("total", "", "", "macd").with("family=shift, value=1.0"),
            harm("Female", "Male", "denied_by_group", 46, 125),
            harm("Male", "Female", "favoured_by_group", 42, 407),
            harm("Female", "Male", "favoured_by_group", 1, 219),
        ];
        let gate = GateRow::of("gate=no-harm, verdict=fail, model=scorecard, decides=1");
        let manifest = manifest();
        let made = card(&manifest, &metrics, &[gate]);
        let model = &made["components"][0];
        let card = &model["modelCard"];
        let analysis = &card["quantitativeAnalysis"]["performanceMetrics"];
        assert_eq!(analysis.as_array().unwrap().len(), 5);
        assert_eq!(analysis[0]["slice"], "sex = Female");
        assert_eq!(analysis[0]["confidenceInterval"]["lowerBound"], "0.7");
        assert_eq!(analysis[1]["value"], "undefined: no_cases");
        let women = &card["considerations"]["fairnessAssessments"][1];
        assert_eq!(women["groupAtRisk"], "sex = Female");
        assert_eq!(
            women["harms"],
            "Set flip (naive): of 125 refused women 46 (36.80 %; 95 % interval 20.00 to 50.00) \
             would be granted the loan as men. Set flip (naive): of 407 men who are granted the \
             loan 42 (10.32 %; 95 % interval 20.00 to 50.00) would be refused as women."
        );
        assert_eq!(
            women["benefits"],
            "Set flip (naive): of 219 women who are granted the loan 1 (0.46 %; 95 % interval \
             20.00 to 50.00) would be refused as men."
        );
        let several = [metrics[3].clone().with("n_rows=30")];
        let women = &self::card(&manifest, &several, &[])["components"][0]["modelCard"];
        let women = &women["considerations"]["fairnessAssessments"][1]["harms"];
        let told = women.as_str().unwrap_or_default();
        assert!(told.contains("of 125 counterfactuals of refused women 46 ("), "{told}");
        let women = &card["considerations"]["fairnessAssessments"][1];
        let men = &card["considerations"]["fairnessAssessments"][0];
        assert_eq!((&men["harms"], &men["benefits"]), (&women["benefits"], &women["harms"]));
        let limit = card["considerations"]["ethicalConsiderations"][0]["name"].as_str().unwrap();
        assert!(limit.starts_with("limit no-harm: fail: "), "{limit}");
        assert_eq!(card["modelParameters"]["datasets"][0]["ref"], made["components"][1]["bom-ref"]);
        assert_eq!(made["components"][1]["hashes"][0]["content"], "ab".repeat(32));
    }

    /// All people of a group may get another amount, whatever the one that they have.
    #[test]
    fn amounts_have_no_decision_to_begin_with() {
        let mut manifest = manifest();
        manifest.label = None;
        manifest.models[0].amount =
            Some(AmountWords { better_is_lower: true, matters_from: words("5%") });
        let denied = row("direction", "Female", "Male", "denied_by_group")
            .with("value=0.25, numerator=50, denominator=200");
        let made = card(&manifest, &[denied], &[]);
        let model = &made["components"][0]["modelCard"];
        assert_eq!(model["modelParameters"]["task"], "regression");
        let assessed = &model["considerations"]["fairnessAssessments"];
        let harms = assessed[1]["harms"].as_str().unwrap();
        harms.says(&["of 200 women 50 (25.00 %; no interval) would "]);
        assessed[0]["harms"].as_str().unwrap().says(&["no counterfactual decision"]);
    }

    #[test]
    fn what_is_not_assessed_says_so() {
        let mut manifest = manifest();
        manifest.inputs.clear();
        manifest.stand_in = Some(words("adult"));
        let made = card(&manifest, &[], &[]);
        let assessed = &made["components"][0]["modelCard"]["considerations"]["fairnessAssessments"];
        let harms = assessed[0]["harms"].as_str().unwrap();
        harms.says(&["no counterfactual decision"]);
        assert_eq!(made["components"][1]["name"], "generated stand-in data for adult");
        let told = made["components"][0]["description"].as_str().unwrap();
        assert!(told.starts_with("STAND-IN DATA"), "{told}");
        manifest.label = None;
        let made = card(&manifest, &[], &[]);
        let assessed = &made["components"][0]["modelCard"]["considerations"]["fairnessAssessments"];
        assessed[0]["harms"].as_str().unwrap().says(&["which decision people want"]);
    }

    #[test]
    fn equal_audits_have_equal_serial_numbers() {
        let mut manifest = manifest();
        let first = card(&manifest, &[], &[]);
        manifest.run = words("0a1b2d");
        assert_ne!(first["serialNumber"], card(&manifest, &[], &[])["serialNumber"]);
        let hash = "0123456789abcdef".repeat(4);
        assert_eq!(uuid(&hash), "01234567-89ab-8def-8123-456789abcdef");
        assert_eq!(uuid(&"f".repeat(64)), "ffffffff-ffff-8fff-bfff-ffffffffffff");
    }
}
