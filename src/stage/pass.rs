//! The states that passes over rows gather: each with the name and the version of its file.
//!
//! A type becomes a state here and nowhere else, so that none is gathered that the test of the laws
//! does not know. The loop itself is [`PieceLoop`](crate::exec::accumulator::PieceLoop).

use crate::augment::choose::RuleMatches;
use crate::counterfactual::conditional::ReferenceCounts;
use crate::counterfactual::moments::ReferenceMoments;
use crate::counterfactual::plausibility_fit::SectionScores;
use crate::counterfactual::quality::sums::QualitySums;
use crate::counterfactual::write_back::{RawCounts, WrittenCounts};
use crate::data::prepare::survey::SourceSurvey;
use crate::data::rows::content::ContentHash;
use crate::data::rows::profile::PreparedProfile;
use crate::exec::accumulator::StateType;
use crate::metric::bootstrap::redraw::SwitchAccumulator;
use crate::metric::evidence::counts::{CounterfactualCounts, FactualCounts};
use crate::metric::evidence::flip_test::FlipTestSample;
use crate::metric::value::classes::{FactualClassCounts, SwitchClassCounts};
use crate::metric::value::worlds::WorldCounts;

/// Gives each type its name and version as a state, and walks it through the laws.
macro_rules! states {
    ($($state:ty = $name:literal version $version:literal;)+) => {
        $(impl StateType for $state {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;
        })+

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
    FactualCounts = "factual-counts" version 1;
    CounterfactualCounts = "counterfactual-counts" version 1;
    SwitchAccumulator = "switches" version 1;
    FactualClassCounts = "factual-class-counts" version 1;
    SwitchClassCounts = "switch-class-counts" version 1;
    FlipTestSample = "flip-test-sample" version 1;
    WorldCounts = "world-counts" version 1;
    QualitySums = "quality-sums" version 1;
    SourceSurvey = "source-survey" version 1;
    ReferenceCounts = "reference-counts" version 1;
    ReferenceMoments = "reference-moments" version 1;
    SectionScores = "section-scores" version 1;
    RawCounts = "raw-counts" version 1;
    WrittenCounts = "written-counts" version 1;
    ContentHash = "content-hash" version 1;
    PreparedProfile = "prepared-profile" version 1;
    RuleMatches = "rule-matches" version 1;
}

#[cfg(test)]
mod samples;
