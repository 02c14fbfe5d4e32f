//! Decodes bytes from outside: a panic of the library is caught and reported as an error.

use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static DECODING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this thread decodes a file from outside: a panic there is caught, reported as an error,
/// and not printed.
pub(crate) fn is_decoding() -> bool {
    DECODING.get()
}

/// What the library decodes from external bytes; none where it panics.
pub(crate) fn decoded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    DECODING.set(true);
    let read = panic::catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    read.ok()
}
