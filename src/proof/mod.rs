//! The verbs `verify` and `pack`: whether an output folder is still what its run wrote, and one
//! archive to pass it on.
//!
//! Both read only the folder, never data, models or caches. A folder proves two things: its files
//! are those that `manifest.json` lists, and its verdicts follow from its tables. Nothing in a
//! folder can vouch for the manifest itself. That is done by the *fingerprint*, the SHA-256 of
//! `manifest.json`, which people note at sign-off and compare later.

mod guide;
pub(crate) mod pack;
mod statement;
pub(crate) mod verify;
