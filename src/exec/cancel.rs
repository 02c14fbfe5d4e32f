//! A flag that a signal raises and that long work checks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result, StopSignal};

/// A flag shared by all its clones.
///
/// `cli/signals.rs` raises it when SIGINT or SIGTERM arrives; stages end at their next
/// [`CancelFlag::check`].
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicU8>);

const INTERRUPT: u8 = 1;
const TERMINATE: u8 = 2;

impl CancelFlag {
    /// Tells all work to end. The first signal decides the exit status.
    pub fn raise(&self, signal: StopSignal) {
        let value = match signal {
            StopSignal::Interrupt => INTERRUPT,
            StopSignal::Terminate => TERMINATE,
        };
        // If the flag is already raised, the first signal is kept.
        let _ = self.0.compare_exchange(0, value, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Errs with [`Error::Interrupted`] after a signal. Cheap: one atomic read.
    pub fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            INTERRUPT => Err(Error::Interrupted(StopSignal::Interrupt)),
            TERMINATE => Err(Error::Interrupted(StopSignal::Terminate)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CancelFlag;
    use crate::error::{Exit, StopSignal};

    #[test]
    fn the_first_signal_decides() {
        let cancel = CancelFlag::default();
        let other = cancel.clone();
        assert!(cancel.check().is_ok());
        other.raise(StopSignal::Terminate);
        other.raise(StopSignal::Interrupt);
        assert_eq!(cancel.check().unwrap_err().exit(), Exit::Terminated);
    }
}
