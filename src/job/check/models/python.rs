//! Checks models that are Python functions or pickles: what of it can be known without Python.

use crate::model::kind::python::PythonBlock;
use crate::param::{ColumnName, Name};

use crate::job::check::JobChecker;

impl JobChecker<'_> {
    /// One block `python`.
    pub(super) fn python(&mut self, at: &str, name: &Name, python: &PythonBlock) {
        match (&python.call, &python.pickle) {
            (Some(call), None) => self.call(&format!("{at}.call"), call),
            (None, Some(path)) => self.path_alone(format!("{at}.pickle"), path),
            (both, _) => {
                let found = if both.is_some() { "both" } else { "none" };
                let what = format!(
                    "the Python model `{name}` needs exactly one of `call` and `pickle`, found \
                     {found}"
                );
                let hint = "write `call: \"module:function\"` for a function that scores rows, or \
                            `pickle: FILE` for a model with `predict_proba`";
                return self.push_problem("one-of", at, what, hint);
            }
        }
        if let Some(with) = &python.with {
            self.path_alone(format!("{at}.with"), with);
        }
        if python.class.is_some() && python.call.is_some() {
            let what = "`class` is for a pickled model, and `call` names a function";
            let hint = "remove `class`: the function itself returns the scores";
            self.push_problem("not-offered", format!("{at}.class"), what, hint);
        }
        self.inputs(at, name, &python.omit);
        self.columns_in_order(at, &python.columns, &python.omit);
        self.surroundings(at, &python.watch, &python.pass_env, &python.secret_env);
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
            self.push_problem(
                "bad-value",
                at,
                format!("`{}` is not of the form `module:function`", call.escape_debug()),
                "name the module without `.py`, a colon, and the function: `scoring:score`",
            );
        }
    }

    /// The path of one file.
    pub(super) fn path_alone(&mut self, at: String, path: &str) {
        if path.is_empty() {
            self.push_problem("empty-value", &at, format!("`{at}` is empty"), "name a file");
        } else {
            self.no_placeholder(at, path);
        }
    }

    /// Columns that a model gets in this order.
    pub(in crate::job::check) fn columns_in_order(
        &mut self,
        at: &str,
        columns: &[ColumnName],
        omit: &[ColumnName],
    ) {
        let at = format!("{at}.columns");
        if columns.is_empty()
            || !self.is_sound(&["data.features", "data.sensitive", "data.derive"])
            || !self.check_distinct(&at, "column", columns)
        {
            return;
        }
        let seen: Vec<String> = self.columns().into_iter().map(str::to_owned).collect();
        let seen = seen.iter().filter(|c| omit.iter().all(|o| o.as_str() != c.as_str()));
        let seen: Vec<&str> = seen.map(String::as_str).collect();
        for (i, column) in columns.iter().enumerate() {
            self.check_known(
                "column",
                format!("{at}[{i}]"),
                column.as_str(),
                seen.iter().copied(),
                "unknown-column",
            );
        }
    }
}
