//! How much memory a run may take: what `--memory` says, else half of what the machine or its
//! control group has; and a check, before it is taken, of what training and tables would take.

use std::path::Path;

use crate::data::Layout;
use crate::error::{Fault, Result};
use crate::exec::files;
use crate::model::kind::trained::ModelTrainer;
use crate::stage::settings::RunSettings;

/// Bytes that large tables may take; without a limit in sight there is none.
pub(crate) fn allowed(settings: &RunSettings) -> u64 {
    settings.memory.unwrap_or_else(|| available(Path::new("/")).map_or(u64::MAX, |bytes| bytes / 2))
}

/// The memory of the machine, or the smaller limit of the control group of this process or of one
/// above it; none where the system does not say. `root` is `/`.
fn available(root: &Path) -> Option<u64> {
    let machine = text(&root.join("proc/meminfo")).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let own = text(&root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = own.lines().flat_map(|line| {
        // `0::/path` is the second version, `4:memory:/path` the first.
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) =
            (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|c| c == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        // A group without a limit says `max`.
        groups
            .filter_map(|group| text(&root.join(mount).join(group).join(file))?.trim().parse().ok())
            .collect()
    });
    limits.chain(machine).min()
}

/// The text of a file of the system; if there is none, memory has no limit.
fn text(path: &Path) -> Option<String> {
    files::read_text(path).ok()
}

/// Refuses a model whose training would take more than `allowed` bytes, before it takes any.
///
/// # Errors
/// It would; says which column has most of the encoded columns.
pub(crate) fn check_memory(
    trainer: &ModelTrainer,
    layout: &Layout,
    n_training: u64,
    threads: usize,
    allowed: u64,
) -> Result<()> {
    let needed = trainer.bytes(n_training, threads);
    if needed <= allowed {
        return Ok(());
    }
    let columns = trainer.columns();
    let all: u64 = columns.iter().sum();
    let largest = columns.iter().zip(&layout.features).max_by_key(|(n, _)| **n);
    let (n, name) = largest.map_or((0, ""), |(n, feature)| (*n, feature.name.as_str()));
    let what = format!(
        "training needs about {} of memory for {all} encoded columns, {n} of them levels of \
         `{name}`; the run may use {}",
        memory_in_words(needed),
        memory_in_words(allowed)
    );
    let hint = format!(
        "merge levels of `{name}` by `data.derive` (`map`), list it under `omit` of the \
         model, or allow more with `--memory`"
    );
    Fault::new("too-large-model", what).in_column(name).fail(hint)
}

/// Fails with this code where more is needed than a run may take; `what` puts both in words.
///
/// # Errors
/// It is.
pub(crate) fn refuse_memory(
    (needed, allowed): (u64, u64),
    code: &'static str,
    what: impl FnOnce(String, String) -> String,
    hint: &str,
) -> Result<()> {
    if needed <= allowed {
        return Ok(());
    }
    let what = what(memory_in_words(needed), memory_in_words(allowed));
    Fault::new(code, what).fail(hint)
}

/// Megabytes, from a thousand of them on gigabytes.
pub(crate) fn memory_in_words(bytes: u64) -> String {
    if bytes < 1_000_000_000 {
        format!("{} MB", bytes / 1_000_000)
    } else {
        format!("{:.1} GB", bytes as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::available;

    #[test]
    fn the_smallest_limit_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |below: &str, text: &str| {
            let path = root.path().join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(available(root.path()), None);
        write("proc/meminfo", "MemFree: 5 kB\nMemTotal:        8000 kB\n");
        assert_eq!(available(root.path()), Some(8_192_000));
        write("proc/self/cgroup", "0::/pods/one\n");
        write("sys/fs/cgroup/pods/one/memory.max", "max\n");
        assert_eq!(available(root.path()), Some(8_192_000));
        write("sys/fs/cgroup/pods/memory.max", "4096000\n");
        assert_eq!(available(root.path()), Some(4_096_000));
        write("proc/self/cgroup", "11:cpu,cpuacct:/x\n4:memory:/box\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(available(root.path()), Some(8_192_000));
        write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2048000\n");
        assert_eq!(available(root.path()), Some(2_048_000));
    }
}
