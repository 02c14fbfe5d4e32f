//! Which lists of the page show a metric, and at which position: the field `shown` of a record.

/// Writes the enum of the lists.
macro_rules! page_lists {
    ($($(#[$means:meta])* $list:ident,)*) => {
        /// A list of metrics on the page, as rows or columns of a table or as whiskers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum PageList { $($(#[$means])* $list,)* }

        impl PageList {
            /// All lists.
            #[cfg(test)]
            pub(crate) const ALL: &[PageList] = &[$(PageList::$list,)*];
        }
    };
}

page_lists! {
    /// Values of two groups: rows.
    GroupRows,
    /// Values of more than two groups: columns; what is not there is the complement of these.
    GroupColumns,
    /// Named gaps of a pair, and of a group and all others.
    PairGaps,
    /// The groups that are furthest apart.
    WidestGaps,
    /// Clarify: what people get.
    ClarifyOutcomes,
    /// Clarify: metrics of what people get and what they deserve.
    ClarifyDeserts,
    /// Clarify: values next to its metrics, if they have one.
    ClarifyNotes,
    /// Clarify: values of all people together.
    ClarifyTotals,
    /// Switches of two directions: rows.
    SwitchRows,
    /// Switches of more directions: columns; the others are complements.
    SwitchColumns,
    /// Switches whose whiskers are drawn on one axis.
    SwitchWhiskers,
    /// People with any counterfactual that switches; the first orders the groups.
    AnySwitches,
    /// How far scores move.
    ScoreShifts,
    /// What a search for causal graphs found.
    GraphsFound,
    /// Rates by scenario of causal graphs.
    GraphRates,
    /// One class against all others, of a direction.
    ClassSwitches,
    /// One class against all others, of a group.
    ClassGroups,
    /// Inside slices.
    Slices,
    /// The metrics that arms of an experiment are to improve.
    ArmPerformance,
    /// Gaps of a pair by arm.
    ArmGaps,
    /// Switches by arm; the first is also shown of all directions together.
    ArmSwitches,
    /// The same where there are many directions.
    ArmSwitchesOfMany,
    /// How far scores move by arm; the first is also shown of all directions together.
    ArmShifts,
    /// How the folds of an arm differ.
    ArmFolds,
    /// Drawn for each direction where two runs are compared.
    ComparedRates,
    /// Amounts of a group.
    AmountGroups,
    /// Gaps of the amounts of two groups.
    AmountGaps,
    /// How amounts would change in a direction.
    AmountChanges,
}

/// A place on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePlace {
    /// In a list, at this place of it, from 1 on.
    At(PageList, u8),
    /// A gap of two groups in a separate column, in the row of [`PageList::GroupRows`] of the
    /// metric that it is a gap of.
    BesideBase,
    /// A distance to all in a separate column, in the row of [`PageList::WidestGaps`] of the
    /// difference of the same metric.
    BesideWidest,
    /// In no list: tables hold it, and the page names it where a gate or a comparison does.
    TablesOnly,
}
