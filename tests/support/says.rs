//! What a text says, for the unit tests (`src/tests.rs`) and the integration tests
//! (`tests/it/work.rs`).

/// What a text says.
pub(crate) trait Says {
    fn says(&self, words: &[&str]);
    fn lacks(&self, words: &[&str]);
}

impl Says for str {
    #[track_caller]
    fn says(&self, words: &[&str]) {
        words.iter().for_each(|words| assert!(self.contains(words), "no `{words}` in\n{self}"));
    }

    #[track_caller]
    fn lacks(&self, words: &[&str]) {
        words.iter().for_each(|words| assert!(!self.contains(words), "`{words}` is in\n{self}"));
    }
}
