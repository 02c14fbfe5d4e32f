#!/usr/bin/env bash
# Installs the packages of $TARGET/packages where nothing of this tree is, and runs audits there: the same bytes from each program.
# adult and compas-graph run where CFAUDIT_DATA, or data/ of this tree, has their rows.
set -euo pipefail
out=$TARGET/packages
tree=$(cd "$(dirname "$0")/../.." && pwd)
data=${CFAUDIT_DATA:-$tree/data}
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
declare -A fingerprints

# in_fresh PROGRAM ARGUMENT...: in a folder of its own with a copy of the jobs, $folder; its messages in $folder/messages.
in_fresh() {
    folder=$(mktemp -d -p "$fresh")
    cp -r "$tree/jobs" "$folder/"
    (cd "$folder" && env -i HOME="$folder" PATH=/usr/bin:/bin CFAUDIT_DATA="$data" "$@" 2>messages)
}

# refuses PROGRAM JOB: it was built without what the job asks for, and says how to get it.
refuses() {
    local status=0
    in_fresh "$1" check "jobs/$2.yaml" --no-data || status=$?
    if [ $status != 2 ] || ! grep -q not-built "$folder/messages" || ! grep -q "hint: " "$folder/messages"; then
        echo "$1 ends with $status on $2:" && cat "$folder/messages" && return 1
    fi
    echo "$2: refused, with a hint"
}

# audit PROGRAM JOB: a run of the job, with the fingerprint that every other program gives.
audit() {
    local fingerprint
    in_fresh "$1" run "jobs/$2.yaml" --quiet --gates report --out out || { cat "$folder/messages" && return 1; }
    test -s "$folder/out/report.html"
    fingerprint=$(sha256sum "$folder/out/manifest.json" | cut -d ' ' -f 1)
    if [ "${fingerprints[$2]:=$fingerprint}" != "$fingerprint" ]; then echo "$1 gives another $2: $fingerprint" && return 1; fi
    echo "$2: $fingerprint"
}

# all PROGRAM: what it is, how fast it starts, and the jobs that it can run.
all() {
    local kind=full started
    if [[ $1 == *-static-* ]]; then kind=static; fi
    "$1" --version
    started=$(date +%s%N)
    for _ in $(seq 20); do "$1" --version >/dev/null; done
    echo "start: $((($(date +%s%N) - started) / 20000000)) ms"
    audit "$1" demo
    if [ -d "$data/compas" ]; then audit "$1" compas-graph; fi
    if [ $kind = static ]; then
        refuses "$1" onnx
        refuses "$1" adult
    elif [ -d "$data/adult" ]; then audit "$1" adult; fi
}

python3 -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --no-index "$out"/*.whl
all "$fresh/venv/bin/cfaudit"
# The package of the wheel finds its own program, and needs nothing else to start one.
(cd "$fresh" && cp "$tree/jobs/demo.yaml" . && venv/bin/python -c "
import importlib.metadata, time
started = time.perf_counter()
import cfaudit
print(f'import cfaudit: {1000 * (time.perf_counter() - started):.0f} ms')
audit = cfaudit.run('demo.yaml', settings={'data.rows.synthetic.rows': 2000}, arguments=['--gates', 'report'])
points = importlib.metadata.distribution('cfaudit').entry_points
assert 'cfaudit.pytest' in [point.value for point in points], points
assert audit.verify(audit.fingerprint)['sound'] and '<iframe' in audit._repr_html_(), audit
print(audit)")
for package in "$out"/*.tar.gz; do
    tar -C "$fresh" -xzf "$package"
    unpacked=$fresh/$(basename "$package" .tar.gz)
    all "$unpacked/bin/cfaudit"
    test -s "$unpacked/share/man/man1/cfaudit-run.1"
    grep -q '"purl": "pkg:cargo/parquet@' "$unpacked/sbom.cdx.json"
    bash -n "$unpacked/share/completions/cfaudit.bash"
done
echo "packages: installed and run in fresh places: $(cd "$out" && echo *.whl *.tar.gz)"
