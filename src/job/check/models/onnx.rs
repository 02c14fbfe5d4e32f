//! Checks the block `onnx` of models: what of it can be known without the file.

use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::kind::trees::rebuild;
use crate::param::Name;

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    pub(super) fn onnx(&mut self, at: &str, name: &Name, onnx: &OnnxBlock) {
        if !cfg!(feature = "onnx") {
            self.say(at, m::onnx_not_built(rebuild("the ONNX runtime", "onnx")));
        }
        if onnx.model.is_empty() {
            self.say(format!("{at}.model"), m::onnx_model_empty(at));
        }
        self.inputs(at, name, &onnx.omit);
        self.columns_in_order(at, &onnx.columns, &onnx.omit);
        if !onnx.columns.is_empty() && !onnx.inputs.is_empty() {
            self.say(format!("{at}.columns"), m::onnx_columns_twice());
        }
        if !self.is_sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let seen: Vec<String> = self
            .columns()
            .into_iter()
            .filter(|c| onnx.omit.iter().all(|o| o.as_str() != *c))
            .map(str::to_owned)
            .collect();
        for (input, columns) in &onnx.inputs {
            let here = join(&format!("{at}.inputs"), input);
            if columns.is_empty() {
                self.say(here.clone(), m::onnx_input_empty(input));
            }
            for (i, column) in columns.iter().enumerate() {
                self.check_known(
                    "column",
                    format!("{here}[{i}]"),
                    column.as_str(),
                    seen.iter().map(String::as_str),
                    "unknown-column",
                );
            }
        }
    }
}
