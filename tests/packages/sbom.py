#!/usr/bin/env python3
"""sbom.py [FLAG...] > FILE: the crates that the program is built of, as CycloneDX 1.6.

FLAGs such as --no-default-features go to `cargo metadata`. What is built for tests alone is left
out. Nothing depends on the time or the machine: the serial number is made of the content.
"""

import hashlib
import json
import os
import subprocess
import sys
import uuid

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
TARGET = "x86_64-unknown-linux-gnu"


def checksums():
    """The SHA-256 of every package of the lock file by name and version."""
    found, package = {}, {}
    for line in open(os.path.join(ROOT, "Cargo.lock"), encoding="utf-8"):
        if line.startswith("[["):
            package = {}
        name, equals, value = line.strip().partition(" = ")
        if equals:
            package[name] = value.strip('"')
        if name == "checksum":
            found[package["name"], package["version"]] = package["checksum"]
    return found


def main():
    cargo = os.environ.get("CARGO", "cargo")
    flags = ["--format-version", "1", "--locked", "--filter-platform", TARGET, *sys.argv[1:]]
    told = subprocess.run([cargo, "metadata", *flags], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    metadata = json.loads(told.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    # The resolved edges that are not for tests alone.
    edges = {
        node["id"]: sorted(
            edge["pkg"]
            for edge in node["deps"]
            if any(kind["kind"] != "dev" for kind in edge["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"]
    }
    root = metadata["resolve"]["root"]
    reached, ahead = {root}, [root]
    while ahead:
        for package in edges[ahead.pop()]:
            if package not in reached:
                reached.add(package)
                ahead.append(package)
    hashes = checksums()

    def ref(package):
        return f"pkg:cargo/{packages[package]['name']}@{packages[package]['version']}"

    def component(package):
        crate = packages[package]
        found = {
            "type": "application" if package == root else "library",
            "bom-ref": ref(package),
            "name": crate["name"],
            "version": crate["version"],
            "purl": ref(package),
        }
        if crate["license"]:
            parts = [part.strip() for part in crate["license"].split("/")]
            found["licenses"] = [{"expression": " OR ".join(parts)}]
        checksum = hashes.get((crate["name"], crate["version"]))
        if checksum:
            found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return found

    libraries = sorted(reached - {root}, key=ref)
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(root)},
        "components": [component(package) for package in libraries],
        "dependencies": [
            {"ref": ref(package), "dependsOn": [ref(needed) for needed in edges[package]]}
            for package in [root, *libraries]
        ],
    }
    digest = bytearray(hashlib.sha256(json.dumps(bom).encode()).digest()[:16])
    # Version 8 and the variant of RFC 9562.
    digest[6], digest[8] = digest[6] & 0x0F | 0x80, digest[8] & 0x3F | 0x80
    bom["serialNumber"] = f"urn:uuid:{uuid.UUID(bytes=bytes(digest))}"
    json.dump(bom, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
