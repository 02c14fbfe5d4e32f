//! Why a value has no interval: all reasons. `interval.txt` has the words of the column
//! `ci_method`.

use crate::metric::interval::{ValueInterval, why_none};

macro_rules! reasons {
    ($($variant:ident $word:literal;)*) => {
        /// Why a value has no interval.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum MissingInterval {
            $(#[doc = $word] $variant,)*
        }

        impl MissingInterval {
            /// Its block of texts.
            pub(super) fn word(self) -> &'static str {
                match self { $(MissingInterval::$variant => $word,)* }
            }

            /// The code of `ci_method`, and why, in words.
            pub(crate) fn words(self) -> &'static str {
                why_none(self.word())
            }

            /// All reasons.
            #[cfg(test)]
            pub(super) const ALL: &[MissingInterval] = &[$(MissingInterval::$variant,)*];
        }
    };
}

reasons! {
    OnePerson "one_person";
    FewForQuantile "few_for_quantile";
    EqualAmounts "equal_amounts";
    FewInGroupForQuantile "few_in_group_for_quantile";
    GapWithoutInterval "gap_without_interval";
    EqualChanges "equal_changes";
    UnpairedCells "unpaired_cells";
    AucAtBoundary "auc_at_boundary";
    OnePersonOfClass "one_person_of_class";
    EqualValues "equal_values";
    FewPersonsOfSlope "few_persons_of_slope";
    TestedByEcceP "tested_by_ecce_p";
    OfPValue "of_p_value";
    DifferentDenominators "different_denominators";
    SumsOfGraphs "sums_of_graphs";
    OnePersonInGroup "one_person_in_group";
    EqualInBothGroups "equal_in_both_groups";
    FewInMargin "few_in_margin";
    ZeroCount "zero_count";
    PartNotAboveZero "part_not_above_zero";
    NoSpread "no_spread";
    OperandMissing "operand_missing";
    Histograms "histograms";
    OneUnit "one_unit";
    EqualMoves "equal_moves";
    DistanceOfZero "distance_of_zero";
    NotKept "not_kept";
    NotRequested "not_requested";
    UndefinedValue "undefined_value";
    InfiniteEnd "infinite_end";
    ThesePeople "these_people";
    OfGraphs "of_graphs";
}

/// The interval of a value, or why it has none.
pub(crate) type IntervalOrReason = Result<ValueInterval, MissingInterval>;

#[cfg(test)]
mod tests {
    use super::MissingInterval;

    /// What stands before the colon is what the program reads.
    #[test]
    fn every_reason_has_words_that_begin_with_a_code() {
        for why in MissingInterval::ALL {
            let code = why.words().split(':').next().unwrap_or_default();
            assert!(["boundary", "none", "biased", "few_units"].contains(&code), "{why:?}: {code}");
        }
    }
}
