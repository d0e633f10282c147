"""Build the image; `hack/image` is the command."""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import archive
import debian
import rootfs

VERSION = rootfs.ROOT / "asoreconcile" / "base" / "version.py"
CONFIG = {
    "User": f"{rootfs.USER}:{rootfs.USER}",
    "WorkingDir": "/",
    "Entrypoint": ["/usr/local/bin/asoreconcile", "manager"],
    "Env": [
        "PATH=/usr/local/bin:/usr/bin",
        "PYTHONUNBUFFERED=1",
        "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        # glibc gives threads up to eight heaps a core, and what one heap has free no
        # other takes. Ours mostly wait: two are enough, and the peak is 1 to 2 MiB
        # lower.
        "MALLOC_ARENA_MAX=2",
    ],
}


def main() -> None:
    options = _options()
    if options.lock:
        for architecture in debian.ARCHITECTURES:
            debian.lock(architecture)
    elif options.audit:
        sys.exit(_audit())
    else:
        try:
            lower = rootfs.base(options.arch, options.cache)
        except (debian.PackageError, subprocess.CalledProcessError) as error:
            print(f"hack/image: no image: {error}", file=sys.stderr)
            sys.exit(3)
        if options.root:
            shutil.copytree(lower, options.root, symlinks=True, dirs_exist_ok=True)
            rootfs.operator(options.root, lower)
        else:
            print(_image(options.arch, lower, options.folder))


def _image(architecture: str, lower: Path, folder: Path) -> Path:
    """Write the archive and the bill of materials; the archive's path."""
    folder.mkdir(parents=True, exist_ok=True)
    epoch, version = _epoch(), _version()
    stem = f"asoreconcile-{version}-{architecture}"
    bill = folder / f"{stem}.cdx.json"
    with tempfile.TemporaryDirectory() as place:
        upper = rootfs.operator(Path(place) / "upper", lower)
        _write_bill(bill, lower, upper, epoch)
        target = folder / f"{stem}.oci.tar"
        archive.write(
            target,
            (
                archive.kept_layer(
                    lower,
                    lower.with_suffix(".tar.gz"),
                    epoch=debian.locked_at(architecture),
                ),
                archive.layer(upper, epoch=epoch),
            ),
            architecture=architecture,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            config=CONFIG,
            name=f"asoreconcile:{version}",
            annotations={
                "org.opencontainers.image.title": "asoreconcile",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "MIT",
            },
        )
    return target


def _write_bill(target: Path, lower: Path, upper: Path, epoch: int) -> None:
    """CycloneDX: the Python packages as they are installed, and Debian's."""
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
    bill = json.loads(made)
    bill["metadata"]["component"]["version"] = _version()
    bill["components"] += [
        _component(one) for one in sorted(lower.glob("var/lib/dpkg/status.d/*"))
    ]
    target.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n")


def _component(status: Path) -> dict[str, Any]:
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
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
    }


def _audit() -> int:
    """pip-audit's exit code: not 0 for a vulnerability or an unknown package."""
    command = [sys.executable, "-m", "pip_audit", "--strict", "--disable-pip"]
    command += ["--require-hashes", "--requirement", str(rootfs.REQUIREMENTS)]
    return subprocess.run(command, check=False).returncode


def _epoch() -> int:
    """The time of all files: SOURCE_DATE_EPOCH, or when the sources were committed."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    said = subprocess.run(
        ["git", "-C", rootfs.ROOT, "log", "-1", "--format=%ct"],
        check=False,
        capture_output=True,
        text=True,
    )
    return int(said.stdout) if said.returncode == 0 and said.stdout.strip() else 0


def _version() -> str:
    scope: dict[str, Any] = {}
    exec(VERSION.read_text(), scope)
    return str(scope["__version__"])


def _options() -> argparse.Namespace:
    machine = {v: k for k, v in debian.ARCHITECTURES.items()}.get(platform.machine())
    parser = argparse.ArgumentParser(prog="hack/image")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=rootfs.ROOT / "dist/image"
    )
    parser.add_argument("--cache", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, metavar="FOLDER")
    parser.add_argument("--lock", action="store_true")
    parser.add_argument("--audit", action="store_true")
    options = parser.parse_args()
    options.arch = machine or parser.error(f"no image for {platform.machine()}")
    return options


if __name__ == "__main__":
    main()
