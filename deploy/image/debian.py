"""The Debian packages of the image: locked by version and hash, fetched, unpacked.

A lock's line is a package's SHA-256 and its address below a mirror; apt has checked who
signed it when the lock is made, the hash speaks for it afterwards. Only files that a
Python program needs are taken: no shell, no package manager, no program but Python.
"""

import calendar
import fnmatch
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = "python3.13"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
# What the interpreter and the wheels are linked with, and whom to trust.
NAMES = [
    *("base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6"),
    *("libbz2-1.0", "libexpat1", "libffi8", "liblzma5", "libssl3t64", "libuuid1"),
    *("libzstd1", "zlib1g"),
    *(f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib", f"{PYTHON}-minimal"),
]
_SUITES = """\
Types: deb
URIs: {mirror}debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: {mirror}debian-security
Suites: trixie-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""
_HELPER = "/usr/lib/apt/apt-helper"
# An archive of all that Debian ever published, for versions that the mirrors let go.
_SNAPSHOTS = "https://snapshot.debian.org/archive/"
_STAMP = "%Y%m%dT%H%M%SZ"
# Patterns over paths in a package; the first that matches says whether it is taken.
_TAKEN = (
    # Not linked with anything here, or for people at a terminal.
    ("usr/lib/python3*/lib-dynload/_sqlite3.*", False),
    ("usr/lib/python3*/lib-dynload/readline.*", False),
    ("usr/lib/python3*/lib-dynload/_curses*", False),
    ("usr/lib/python3*/lib-dynload/_dbm.*", False),
    ("usr/lib/python3*/lib-dynload/_test*", False),
    ("usr/lib/python3*/lib-dynload/_ctypes_test*", False),
    ("usr/lib/python3*/sitecustomize.py", False),
    ("usr/lib/python3*/sqlite3/*", False),
    ("usr/lib/python3*/curses/*", False),
    ("usr/lib/python3*/dbm/*", False),
    ("usr/lib/python3*/ensurepip/*", False),
    ("usr/lib/python3*/idlelib/*", False),
    ("usr/lib/python3*/tkinter/*", False),
    ("usr/lib/python3*/turtle*", False),
    ("usr/lib/python3*/config-*", False),
    ("usr/lib/python3*/test/*", False),
    ("usr/lib/python3.*", True),
    ("usr/lib/*/gconv/*", False),
    ("usr/lib/*/audit/*", False),
    ("usr/lib/*/engines*", False),
    ("usr/lib/*.so*", True),
    ("usr/lib/os-release", True),
    ("usr/lib64*", True),
    (f"usr/bin/{PYTHON}", True),
    ("usr/share/ca-certificates/mozilla/*.crt", True),
    ("usr/share/doc/*/copyright", True),
    ("etc/os-release", True),
    ("etc/debian_version", True),
    ("lib", True),
    ("lib64", True),
    ("bin", True),
)


class PackageError(Exception):
    """A package that cannot be had, or is not what the lock says."""


def lock_file(architecture: str) -> Path:
    return HERE / f"debian-{architecture}.lock"


def lock(architecture: str) -> None:
    """Write the lock anew, of the newest packages that Debian signs for."""
    lines = [f"{digest}  {path}" for digest, path in newest(architecture)]
    taken = time.strftime(_STAMP, time.gmtime())
    head = f"# SHA-256 and address of each Debian package; hack/image --lock, {taken}\n"
    text = head + "\n".join(lines) + "\n"
    lock_file(architecture).write_text(text)


def outdated(architecture: str) -> list[str]:
    """Return the packages of the lock that Debian has in a newer version, a line each.

    Debian replaces a package of a stable release only to mend it.
    """
    names = [
        {path.rpartition("/")[2] for _, path in found}
        for found in (locked(architecture), newest(architecture))
    ]
    now = {name.partition("_")[0]: name for name in names[1] - names[0]}
    return [
        f"{old} is replaced by {now.get(old.partition('_')[0], 'no package')}"
        for old in sorted(names[0] - names[1])
    ]


def newest(architecture: str) -> list[tuple[str, str]]:
    """Return the SHA-256 and the address of each package as Debian has it now."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for part in ("lists/partial", "cache/archives/partial"):
            (work / part).mkdir(parents=True)
        (work / "status").touch()
        (work / "suites.sources").write_text(_SUITES.format(mirror=_mirror()))
        settings = {
            "Dir::Etc::sourcelist": work / "suites.sources",
            "Dir::Etc::sourceparts": "/nonexistent",
            "Dir::State::lists": work / "lists",
            "Dir::State::status": work / "status",
            "Dir::Cache": work / "cache",
            "APT::Architecture": architecture,
            "APT::Architectures": architecture,
            "APT::Sandbox::User": "root",
        }
        apt = ["apt-get", "--quiet"]
        apt += [part for k, v in settings.items() for part in ("-o", f"{k}={v}")]
        subprocess.run([*apt, "update"], check=True, stdout=subprocess.DEVNULL)
        shown = subprocess.run(
            [*apt, "download", "--print-uris", *NAMES],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
    found = []
    for line in shown.splitlines():
        address, _, _, digest = line.split()
        path = urllib.parse.unquote(address.strip("'").removeprefix(_mirror()))
        found.append((digest.removeprefix("SHA256:"), path))
    if len(found) != len(NAMES):
        raise PackageError(f"apt tells of {len(found)} packages, not {len(NAMES)}")
    return sorted(found, key=lambda one: one[1])


def locked(architecture: str) -> list[tuple[str, str]]:
    """The SHA-256 and the address below a mirror of each package."""
    lines = lock_file(architecture).read_text().splitlines()
    pairs = [line.split() for line in lines if not line.startswith("#")]
    return [(digest, path) for digest, path in pairs]


def locked_at(architecture: str) -> int:
    """When the lock was made, in seconds since 1970."""
    head = lock_file(architecture).read_text().splitlines()[0]
    return calendar.timegm(time.strptime(head.rpartition(" ")[2], _STAMP))


def fetch(architecture: str, folder: Path) -> list[Path]:
    """The packages as files of a folder, downloaded where they are not there yet.

    Raises PackageError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    taken = time.strftime(_STAMP, time.gmtime(locked_at(architecture)))
    return [_fetched(*one, folder, taken) for one in locked(architecture)]


def unpack(package: Path, target: Path) -> None:
    """Put a package's files into a root filesystem, those that are taken."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
        for place, folders, files in os.walk(folder):
            links = [one for one in folders if (Path(place) / one).is_symlink()]
            for name in [*files, *links]:
                source = Path(place) / name
                path = source.relative_to(folder)
                if _is_taken(path.as_posix()):
                    (target / path.parent).mkdir(parents=True, exist_ok=True)
                    shutil.move(source, target / path)


def described(package: Path) -> dict[str, str]:
    """What a package says of itself: its name, version, architecture and so on."""
    done = subprocess.run(
        ["dpkg-deb", "--field", package], check=True, stdout=subprocess.PIPE, text=True
    )
    found = {"": done.stdout}
    for line in done.stdout.splitlines():
        if not line.startswith(" "):
            name, _, value = line.partition(":")
            found[name] = value.strip()
    return found


def _fetched(digest: str, path: str, folder: Path, taken: str) -> Path:
    name = path.rpartition("/")[2]
    target = folder / f"{digest[:12]}-{name}"
    if target.is_file() and _digest(target) == digest:
        return target
    area, _, rest = urllib.parse.quote(path).partition("/")
    said = ""
    for address in (f"{_mirror()}{area}/{rest}", f"{_SNAPSHOTS}{area}/{taken}/{rest}"):
        done = subprocess.run(
            [
                *(_HELPER, "-o", "APT::Sandbox::User=root", "download-file"),
                *(address, str(target), f"SHA256:{digest}"),
            ],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 0 and _digest(target) == digest:
            return target
        said += done.stderr + done.stdout
    raise PackageError(f"{name} is not to be had: hack/image --lock\n{said}")


def _mirror() -> str:
    return os.environ.get("ASORECONCILE_DEBIAN", "http://deb.debian.org/")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_taken(path: str) -> bool:
    return next((taken for one, taken in _TAKEN if fnmatch.fnmatch(path, one)), False)
