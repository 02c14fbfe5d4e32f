#!/usr/bin/env bash
# Makes the packages in $TARGET/packages and says how large they are. PROFILE=dev makes them of an unoptimised program, to try the way.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo=${CARGO:-cargo}
profile=${PROFILE:-dist}
out=$TARGET/packages
musl=x86_64-unknown-linux-musl
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
export CARGO_TARGET_DIR=$TARGET
unset CMAKE_CXX_COMPILER_LAUNCHER

# pack BINARY NAME [FLAG...]: the program with its manual, completions, schemas, jobs and list of crates, which FLAGs of cargo narrow.
pack() {
    local folder
    folder=$(mktemp -d)
    mkdir -p "$folder/$2/bin" "$folder/$2/share/man/man1" "$folder/$2/share/completions"
    cp "$1" "$folder/$2/bin/cfaudit"
    cp -r README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs schemas jobs "$folder/$2/"
    CARGO=$cargo python3 tests/packages/sbom.py "${@:3}" >"$folder/$2/sbom.cdx.json"
    "$1" man "$folder/$2/share/man/man1"
    for shell in bash zsh fish elvish powershell; do "$1" completions "$shell" >"$folder/$2/share/completions/cfaudit.$shell"; done
    tar -C "$folder" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$out/$2.tar.gz" "$2"
    rm -r "$folder"
}

rm -f "$out"/*.whl "$out"/*.tar.gz
"$cargo" build --locked --profile "$profile" --bin cfaudit --features cloud
program=$TARGET/$([ "$profile" = dev ] && echo debug || echo "$profile")/cfaudit
pack "$program" "cfaudit-$version-x86_64-linux-gnu" --features cloud
# The same profile and target folder: nothing is built twice.
"$out/venv/bin/maturin" build --profile "$profile" --locked --features cloud --out "$out"

# The static program: with musl where its standard library and compiler are there, else with the C library of this machine.
libraries=$(rustc --print target-libdir --target $musl)
if [ -n "$(ls "$libraries"/libstd-*.rlib 2>/dev/null)" ] && command -v musl-gcc >/dev/null; then
    export CC_x86_64_unknown_linux_musl=musl-gcc
    target=$musl
else
    echo "without musl: the static program is linked with glibc. For musl, \`rustup target add $musl\` and get musl-gcc (Debian: musl-tools)."
    export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
    target=x86_64-unknown-linux-gnu
fi
"$cargo" build --locked --profile "$profile" --bin cfaudit --no-default-features --features cloud --target $target
pack "$TARGET/$target/${program#"$TARGET"/}" "cfaudit-$version-x86_64-linux-static${target#x86_64-unknown-linux}" --no-default-features --features cloud
du -h "$program" "$out"/*.whl "$out"/*.tar.gz
