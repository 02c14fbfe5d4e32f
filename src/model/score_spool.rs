//! Scores from a program: spooled to a scratch file in the order in which its rows were sent.
//!
//! They are read back in the same order. A program answers at its own pace, and with folds several
//! programs answer one after the other, while scores are written in the order of the rows. So each
//! program's scores are kept on disk, 8 bytes each, and memory does not grow with the rows.

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::exec::files::{self, File};
use crate::num::score_scale::ScoreScale;

/// The writing side of the scratch file.
#[derive(Debug)]
pub(crate) struct ScoreSpool {
    file: BufWriter<File>,
    path: PathBuf,
}

/// The reading side of the scratch file: scores in the order in which they were written.
#[derive(Debug)]
pub(crate) struct SpooledScores {
    file: BufReader<File>,
    path: PathBuf,
}

impl ScoreSpool {
    /// Creates the scratch file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = files::create(path)?;
        Ok(ScoreSpool { file: BufWriter::with_capacity(1 << 16, file), path: path.to_path_buf() })
    }

    /// Appends scores; NaN where a row has none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn push(&mut self, scores: &[f64]) -> Result<()> {
        scores
            .iter()
            .try_for_each(|s| self.file.write_all(&s.to_le_bytes()))
            .map_err(|e| Error::io("write", &self.path, &e))
    }

    /// Ends writing and opens the file for reading.
    ///
    /// # Errors
    /// The file cannot be written or reopened.
    pub(crate) fn finish(mut self) -> Result<SpooledScores> {
        self.file.flush().map_err(|e| Error::io("write", &self.path, &e))?;
        let file = files::open(&self.path)?;
        Ok(SpooledScores { file: BufReader::with_capacity(1 << 16, file), path: self.path })
    }
}

impl SpooledScores {
    /// The next score.
    ///
    /// # Errors
    /// No score is left, or the file cannot be read.
    pub(crate) fn take(&mut self) -> Result<f64> {
        let mut bytes = [0; 8];
        self.file.read_exact(&mut bytes).map_err(|e| Error::io("read", &self.path, &e))?;
        Ok(f64::from_le_bytes(bytes))
    }
}

/// The complaint about a score from a program; `None` if the score is valid on the scale.
///
/// Unlike in a file of scores, a missing score is an error: the program was asked for it and did
/// not fail.
pub(crate) fn score_complaint(score: f64, scale: ScoreScale) -> Option<String> {
    if score.is_nan() {
        Some("gave no score (null or NaN) for a row".to_owned())
    } else if scale.contains(score) {
        None
    } else {
        Some(format!("gave the score `{score}`, which is not {}", scale.in_words()))
    }
}

#[cfg(test)]
mod tests {
    use super::{ScoreSpool, score_complaint};
    use crate::num::score_scale::{ScaleNumbers, ScoreScale};

    #[test]
    fn scores_go_out_as_they_came_in() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = ScoreSpool::create(&folder.path().join("scores")).unwrap();
        spool.push(&[0.25, f64::NAN]).unwrap();
        spool.push(&[]).unwrap();
        spool.push(&[1.0]).unwrap();
        let mut scores = spool.finish().unwrap();
        assert_eq!(scores.take().unwrap(), 0.25);
        assert!(scores.take().unwrap().is_nan());
        assert_eq!(scores.take().unwrap(), 1.0);
        assert!(scores.take().is_err());
    }

    #[test]
    fn scores_are_probabilities() {
        let complaint = |score| score_complaint(score, ScoreScale::default());
        assert_eq!([0.0, 0.5, 1.0, -0.0].map(complaint), [None, None, None, None]);
        for bad in [f64::NAN, -1e-9, 1.000_001, f64::INFINITY] {
            assert!(complaint(bad).is_some(), "{bad}");
        }
        let points =
            ScoreScale { numbers: ScaleNumbers::Range { from: 300.0, to: 850.0 }, turned: true };
        assert_eq!(score_complaint(640.0, points), None);
        let said = score_complaint(0.5, points).unwrap();
        assert!(said.ends_with("`0.5`, which is not in [300, 850]"), "{said}");
    }
}
