//! Words from templates: what all environments of templates have in common, and what one macro of a
//! template says.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};

/// What is said where a template fails.
pub(crate) const TESTED: &str =
    "the templates are part of the program: every block and every field they name is tested";

/// An environment without templates: what a template names must be there, and no line is left of
/// one that holds only a tag.
pub(crate) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the default delimiters are valid"));
    environment
}

/// What a macro of a template says.
pub(crate) fn said(
    environment: &Environment<'static>,
    template: &str,
    name: &str,
    arguments: &[Value],
) -> String {
    let template = environment.get_template(template).expect(TESTED);
    let mut captured = template.render_captured(()).expect(TESTED);
    captured.with_state_mut(|state| state.call_macro(name, arguments)).expect(TESTED)
}
