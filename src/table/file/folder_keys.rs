//! The `key=value` folders that files of rows and of scores lie in, and a column of such a file
//! that says something else.

use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use percent_encoding::percent_decode_str;

use crate::error::{Fault, Result};

/// How Hive and Spark write a missing key value.
pub(crate) const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The `key=value` folders of a path, outermost first.
pub(crate) fn hive_keys(path: &Path) -> Vec<(String, String)> {
    let folders = path.parent().into_iter().flat_map(Path::components);
    folders
        .filter_map(|c| {
            c.as_os_str()
                .to_str()?
                .split_once('=')
                .map(|(k, v)| (percent_decoded(k), percent_decoded(v)))
        })
        .collect()
}

/// Decodes `%3A`: Hive writes characters that a file system may refuse this way.
///
/// Text that is not such a code is kept.
fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap_or(text.into()).into_owned()
}

/// Fails where a column of a batch has another value than the folder of that name, in which the
/// file lies. Dates and times, which have many spellings, are not
/// compared.
///
/// # Errors
/// Names the column and both values.
pub(super) fn check_folders(path: &Path, batch: &RecordBatch) -> Result<()> {
    for (key, stated) in hive_keys(path) {
        let Some(column) = batch.column_by_name(&key) else { continue };
        let Ok(texts) = cast(column, &DataType::Utf8) else { continue };
        // A name in decomposed letters spells a value otherwise than the column.
        let is_decomposed = stated.contains(|c| matches!(c, '\u{300}'..='\u{36f}'));
        if column.data_type().is_temporal() || is_decomposed {
            continue;
        }
        let is_flag = *column.data_type() == DataType::Boolean;
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let digit = |flag: &str| if flag == "true" { "1" } else { "0" };
        let agrees = |text: Option<&str>| match text {
            // Hive writes empty texts and missing values alike.
            None | Some("") => stated == HIVE_NULL,
            Some(text) => {
                text.trim() == stated.trim()
                    || number(text).is_some_and(|number_of| number(&stated) == Some(number_of))
                    || is_flag && (text.eq_ignore_ascii_case(&stated) || digit(text) == stated)
            }
        };
        if let Some(text) = texts.as_string::<i32>().iter().find(|text| !agrees(*text)) {
            let held = text.map_or_else(|| "no value".to_owned(), |text| format!("`{text}`"));
            let what = format!("column `{key}` holds {held} in the folder `{key}={stated}`");
            let hint = "move the rows into the folder of their value, or write the files without \
                        the column";
            return Fault::new("other-folder", what).in_file(path).in_column(&key).fail(hint);
        }
    }
    Ok(())
}
