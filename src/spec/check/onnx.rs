//! Checks the block `onnx` of models: what of it can be known without the file.

use crate::param::Name;
use crate::spec::onnx::Onnx;
use crate::spec::tree::join;

use super::Checker;
use super::trees::rebuild;

impl Checker<'_> {
    pub(super) fn onnx(&mut self, at: &str, name: &Name, onnx: &Onnx) {
        if !cfg!(feature = "onnx") {
            self.say("not-built", at, "this build of cfaudit does without ONNX models", rebuild("the ONNX runtime", "onnx"));
        }
        if onnx.model.is_empty() {
            self.say("empty-value", format!("{at}.model"), format!("`{at}.model` is empty"), "name an ONNX file");
        }
        self.inputs(at, name, &onnx.omit);
        if !self.sound(&["data.features", "data.sensitive", "data.derive"]) {
            return;
        }
        let seen: Vec<String> =
            self.columns().into_iter().filter(|c| onnx.omit.iter().all(|o| o.as_str() != *c)).map(str::to_owned).collect();
        for (input, columns) in &onnx.inputs {
            let here = join(&format!("{at}.inputs"), input);
            if columns.is_empty() {
                let what = format!("the input `{input}` gets no column");
                self.say("empty-list", here.clone(), what, "name its columns in order, or leave the input out");
            }
            for (i, column) in columns.iter().enumerate() {
                self.known("column", format!("{here}[{i}]"), column.as_str(), seen.iter().map(String::as_str), "unknown-column");
            }
        }
    }
}
