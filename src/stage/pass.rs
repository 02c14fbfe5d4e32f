//! The states that passes over rows gather: each with the name and the version of its file.
//!
//! A type becomes a state here and nowhere else, so that none is gathered that the test of the laws
//! does not know. The loop itself is [`PieceLoop`](crate::exec::accumulator::PieceLoop).

use crate::counterfactual::conditional::ReferenceCounts;
use crate::counterfactual::moments::ReferenceMoments;
use crate::counterfactual::plausibility_fit::SectionScores;
use crate::counterfactual::quality::sums::QualitySums;
use crate::counterfactual::support::SupportCounts;
use crate::counterfactual::write_back::{RawCounts, WrittenCounts};
use crate::data::prepare::survey::SourceSurvey;
use crate::data::prepare::survey::SurveyedRows;
use crate::data::rows::content::ContentHash;
use crate::data::rows::profile::PreparedProfile;
use crate::exec::accumulator::{Accumulator, StateType};
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::FlipTestSample;
use crate::metric::evidence::paired_counts::PairedCounts;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::value::classes::{FactualClassCounts, SwitchClassCounts};
use crate::metric::value::worlds::WorldCounts;
use crate::stage::count::switches::SwitchPart;
use crate::stage::generate::rows::GenerationSums;
use crate::stage::input::digest::FileHashes;
use crate::stage::population::KeptPopulation;
use crate::stage::score::join::JoinedScores;
use crate::stage::score::levels::UnknownValues;
use crate::stage::score::recheck::SecondAnswers;

/// States of one type that are read from files and merged.
pub(crate) trait OpenState {
    /// Adds a state, as JSON.
    ///
    /// # Errors
    /// The text is no such state.
    fn add(&mut self, text: &str) -> serde_json::Result<()>;

    /// The sum of all, as JSON.
    ///
    /// # Errors
    /// Nothing was added.
    fn finish(self: Box<Self>) -> serde_json::Result<String>;
}

/// The sum of the states that were added.
struct MergingState<S>(Option<S>);

impl<S: Accumulator> OpenState for MergingState<S> {
    fn add(&mut self, text: &str) -> serde_json::Result<()> {
        let part: S = serde_json::from_str(text)?;
        match &mut self.0 {
            Some(whole) => whole.merge(part),
            none => *none = Some(part),
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> serde_json::Result<String> {
        self.0.iter_mut().for_each(Accumulator::settle);
        serde_json::to_string(&self.0)
    }
}

/// Gives each type its name and version as a state, and walks it through the laws.
macro_rules! states {
    ($($state:ty = $name:literal version $version:literal;)+) => {
        $(impl StateType for $state {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;
        })+

        /// Makes ready to merge states of the type with this name; none of an unknown name.
        pub(crate) fn open_state(name: &str) -> Option<Box<dyn OpenState>> {
            match name {
                $($name => Some(Box::new(MergingState::<$state>(None))),)+
                _ => None,
            }
        }

        #[cfg(test)]
        #[test]
        fn every_state_is_merged_by_its_name() {
            $({
                let texts = crate::exec::tests::state_laws::two_parts_and_whole::<$state>();
                let mut open = open_state($name).unwrap();
                texts[..2].iter().for_each(|text| open.add(text).unwrap());
                assert_eq!(open.finish().unwrap(), texts[2], "{}", $name);
            })+
            assert!(open_state("poem").is_none());
        }

        #[cfg(test)]
        #[test]
        fn every_state_keeps_the_laws() {
            $(crate::exec::tests::state_laws::keeps_the_laws::<$state>();)+
        }

        #[cfg(test)]
        #[test]
        fn every_state_has_a_name_of_its_own() {
            let names = [$($name),+];
            let unique: std::collections::BTreeSet<&str> = names.into_iter().collect();
            assert_eq!(unique.len(), names.len(), "{names:?}");
        }
    };
}

states! {
    FactualCounts = "factual-counts" version 7;
    KeptPopulation = "kept-population" version 1;
    CounterfactualCounts = "counterfactual-counts" version 6;
    ShiftPass = "shift-pass" version 3;
    FactualClassCounts = "factual-class-counts" version 9;
    SwitchClassCounts = "switch-class-counts" version 4;
    SwitchPart = "switch-part" version 4;
    PairedCounts = "paired-counts" version 1;
    FlipTestSample = "flip-test-sample" version 1;
    WorldCounts = "world-counts" version 6;
    QualitySums = "quality-sums" version 2;
    SourceSurvey = "source-survey" version 2;
    SurveyedRows = "surveyed-rows" version 2;
    GenerationSums = "generation-sums" version 1;
    JoinedScores = "joined-scores" version 1;
    SecondAnswers = "second-answers" version 1;
    UnknownValues = "unknown-values" version 1;
    ReferenceCounts = "reference-counts" version 1;
    ReferenceMoments = "reference-moments" version 1;
    SupportCounts = "support-counts" version 3;
    SectionScores = "section-scores" version 1;
    RawCounts = "raw-counts" version 2;
    WrittenCounts = "written-counts" version 1;
    ContentHash = "content-hash" version 1;
    PreparedProfile = "prepared-profile" version 3;
    FileHashes = "file-hashes" version 1;
}

#[cfg(test)]
mod samples;
