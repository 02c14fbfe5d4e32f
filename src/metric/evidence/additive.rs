//! Sums of [`Additive`](crate::num::additive::Additive) evidence: the states of a pass, and the
//! sums over the people whose counterfactuals are supported by the reference rows.

/// Makes a struct additive: the named fields are summed, the others describe what is summed.
/// `accumulated` marks a state of a pass, `settled` one that buffers values until it settles.
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
    // The field `supported` holds the sums over only the supported counterfactuals. It is none
    // while all are supported: then the sums are the same as those over all, which `so_far`
    // returns.
    (supported $type:ty { $($field:ident),+ } or $so_far:ident) => {
        impl $type {
            /// The sums over only the supported counterfactuals; none if all are supported.
            pub(crate) fn supported(&self) -> Option<&$type> {
                self.supported.as_deref()
            }

            /// As [`Self::supported`], for adding a person; call it before the person is added to
            /// the sums over all. None if all counterfactuals are supported, including those of
            /// this person.
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
