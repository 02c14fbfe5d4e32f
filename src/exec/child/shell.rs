//! Commands as a reader would type them.

use super::output_text::printable;

/// A command in the syntax of a shell.
pub(in crate::exec) fn shell_line(argv: &[String]) -> String {
    let word = |arg: &String| {
        let plain = !arg.is_empty()
            && arg.chars().all(|c| c.is_alphanumeric() || "_./:=,@%+-{}".contains(c));
        if plain { arg.clone() } else { format!("'{}'", arg.replace('\'', r"'\''")) }
    };
    printable(&argv.iter().map(word).collect::<Vec<_>>().join(" "))
}
