//! Checks models that are Python functions or pickles: what of it can be known without Python.

use crate::job::messages as m;
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
                return self.say(at, m::python_forms(name, found));
            }
        }
        if let Some(with) = &python.with {
            self.path_alone(format!("{at}.with"), with);
        }
        if python.class.is_some() && python.call.is_some() {
            self.say(format!("{at}.class"), m::python_class_of_call());
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
            self.say(at, m::python_call_form(call.escape_debug()));
        }
    }

    /// The path of one file.
    pub(super) fn path_alone(&mut self, at: String, path: &str) {
        if path.is_empty() {
            self.say(&at, m::python_path_empty(&at));
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
