//! Words from templates: what all environments of templates have in common, and the text of one
//! macro of a template; texts by key; and columns of plain text.

use indexmap::IndexMap;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{Environment, UndefinedBehavior};
use serde::Serialize;

use crate::control_characters::on_one_line;

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

/// Texts of a file by the id of their block and a key, in their order. `[id id]` opens a block, whose
/// lines are `key: text`, or `key, key: text`; the first may follow the ids. Further lines of a text
/// begin with two blanks. Lines that begin with `#` are comments.
pub(crate) struct TextBlocks(IndexMap<(&'static str, &'static str), &'static str>);

impl TextBlocks {
    /// Reads a file of the program.
    pub(crate) fn read(file: &'static str) -> Self {
        let (mut texts, mut ids) = (IndexMap::<_, String>::new(), Vec::<&str>::new());
        // The number of texts that a further line belongs to.
        let mut n = 0;
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(further) = line.strip_prefix("  ") {
                texts.values_mut().rev().take(n).for_each(|text| *text += &format!("\n{further}"));
                continue;
            }
            let block = line.strip_prefix('[').and_then(|line| line.split_once(']'));
            if let Some((block, _)) = block {
                ids = block.split(' ').collect();
            }
            let rest = block.map_or(line, |of| of.1.trim());
            assert!(rest.is_empty() || rest.contains(": "), "`{line}` is no text: {TESTED}");
            if let Some((keys, text)) = rest.split_once(':') {
                n = texts.len();
                for (id, key) in
                    ids.iter().flat_map(|id| keys.split(", ").map(move |key| (id, key)))
                {
                    let twice = texts.insert((*id, key), text.trim().to_owned());
                    assert!(twice.is_none(), "{id}, {key}: {TESTED}");
                }
                n = texts.len() - n;
            }
        }
        // A file is read once, and its texts live as long as the program.
        TextBlocks(texts.into_iter().map(|(key, text)| (key, &*text.leak())).collect())
    }

    /// A text; empty where the block has none.
    pub(crate) fn get(&self, id: &str, key: &str) -> &'static str {
        self.0.get(&(id, key)).copied().unwrap_or_default()
    }

    /// The keys of a block with their texts.
    pub(crate) fn of(&self, id: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
        let texts = self.0.iter().filter(move |((of, _), _)| *of == id);
        texts.map(|((_, key), text)| (*key, *text))
    }

    /// The keys that occur.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> std::collections::BTreeSet<&'static str> {
        self.0.keys().map(|(_, key)| *key).collect()
    }

    /// The ids of the blocks, each as often as it has texts.
    #[cfg(test)]
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().map(|(id, _)| *id)
    }
}

/// A fact as templates read it.
pub(crate) fn fact<F: Serialize + ?Sized>(value: &F) -> Value {
    Value::from(Serde(value))
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

/// A text whose facts are filled in.
pub(crate) fn filled(template: &str, facts: &impl Serialize) -> String {
    environment().render_str(template, fact(facts)).expect(TESTED)
}

/// The digits of a number without needless zeros behind its point, and without the sign of nothing.
pub(crate) fn without_zeros(digits: &str) -> &str {
    let is_decimal = digits.contains('.');
    let short =
        if is_decimal { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    if short == "-0" { "0" } else { short }
}

/// Lines of cells as text, in columns two blanks apart that are as wide as their widest cell, and
/// end there if `right` names them; columns that are empty in every line are left out. Each line
/// begins with `indent`. Cells hold words of data: nothing in them moves the cursor.
pub(crate) fn aligned(indent: &str, lines: &[Vec<String>], right: &[usize]) -> String {
    let cells = |line: &Vec<String>| line.iter().map(|cell| on_one_line(cell)).collect();
    let lines: Vec<Vec<String>> = lines.iter().map(cells).collect();
    let width = |line: &Vec<String>, c: usize| line.get(c).map_or(0, |cell| cell.chars().count());
    let n = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> =
        (0..n).map(|c| lines.iter().map(|line| width(line, c)).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().filter(|(_, (_, width))| **width > 0);
        let cells = cells.map(|(c, (cell, &width))| match right.contains(&c) {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        });
        text += (indent.to_owned() + &cells.collect::<Vec<_>>().join("  ")).trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_empty_ones_are_left_out() {
        let lines =
            [["a", "", "1"], ["bcd", "", "20"]].map(|line| line.map(str::to_owned).to_vec());
        assert_eq!(aligned("  ", &lines, &[]), "  a    1\n  bcd  20\n");
        assert_eq!(aligned("", &lines, &[2]), "a     1\nbcd  20\n");
        assert_eq!(aligned("  ", &[], &[]), "");
        let hostile = [vec!["a\nb".to_owned(), "\u{1b}[2J".to_owned()]];
        assert_eq!(aligned("", &hostile, &[]), "a\u{240a}b  \u{241b}[2J\n");
    }
}
