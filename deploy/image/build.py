"""Build the image; `hack/image` is the command."""

import argparse
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
import bill
import debian
import rootfs

# Shared with hack/release, which has other packages than the builder's environment.
sys.path.insert(0, str(rootfs.ROOT / "hack"))
import provenance

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
    elif options.outdated:
        sys.exit(_outdated())
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
    """Write the archive, its bill of materials and its provenance; return the archive's
    path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    epoch, version = _epoch(), _version()
    stem = f"asoreconcile-{version}-{architecture}"
    with tempfile.TemporaryDirectory() as place:
        upper = rootfs.operator(Path(place) / "upper", lower)
        bill.write(
            folder / f"{stem}.cdx.json", lower, upper, version=version, epoch=epoch
        )
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
    provenance.write(
        folder / f"{stem}.intoto.json",
        [target],
        command="hack/image",
        locks=[f"deploy/image/debian-{architecture}.lock", "deploy/requirements.txt"],
    )
    return target


def _outdated() -> int:
    """Print each package of Debian that has a newer version; return 1 if one has."""
    lines = [
        f"{architecture}: {line}"
        for architecture in debian.ARCHITECTURES
        for line in debian.outdated(architecture)
    ]
    print("\n".join(lines))
    return 1 if lines else 0


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
    parser.add_argument("--outdated", action="store_true")
    options = parser.parse_args()
    options.arch = machine or parser.error(f"no image for {platform.machine()}")
    return options


if __name__ == "__main__":
    main()
