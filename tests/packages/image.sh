#!/usr/bin/env bash
# Builds the image of Containerfile with buildah, without a daemon and without a registry: mmdebstrap makes its Debian root. Then runs
# audits in it as the user of the image: the same bytes as the wheel gives outside, and no file that this user could write but its volumes.
# IMAGE_JOBS narrows the jobs; those on public data run where CFAUDIT_DATA, or data/ of this tree, has their rows.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
out=$TARGET/packages
data=${CFAUDIT_DATA:-$tree/data}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Works in a container too: no mounts of layers, and processes share the network of this machine.
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
engine() { buildah --root "$work/store" --runroot "$work/run" "$@"; }

base=$(sed -n 's/^FROM //p' "$tree/Containerfile")
release=$(echo "$base" | sed 's/.*:\([0-9]*\)-slim/\1/')
case $release in 13) suite=trixie ;; *) echo "no suite is known for $base" && exit 2 ;; esac
# Certificates that this machine trusts, so that pip reaches an index behind a proxy.
mmdebstrap --quiet --variant=minbase \
    --customize-hook='mkdir -p "$1/usr/local/share" && cp -r /usr/local/share/ca-certificates "$1/usr/local/share/"' \
    "$suite" "$work/root.tar" "$mirror"
root=$(engine from scratch)
engine add --quiet "$root" "$work/root.tar" / >/dev/null
engine commit --quiet "$root" "$base" >/dev/null
engine rm "$root" >/dev/null
engine bud --quiet --pull-never --file "$tree/Containerfile" --tag cfaudit "$tree" >/dev/null
echo "image: $(engine images --format '{{.Size}}' cfaudit), its Debian root $(engine images --format '{{.Size}}' "$base")"
box=$(engine from --pull-never cfaudit)
mkdir -m 777 "$work/results"
# Results and data have folders of their own, because buildah puts an empty volume where the image declares one.
inside() {
    engine run --volume "$tree/jobs:/audit/jobs:ro" --volume "$data:/rows:ro" --env CFAUDIT_DATA=/rows \
        --volume "$work/results:/results" "$box" -- "$@"
}

test "$(inside id -u)" = 10001
mounted=' -path /proc -prune -o -path /sys -prune -o -path /dev -prune -o -path /audit -prune -o -path /cache -prune -o -path /results -prune'
writable=$(inside find / $mounted -o -writable ! -type l -print | grep -vE '^/(tmp|var/tmp|run/lock)$' || true)
if [ -n "$writable" ]; then echo "the user of the image may write: $writable" && exit 1; fi
inside cfaudit --version

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-index "$out"/*.whl
for job in ${IMAGE_JOBS:-demo compas-graph adult compas-graph-rows}; do
    folder=${job%%-*}
    if [ "$job" != demo ] && [ ! -d "$data/$folder" ]; then continue; fi
    inside cfaudit run "jobs/$job.yaml" --quiet --gates report --out "/results/$job"
    found=$(sha256sum "$work/results/$job/manifest.json" | cut -d ' ' -f 1)
    if [ "$job" = compas-graph-rows ]; then # needs pyarrow and the ONNX runtime, which the image has
        echo "$job: $found in the image" && continue
    fi
    (cd "$tree" && CFAUDIT_DATA=$data "$work/venv/bin/cfaudit" run "jobs/$job.yaml" --quiet --gates report \
        --cache "$work/cache" --out "$work/$job")
    expected=$(sha256sum "$work/$job/manifest.json" | cut -d ' ' -f 1)
    if [ "$found" != "$expected" ]; then echo "the image gives another $job: $found, not $expected" && exit 1; fi
    echo "$job: $found"
done
