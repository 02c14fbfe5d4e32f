//! Checks the footer of a Parquet file: the reader trusts its offsets and lengths, and ends the
//! process if one is negative.

use parquet::file::metadata::ParquetMetaData;

/// What contradicts itself in a footer, or does not fit a file of `len` bytes; nothing in a sound
/// one.
pub(crate) fn contradiction(meta: &ParquetMetaData, len: u64) -> Option<String> {
    let mut rows = 0_i64;
    for (g, group) in meta.row_groups().iter().enumerate() {
        let Some(sum) =
            Some(group.num_rows()).filter(|&n| n >= 0).and_then(|n| rows.checked_add(n))
        else {
            return Some(format!("row group {g} claims to have {} rows", group.num_rows()));
        };
        rows = sum;
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let numbers =
                [start, column.data_page_offset(), column.compressed_size(), column.num_values()];
            let end = u64::try_from(start)
                .ok()
                .zip(u64::try_from(column.compressed_size()).ok())
                .and_then(|(from, n)| from.checked_add(n));
            if numbers.iter().any(|&n| n < 0) || end.is_none_or(|end| end > len) {
                return Some(format!(
                    "the column `{}` of row group {g} lies outside the file",
                    column.column_path().string()
                ));
            }
        }
    }
    let claimed = meta.file_metadata().num_rows();
    (claimed != rows)
        .then(|| format!("its footer claims {claimed} rows, and its row groups have {rows}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

    use super::contradiction;
    use crate::tests::Says;

    /// The footer of a file of three rows, and its length.
    fn footer() -> (ParquetMetaData, u64) {
        let column = Arc::new(Int64Array::from(vec![1, 2, 3])) as _;
        let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        let meta = writer.close().unwrap();
        (meta, file.len() as u64)
    }

    /// The footer with its row group or column changed.
    fn spoilt(change: impl FnOnce(RowGroupMetaData) -> RowGroupMetaData) -> Option<String> {
        let (meta, len) = footer();
        let group = change(meta.row_group(0).clone());
        contradiction(&ParquetMetaData::new(meta.file_metadata().clone(), vec![group]), len)
    }

    #[test]
    fn a_sound_footer_contradicts_nothing() {
        let (meta, len) = footer();
        assert_eq!(contradiction(&meta, len), None);
        contradiction(&meta, 20).unwrap().says(&["`x` of row group 0 lies outside"]);
    }

    #[test]
    fn negative_and_foreign_numbers_are_named() {
        let with_rows = |n| spoilt(|group| group.into_builder().set_num_rows(n).build().unwrap());
        assert_eq!(with_rows(3), None);
        with_rows(-1).unwrap().says(&["claims to have -1 rows"]);
        with_rows(4).unwrap().says(&["claims 3 rows, and its row groups have 4"]);
        for (offset, size) in [(-1, 10), (4, -10), (4, i64::MAX), (i64::MAX, i64::MAX)] {
            let change = |group: RowGroupMetaData| {
                let column = group
                    .column(0)
                    .clone()
                    .into_builder()
                    .set_dictionary_page_offset(None)
                    .set_data_page_offset(offset);
                let column = column.set_total_compressed_size(size).build().unwrap();
                group.into_builder().set_column_metadata(vec![column]).build().unwrap()
            };
            assert!(spoilt(change).unwrap().contains("lies outside"), "{offset} {size}");
        }
    }
}
