//! Checks the block `onnx` of models: what of it can be known without the file.

use crate::job::read::tree::join;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::kind::trees::rebuild;
use crate::param::Name;

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    pub(super) fn onnx(&mut self, at: &str, name: &Name, onnx: &OnnxBlock) {
        if !cfg!(feature = "onnx") {
            self.push_problem(
                "not-built",
                at,
                "this build of cfaudit does not include ONNX models",
                rebuild("the ONNX runtime", "onnx"),
            );
        }
        if onnx.model.is_empty() {
            self.push_problem(
                "empty-value",
                format!("{at}.model"),
                format!("`{at}.model` is empty"),
                "name an ONNX file",
            );
        }
        self.inputs(at, name, &onnx.omit);
        self.columns_in_order(at, &onnx.columns, &onnx.omit);
        if !onnx.columns.is_empty() && !onnx.inputs.is_empty() {
            let what = "`columns` names the columns of the only input, and `inputs` those of each";
            let hint = "keep one of them";
            self.push_problem("one-of", format!("{at}.columns"), what, hint);
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
                let what = format!("the input `{input}` has no column");
                self.push_problem(
                    "empty-list",
                    here.clone(),
                    what,
                    "name its columns in order, or leave the input out",
                );
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
