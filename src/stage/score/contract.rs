//! The stage `contract`: what a model that is trained elsewhere gets and gives, before its first
//! score. The contract itself is made by [`ModelContract::settle`]; here the description that the
//! model's file or process gives of itself is read.

use serde_json::Value;

use crate::data::Layout;
use crate::data::source_form::StoredType;
use crate::error::{Error, Fault, JobProblem, Result};
use crate::exec::folder::ScratchFolder;
use crate::exec::{StageContext, files, internal_error};
use crate::job::ModelBlock;
use crate::job::check::path;
use crate::model::contract::{ContractGap, MissingAs, ModelContract, ModelSignature};
use crate::model::kind::threshold_key::ThresholdBlock;
use crate::model::model_file::ModelFile;
use crate::stage::artifact::CONTRACT;
use crate::stage::kinds::{ContractStage, PrepareStage};
use crate::stage::models::answer_inputs;
use crate::stage::plan::StagePlan;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::unit::AuditUnit;

/// What a model says about itself; the hash of its files, and the threshold of its own `predict`,
/// where it has one.
type ModelDescription = (ModelSignature, Option<String>, Option<f64>);

impl StageInput<ContractStage> {
    /// The contract.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<ModelContract> {
        self.read(ctx, CONTRACT)
    }
}

impl Stage for ContractStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let rows = b.need::<PrepareStage>(&AuditUnit::default())?;
        let Some((_, knobs)) = model.external() else {
            return Err(internal_error(format!("the model `{name}` has no contract")));
        };
        b.value("terms", &knobs.terms);
        match knobs.signature {
            Some(signature) => {
                b.value("signature", signature);
            }
            None => {
                b.value("threshold is open", model.threshold.is_default());
                answer_inputs(b, (name, model), plan.call(name, model))?;
            }
        }
        work(move |ctx| {
            let rows = rows.open(ctx)?;
            let contract = plan.contract(ctx, name, model, rows.layout())?;
            files::write_json(&ctx.out().join(CONTRACT), &contract)
        })
    }
}

impl StagePlan<'_> {
    /// The contract with a model that is trained elsewhere.
    ///
    /// # Errors
    /// The model cannot be asked what it says about itself; or neither it nor the job says which
    /// columns it gets or which class its score is about.
    pub(crate) fn contract(
        &self,
        ctx: &StageContext<'_>,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
    ) -> Result<ModelContract> {
        let Some((kind, knobs)) = model.external() else {
            return Err(internal_error(format!("the model `{name}` has no contract")));
        };
        let (signature, sha256, own_threshold) = match knobs.signature {
            Some(signature) => (signature, None, None),
            None => self
                .ask_signature(ctx, name, model, layout)
                .map_err(|e| self.with_model_place(e, &["models", name, kind.key()]))?,
        };
        let passed_over =
            |own: &f64| model.threshold.is_default() && *own != ThresholdBlock::DEFAULT;
        if let Some(own) = own_threshold.filter(passed_over) {
            let gap = ContractGap {
                code: "model-threshold",
                key: "threshold",
                what: format!("its own `predict` decides at {own}, and the job does not"),
                hint: format!("write `threshold: {own}` next to `{}`", kind.key()),
            };
            return Err(self.gap(&["models", name, kind.key()], gap));
        }
        let columns: Vec<&str> =
            layout.inputs().map(|f| layout.features[f].name.as_str()).collect();
        let settled =
            ModelContract::settle(&signature, &knobs.terms, &columns, layout.label.as_ref());
        let mut contract = settled.map_err(|gap| self.gap(&["models", name, kind.key()], gap))?;
        contract.sha256 = sha256;
        // pandas has no value for what is no category, but it has a missing value.
        for column in &mut contract.columns {
            let feature = layout.feature(&column.column).map(|f| &layout.features[f]);
            if let Some(StoredType::Category { categories, .. }) =
                feature.and_then(|feature| feature.source.stored.as_ref())
                && column.missing == MissingAs::Pandas
                && column.levels.is_none()
            {
                let texts = categories.iter().map(|text| Value::String(text.clone()));
                column.levels = Some(texts.chain([Value::Null]).collect());
            }
        }
        Ok(contract)
    }

    /// A gap as a problem of the job, at the key that it is about or at the block.
    fn gap(&self, block: &[&str], gap: ContractGap) -> Error {
        let ContractGap { code, key, what, hint } = gap;
        let places = &self.checked.places;
        let at = path(&[block, &[key]].concat());
        let place = places.written(&at).or_else(|| places.at(&path(block)));
        let what = format!("model `{}`: {what}", block.get(1).copied().unwrap_or_default());
        Error::Job(vec![JobProblem {
            code,
            path: at,
            place: place.cloned(),
            what,
            hint: Some(hint),
        }])
    }

    /// What the model's file, or its process, says about the model; the hash of one that a registry
    /// holds; and the threshold of its own `predict`.
    fn ask_signature(
        &self,
        ctx: &StageContext<'_>,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
    ) -> Result<ModelDescription> {
        if let Some(file) = ModelFile::of(model, self.score_scale(model), &layout.features) {
            return Ok((file.signature()?, None, None));
        }
        let Some(call) = self.call(name, model) else {
            return Err(internal_error(format!("the model `{name}` cannot be asked about itself")));
        };
        let scratch = ScratchFolder::of_system()?;
        let text = call.describe(ctx, scratch.path())?;
        Ok(serde_json::from_str(&text).map_err(|e| {
            let what = format!("the description of the model `{name}` is damaged: {e}");
            Fault::new("bad-output", what)
        })?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ModelDescription;
    use crate::model::contract::{
        InputColumns, MissingAs, ModelInput, ModelSignature, ScoreOutput,
    };

    /// The forms in which `python.py` writes what a model says about itself.
    #[test]
    fn a_python_model_describes_itself_as_the_contract_has_it() {
        let named = InputColumns::Named(vec!["a".to_owned()]);
        let classes = ScoreOutput::Classes(vec![json!(0), json!("b")]);
        for (columns, output, expected_columns, expected_output) in [
            (json!("any"), json!({"unnamed": null}), InputColumns::Any, ScoreOutput::Unnamed(None)),
            (
                json!({"unnamed": 2}),
                json!({"unnamed": null}),
                InputColumns::Unnamed(Some(2)),
                ScoreOutput::Unnamed(None),
            ),
            (json!({"named": ["a"]}), json!({"classes": [0, "b"]}), named, classes),
        ] {
            let table = json!({
                "name": "", "columns": columns, "kind": "source", "missing": "pandas",
                "levels": [null, ["x"]],
            });
            let text = json!([{"inputs": [table], "output": output}, null, 0.25]).to_string();
            let found: ModelDescription = serde_json::from_str(&text).unwrap();
            assert_eq!(found.2, Some(0.25));
            let levels = vec![None, Some(vec![json!("x")])];
            let input = ModelInput {
                columns: expected_columns,
                levels,
                ..ModelInput::any(MissingAs::Pandas)
            };
            assert_eq!(found.0, ModelSignature { inputs: vec![input], output: expected_output });
        }
    }
}
