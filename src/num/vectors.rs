//! Loops that the compiler turns into the widest vector instructions of the processor, chosen at
//! run time. Results do not depend on them, to the bit: the compiler never fuses a product and a
//! sum.

use pulp::{Arch, Simd, WithSimd};

/// A computation whose `run` is inlined, so that it is compiled for the vectors of each processor.
pub(crate) trait VectorJob {
    /// Computes it; to be `#[inline(always)]`.
    fn run<S: Simd>(self, simd: S);
}

struct WithVectors<J>(J);

impl<J: VectorJob> WithSimd for WithVectors<J> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.0.run(simd);
    }
}

/// Runs a job with the vectors of a processor.
pub(crate) fn run_with_vectors(arch: Arch, job: impl VectorJob) {
    arch.dispatch(WithVectors(job));
}
