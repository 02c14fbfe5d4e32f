//! Flags that verbs share, and what is read from their texts.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How to log.
#[derive(Debug, Args)]
pub(crate) struct LogFlags {
    /// Print only problems, warnings and gates that are broken or inconclusive; the output of
    /// `--json` or `--resolved` is still printed.
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also log stages that were found in the cache.
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Form of the log on stderr.
    #[arg(long, env = "CFAUDIT_LOG", value_enum, default_value_t = LogForm::Text)]
    pub(crate) log: LogForm,
    /// Write the log to this file as well, as JSON lines.
    #[arg(long, value_name = "F")]
    pub(crate) log_file: Option<PathBuf>,
    /// Colours on stderr.
    #[arg(long, value_enum, default_value_t = ColorWhen::Auto)]
    pub(crate) color: ColorWhen,
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Colours on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Memory in bytes: at least 64 MiB.
pub(crate) fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < 64 << 20 {
        return Err(format!("`{text}` is too little; cfaudit needs at least 64MiB"));
    }
    Ok(bytes)
}

/// A size in bytes, such as `2GiB` or `500MB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "kib" | "k" => 1 << 10,
        "mib" | "m" => 1 << 20,
        "gib" | "g" => 1 << 30,
        _ => return Err(format!("`{unit}` is no unit of size; write MiB, GiB, MB or GB")),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is not a size; write for example 2GiB"))?;
    Ok((number * factor as f64) as u64)
}
