//! What signals do to the program: SIGINT and SIGTERM end a run in an orderly way, and a process
//! that cannot allocate memory ends with the status of an operator's fault.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::{Error, Exit, Result, StopSignal};
use crate::exec::cancel::CancelFlag;

/// Gives a process that cannot allocate memory the status of a fault that the operator must fix.
/// The standard library writes how many bytes it could not allocate, and aborts; so do the
/// libraries in other languages. `without_bug` is false after a panic, whose abort keeps its own
/// status.
pub(super) fn end_on_failed_allocation(without_bug: Arc<AtomicBool>) -> Result<()> {
    use signal_hook::consts::SIGABRT;
    let status = i32::from(Exit::Operator.code());
    signal_hook::flag::register_conditional_shutdown(SIGABRT, status, without_bug)
        .map(|_| ())
        .map_err(|cause| Error::io("listen to", Path::new("signals"), &cause))
}

/// Raises the flag on SIGINT and SIGTERM; a second signal ends the process at once.
pub(super) fn raise_on_signals(cancel: &CancelFlag) -> Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let fail = |e: io::Error| Error::io("listen to", Path::new("signals"), &e);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]).map_err(fail)?;
    let cancel = cancel.clone();
    let listen = move || {
        for (i, signal) in signals.forever().enumerate() {
            cancel.raise(if signal == SIGINT {
                StopSignal::Interrupt
            } else {
                StopSignal::Terminate
            });
            if i > 0 {
                // The user insists; the cache and the output folder are not damaged by it.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(fail).map(|_| ())
}
