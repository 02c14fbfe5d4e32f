//! The same people by those of their counterfactuals alone that the reference rows bear out.

use serde::{Deserialize, Serialize};

use crate::num::additive::Additive;

/// What supported counterfactuals alone give; nothing of its own while all of them are, because
/// then it is what all give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct SupportedOnly<S>(Option<Box<S>>);

impl<S> Default for SupportedOnly<S> {
    fn default() -> Self {
        SupportedOnly(None)
    }
}

impl<S> SupportedOnly<S> {
    /// Whether all are supported.
    pub(crate) fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Theirs; none where all are supported.
    pub(crate) fn get(&self) -> Option<&S> {
        self.0.as_deref()
    }

    /// Theirs, to add somebody: `so_far` gives what all gave before. None where all are supported,
    /// also of the person who is added.
    pub(crate) fn part(&mut self, supported: bool, so_far: impl FnOnce() -> S) -> Option<&mut S> {
        if supported && self.0.is_none() {
            return None;
        }
        Some(self.0.get_or_insert_with(|| Box::new(so_far())))
    }
}

impl<S: Additive> SupportedOnly<S> {
    /// Adds those of other people; what all gave on either side represents theirs where all are
    /// supported.
    pub(crate) fn absorb(
        &mut self,
        other: &Self,
        so_far: impl FnOnce() -> S,
        theirs: impl FnOnce() -> S,
    ) {
        if self.0.is_none() && other.0.is_none() {
            return;
        }
        let mine = self.0.get_or_insert_with(|| Box::new(so_far()));
        match &other.0 {
            Some(theirs) => mine.absorb(theirs),
            None => mine.absorb(&theirs()),
        }
    }
}
