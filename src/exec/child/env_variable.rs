//! A variable of the environment of a program, and whether its value is a secret.

use std::ffi::OsString;

/// A variable of the environment of a program.
#[derive(Clone)]
pub(crate) struct EnvVariable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: OsString,
    /// Whether the value must appear in no message.
    pub secret: bool,
}

impl std::fmt::Debug for EnvVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvVariable")
            .field("name", &self.name)
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}
