//! Sums of [`Additive`](crate::num::additive::Additive) evidence that are states of a pass, or of
//! the people whose counterfactuals are supported by the reference rows.

/// A struct is the sum of its named fields; the others say what is summed. `accumulated` are those
/// that are states of a pass, `settled` those of which some wait until it settles.
macro_rules! additive {
    ($type:ty { $($field:ident),+ }) => {
        crate::num::additive::additive!($type { $($field),+ });
    };
    (accumulated $type:ty { $($field:ident),+ }) => {
        additive!($type { $($field),+ });
        additive!(accumulated $type);
    };
    (settled $type:ty { $($field:ident),+ }) => {
        additive!($type { $($field),+ });
        additive!(settled $type);
    };
    // The field `supported` holds what only the supported counterfactuals give: none while all of
    // them are supported, because then it is what all give, which is `so_far`.
    (supported $type:ty { $($field:ident),+ } or $so_far:ident) => {
        impl $type {
            /// The sums of these people by only their supported counterfactuals; none where all are
            /// supported.
            pub(crate) fn supported(&self) -> Option<&$type> {
                self.supported.as_deref()
            }

            /// As [`Self::supported`], to add a person, before the person is added to all; none
            /// where all are supported, including this person.
            fn supported_part(&mut self, all_supported: bool) -> Option<&mut $type> {
                if self.supported.is_none() && !all_supported {
                    self.supported = Some(Box::new(self.$so_far()));
                }
                self.supported.as_deref_mut()
            }
        }

        impl crate::num::additive::Additive for $type {
            fn absorb(&mut self, other: &Self) {
                if let Some(part) = self.supported_part(other.supported.is_none()) {
                    match other.supported() {
                        Some(theirs) => part.absorb(theirs),
                        None => part.absorb(&other.$so_far()),
                    }
                }
                $(self.$field.absorb(&other.$field);)+
            }
        }
    };
    (accumulated $type:ty) => {
        impl crate::exec::accumulator::Accumulator for $type {
            fn merge(&mut self, other: Self) {
                self.absorb(&other);
            }
        }
    };
    (settled $type:ty) => {
        impl crate::exec::accumulator::Accumulator for $type {
            fn merge(&mut self, other: Self) {
                self.absorb(&other);
            }

            fn settle(&mut self) {
                <$type>::settle(self);
            }
        }
    };
}

pub(crate) use additive;
