#!/usr/bin/env bash
# Installs the packages of $TARGET/packages where nothing of this tree is, and runs an audit there.
set -euo pipefail
out=$TARGET/packages
tree=$(cd "$(dirname "$0")/../.." && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

# audit PROGRAM: the demo, in a folder of its own.
audit() {
    local folder
    folder=$(mktemp -d -p "$fresh")
    cp "$tree/jobs/demo.yaml" "$folder/"
    (cd "$folder" && env -i HOME="$folder" PATH=/usr/bin:/bin "$1" run demo.yaml --quiet --set data.rows.synthetic.rows=2000 --out out)
    test -s "$folder/out/report.html"
    "$1" --version
}

python3 -m venv "$fresh/venv"
"$fresh/venv/bin/pip" install --quiet --no-index "$out"/*.whl
audit "$fresh/venv/bin/cfaudit"
# The package of the wheel finds its own program, and needs nothing else to start one.
(cd "$fresh" && cp "$tree/jobs/demo.yaml" . && venv/bin/python -c "
import cfaudit
audit = cfaudit.run('demo.yaml', settings={'data.rows.synthetic.rows': 2000}, arguments=['--gates', 'report'])
assert audit.verify(audit.fingerprint)['sound'] and '<iframe' in audit._repr_html_(), audit
print(audit)")
for package in "$out"/*.tar.gz; do
    tar -C "$fresh" -xzf "$package"
    folder=$fresh/$(basename "$package" .tar.gz)
    audit "$folder/bin/cfaudit"
    test -s "$folder/share/man/man1/cfaudit-run.1"
    grep -q '"purl": "pkg:cargo/parquet@' "$folder/sbom.cdx.json"
    bash -n "$folder/share/completions/cfaudit.bash"
done
echo "packages: installed and run in fresh places: $(cd "$out" && echo *.whl *.tar.gz)"
