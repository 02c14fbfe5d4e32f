//! Checks models that are files, endpoints, Python functions and registered versions: what of each
//! can be known without it.

use crate::job::check::JobChecker;
use crate::job::messages as m;
use crate::job::read::tree::join;
use crate::model::kind::http::HttpBlock;
use crate::model::kind::lightgbm_file::LightgbmBlock;
use crate::model::kind::mlflow::MlflowBlock;
use crate::model::kind::onnx::OnnxBlock;
use crate::model::kind::python::PythonBlock;
use crate::model::kind::trained::rebuild;
use crate::param::{ColumnName, Name};

impl JobChecker<'_> {
    /// One block `http`.
    pub(super) fn http(&mut self, at: &str, name: &Name, http: &HttpBlock) {
        let host = ["http://", "https://"].into_iter().find_map(|head| http.url.strip_prefix(head));
        let here = format!("{at}.url");
        if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
            self.say(&here, m::http_address(http.url.escape_debug()));
        } else if host.is_some_and(|h| h.split('/').next().is_some_and(|host| host.contains('@'))) {
            self.say(&here, m::http_credentials());
        }
        self.inputs(at, name, &http.omit);
        self.columns_in_order(at, &http.columns, &http.omit);
    }

    /// One block `lightgbm`.
    pub(super) fn lightgbm(&mut self, at: &str, name: &Name, block: &LightgbmBlock) {
        if !cfg!(feature = "lightgbm") {
            self.say(at, m::lightgbm_not_built(rebuild("LightGBM", "lightgbm")));
        }
        self.inputs(at, name, &[]);
        self.columns_in_order(at, &block.columns, &[]);
    }

    pub(super) fn onnx(&mut self, at: &str, name: &Name, onnx: &OnnxBlock) {
        if !cfg!(feature = "onnx") {
            self.say(at, m::onnx_not_built(rebuild("the ONNX runtime", "onnx")));
        }
        self.inputs(at, name, &onnx.omit);
        self.columns_in_order(at, &onnx.columns, &onnx.omit);
        if !onnx.columns.is_empty() && !onnx.inputs.is_empty() {
            self.say(format!("{at}.columns"), m::onnx_columns_twice());
        }
        let seen = self.columns(&onnx.omit);
        for (input, columns) in &onnx.inputs {
            let here = join(&format!("{at}.inputs"), input);
            if columns.is_empty() {
                self.say(here.clone(), m::onnx_input_empty(input));
            }
            for (i, column) in columns.iter().enumerate() {
                self.check_known("column", format!("{here}[{i}]"), column, &seen);
            }
        }
    }

    /// One block `python`.
    pub(super) fn python(&mut self, at: &str, name: &Name, python: &PythonBlock) {
        match (&python.call, &python.pickle) {
            (Some(call), None) => self.call(&format!("{at}.call"), call),
            (None, Some(_)) => {}
            (both, _) => {
                let found = if both.is_some() { "both" } else { "none" };
                return self.say(at, m::python_forms(name, found));
            }
        }
        if python.class.is_some() && python.call.is_some() {
            self.say(format!("{at}.class"), m::python_class_of_call());
        }
        self.inputs(at, name, &python.omit);
        self.columns_in_order(at, &python.columns, &python.omit);
        self.environment(at, &python.pass_env, &python.secret_env);
    }

    /// One block `mlflow`.
    pub(super) fn mlflow(&mut self, at: &str, name: &Name, mlflow: &MlflowBlock) {
        if !mlflow.names_a_version() {
            self.say(format!("{at}.model"), m::mlflow_version(mlflow.model.escape_debug()));
        }
        self.inputs(at, name, &mlflow.omit);
        self.columns_in_order(at, &mlflow.columns, &mlflow.omit);
        self.environment(at, &mlflow.pass_env, &mlflow.secret_env);
    }

    /// `module:function`, both of names with dots between them.
    fn call(&mut self, at: &str, call: &str) {
        let named = |text: &str| {
            text.split('.').all(|part| {
                part.chars().all(|c| c.is_alphanumeric() || c == '_')
                    && part.chars().next().is_some_and(|c| !c.is_numeric())
            })
        };
        if !call.split_once(':').is_some_and(|(module, function)| named(module) && named(function))
        {
            self.say(at, m::python_call_form(call.escape_debug()));
        }
    }

    /// Columns that a model gets in this order.
    pub(in crate::job::check) fn columns_in_order(
        &mut self,
        at: &str,
        columns: &[ColumnName],
        omit: &[ColumnName],
    ) {
        let seen = self.columns(omit);
        for (i, column) in columns.iter().enumerate() {
            self.check_known("column", format!("{at}.columns[{i}]"), column, &seen);
        }
    }
}
