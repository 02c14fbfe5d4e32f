//! The fingerprint of the program: the files of its source tree, and their hash.
//!
//! `build.rs` compiles this file too and embeds the fingerprint of the tree that is built, so that
//! no version has to be raised by hand when a stage computes something else. Features, profile and
//! target folder are not part of it. It uses only `std` and `hash.rs`.

use std::path::{Path, PathBuf};

use super::hash::hash_parts;

/// The folder of the sources, below the root of the tree.
pub const SOURCES: &str = "src";

/// The other files of the fingerprint.
pub const OTHERS: [&str; 3] = ["Cargo.lock", "Cargo.toml", "python/cfaudit/_answers.py"];

/// SHA-256, in hex, of the files of a program.
///
/// For each file in the order of the paths: path with `/` between its parts, and bytes, each with
/// its length.
pub fn fingerprint(files: &[(String, Vec<u8>)]) -> String {
    let mut files: Vec<&(String, Vec<u8>)> = files.iter().collect();
    files.sort();
    hash_parts(files.into_iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes]))
}

/// Whether a path below the root belongs to the fingerprint: tests do not.
pub fn is_part(path: &str) -> bool {
    let mut parts = path.split('/');
    match parts.next() {
        Some(SOURCES) => parts.all(|part| part != "tests" && part != "tests.rs"),
        _ => OTHERS.contains(&path),
    }
}

/// The files of the fingerprint below the root, with their bytes.
///
/// # Errors
/// The path that cannot be read, and why.
pub fn files(root: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut names: Vec<String> = OTHERS.map(str::to_owned).to_vec();
    let mut folders = vec![SOURCES.to_owned()];
    while let Some(folder) = folders.pop() {
        let fail = |e: std::io::Error| format!("{folder}: {e}");
        for entry in root.join(&folder).read_dir().map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let name = format!("{folder}/{name}");
            if entry.path().is_dir() { folders.push(name) } else { names.push(name) }
        }
    }
    names.retain(|name| is_part(name));
    let read = |name: String| {
        let path: PathBuf = root.join(&name);
        let mut bytes = Vec::new();
        let file = std::fs::OpenOptions::new().read(true).open(path);
        file.and_then(|mut file| std::io::Read::read_to_end(&mut file, &mut bytes))
            .map_err(|e| format!("{name}: {e}"))?;
        Ok((name, bytes))
    };
    names.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{files, fingerprint, is_part};

    fn of(files: &[(&str, &str)]) -> String {
        let files: Vec<(String, Vec<u8>)> = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        fingerprint(&files)
    }

    #[test]
    fn every_path_and_byte_moves_the_hash_and_the_order_does_not() {
        let list = [("src/a.rs", "fn a() {}"), ("src/b.rs", "")];
        // sha256 of 8, `src/a.rs`, 9, `fn a() {}`, 8, `src/b.rs`, 0; lengths as 8 bytes,
        // little-endian.
        assert_eq!(of(&list), "755eb492a00e05eb05b27313fe216dba53f2ced54c9e701ea386b7e50dd112a4");
        assert_eq!(of(&[list[1], list[0]]), of(&list));
        let others: [&[(&str, &str)]; 4] = [
            &[("src/a.rs", "fn b() {}"), list[1]],
            &[("src/c.rs", "fn a() {}"), list[1]],
            &[list[0]],
            &[("src/a.r", "sfn a() {}"), list[1]],
        ];
        assert!(others.iter().all(|other| of(other) != of(&list)));
    }

    #[test]
    fn tests_are_no_part_of_the_program() {
        for (path, part) in [
            ("src/lib.rs", true),
            ("src/report/page.html", true),
            ("src/testsuite.rs", true),
            ("Cargo.toml", true),
            ("Cargo.lock", true),
            ("src/tests.rs", false),
            ("src/exec/tests.rs", false),
            ("src/metric/tests/oracle.rs", false),
            ("tests/it/main.rs", false),
            ("build.rs", false),
            ("docs/Cargo.toml", false),
        ] {
            assert_eq!(is_part(path), part, "{path}");
        }
        let found = files(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(found.iter().any(|(path, _)| path == "src/exec/source_fingerprint.rs"));
        assert!(found.iter().all(|(path, _)| is_part(path)));
    }
}
