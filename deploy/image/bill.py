"""The image's bill of materials (CycloneDX).

It names the Python packages, Debian's packages, and the libraries inside wheels.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import rootfs

Component = dict[str, Any]
LIBRARIES = tomllib.loads((Path(__file__).parent / "bundled.toml").read_text())[
    "library"
]
_LICENCE = re.compile(r"^License: *(\S.*)$", re.MULTILINE)


def write(target: Path, lower: Path, upper: Path, *, version: str, epoch: int) -> None:
    """Write the bill of an image of these two layers."""
    bill = _of_python(lower, upper, epoch)
    bill["metadata"]["component"]["version"] = version
    packages = lower / rootfs.PACKAGES
    bill["components"] += [
        *(
            _of_debian(one, lower)
            for one in sorted(lower.glob("var/lib/dpkg/status.d/*"))
        ),
        *stated_inside(packages),
        *libraries_inside(packages, told=_told_by_pycurl(lower)),
    ]
    target.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")


def stated_inside(packages: Path) -> list[Component]:
    """Return what wheels state that they contain, in the bills that they bring."""
    found = {}
    for file in sorted(packages.glob("*.dist-info/sboms/*.json")):
        wheel = file.parts[-3].rpartition("-")[0]
        for one in json.loads(file.read_text()).get("components", ()):
            ref = f"{wheel}/{one['name']}@{one.get('version', '')}"
            kept = {k: one[k] for k in ("purl", "licenses") if k in one}
            found[ref] = (
                _library(one["name"], one.get("version", ""), wheel, ref) | kept
            )
    return list(found.values())


def libraries_inside(packages: Path, *, told: str) -> list[Component]:
    """Return the libraries of bundled.toml, and files of libraries that it lacks.

    told: pycurl's words about itself, `libcurl/8.23.0 OpenSSL/3.6.5`.
    """
    versions = dict(word.split("/", 1) for word in told.split())
    files = {path.name: path for path in sorted(packages.glob("*.libs/*"))}
    found = []
    for row in LIBRARIES:
        mine = [f for f in files if f.startswith(tuple(row.get("files", ("\0",))))]
        hashes = [files.pop(name) for name in mine]
        version = versions.get(row.get("told_as", ""), "")
        found.append(
            _library(
                row["name"], version, row["wheel"], f"{row['wheel']}/{row['name']}"
            )
            | {
                "hashes": [_hash(path) for path in hashes],
                "licenses": [{"expression": row["licence"]}],
                "externalReferences": [{"type": "vcs", "url": row["repository"]}],
            }
        )
    for name, path in files.items():
        wheel = path.parent.name.removesuffix(".libs")
        found.append(
            _library(name, "", wheel, f"{wheel}/{name}") | {"hashes": [_hash(path)]}
        )
    return found


def _library(name: str, version: str, wheel: str, ref: str) -> Component:
    made: Component = {
        "type": "library",
        "bom-ref": ref,
        "name": name,
        "purl": f"pkg:generic/{name}@{version}" if version else f"pkg:generic/{name}",
        "properties": [{"name": "asoreconcile:inside", "value": wheel}],
    }
    return made | ({"version": version} if version else {})


def _hash(path: Path) -> dict[str, str]:
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"alg": "SHA-256", "content": content}


def _told_by_pycurl(lower: Path) -> str:
    """Return what the image's pycurl says of itself."""
    code = f"import sys; sys.path.insert(0, {str(lower / rootfs.PACKAGES)!r}); "
    code += "import pycurl; print(pycurl.version)"
    command = [*rootfs.interpreter(lower), "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _of_python(lower: Path, upper: Path, epoch: int) -> Component:
    with tempfile.TemporaryDirectory() as place:
        # A program that says where its packages are, as a virtual environment's would.
        python = Path(place) / "python"
        paths = json.dumps([str(one / rootfs.PACKAGES) for one in (lower, upper)])
        python.write_text(f"#!/bin/sh\necho '{paths}'\n")
        python.chmod(0o755)
        made = subprocess.run(
            [
                *(Path(sys.executable).parent / "cyclonedx-py", "environment", python),
                *("--pyproject", rootfs.ROOT / "pyproject.toml"),
                "--output-reproducible",
            ],
            check=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        ).stdout
    bill: Component = json.loads(made)
    return bill


def _of_debian(status: Path, lower: Path) -> Component:
    lines = dict(
        line.split(": ", 1)
        for line in status.read_text().splitlines()
        if ": " in line and not line.startswith(" ")
    )
    name, version = lines["Package"], lines["Version"]
    quoted = version.replace(":", "%3A").replace("+", "%2B")
    purl = (
        f"pkg:deb/debian/{name}@{quoted}?arch={lines['Architecture']}&distro=debian-13"
    )
    copyright_ = lower / "usr/share/doc" / name / "copyright"
    text = copyright_.read_text(errors="replace") if copyright_.is_file() else ""
    # A source with its own version, `gcc-14 (14.2.0-19)`, is not the package's.
    source, _, at = lines.get("Source", name).partition(" ")
    stated = sorted(set(_LICENCE.findall(text)))
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"name": one}} for one in stated],
        "properties": [
            {"name": "asoreconcile:source", "value": source},
            {"name": "asoreconcile:source-version", "value": at.strip("()") or version},
        ],
    }
