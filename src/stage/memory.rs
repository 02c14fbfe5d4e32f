//! How much memory a run may take: what `--memory` says, else half of what the machine or its
//! control group has.

use std::path::Path;

use crate::exec::files;
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

/// Where the system says nothing there is no limit.
fn text(path: &Path) -> Option<String> {
    files::read_text(path).ok()
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
