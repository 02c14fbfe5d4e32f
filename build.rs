//! Embeds the fingerprint of the tree that is built, which the keys of stages hold.

use std::path::Path;

#[expect(dead_code, reason = "the library uses more of it")]
#[path = "src/exec/hash.rs"]
mod hash;
#[expect(unreachable_pub, reason = "the library offers it too")]
#[path = "src/exec/source_fingerprint.rs"]
mod source_fingerprint;

fn main() -> Result<(), String> {
    for path in source_fingerprint::OTHERS.iter().chain(&[source_fingerprint::SOURCES]) {
        println!("cargo::rerun-if-changed={path}");
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?;
    println!(
        "cargo::rustc-env=CFAUDIT_PROGRAM={}",
        source_fingerprint::fingerprint(&source_fingerprint::files(Path::new(&root))?)
    );
    Ok(())
}
