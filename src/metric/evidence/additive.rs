//! Sums of [`Additive`](crate::num::additive::Additive) evidence that are states of a pass, or of people whose counterfactuals the
//! reference rows support.

/// A struct is the sum of its named fields; the others say what is summed. `accumulated` are those
/// that are states of a pass.
macro_rules! additive {
    ($type:ty { $($field:ident),+ }) => {
        crate::num::additive::additive!($type { $($field),+ });
    };
    (accumulated $type:ty { $($field:ident),+ }) => {
        additive!($type { $($field),+ });
        additive!(accumulated $type);
    };
    // With a field `supported`, see [`SupportedOnly`](crate::metric::evidence::supported).
    (supported $type:ty { $($field:ident),+ } or $so_far:ident) => {
        impl crate::num::additive::Additive for $type {
            fn absorb(&mut self, other: &Self) {
                let mut supported = std::mem::take(&mut self.supported);
                supported.absorb(&other.supported, || self.$so_far(), || other.$so_far());
                self.supported = supported;
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
}

pub(crate) use additive;
