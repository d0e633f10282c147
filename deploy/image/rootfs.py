"""The image's two layers as folders: what it stands on, and the operator itself.

The first holds the interpreter and the Python packages, all locked by hash; it changes
with the locks only, so it is kept in the cache. Bytecode is made for both, as the root
filesystem is read-only where it runs.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import debian

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "deploy" / "requirements.txt"
USER = 65532
PACKAGES = f"usr/local/lib/{debian.PYTHON}/dist-packages"
_LIBRARIES = f"usr/lib/{debian.PYTHON}"
# The C library of the base is newer than each of these.
_PLATFORMS = ("manylinux_2_28", "manylinux_2_26", "manylinux2014", "manylinux1")
# What wheels bring along that no program imports: their own tests and build folders.
_UNUSED = ("bazel-project", "*/tests", "*/e2e_test")
_ETC = {
    "passwd": "root:x:0:0:root:/:/nologin\n"
    f"nonroot:x:{USER}:{USER}:nonroot:/:/nologin\n",
    "group": f"root:x:0:\nnonroot:x:{USER}:\n",
    # Names by files first, as a pod's /etc/hosts is made for it.
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
_AUTHORITIES = "etc/ssl/certs/ca-certificates.crt"
_SCRIPT = """\
#!/usr/bin/{python} -I
import sys
from asoreconcile.azure.cmd.start import {name}
sys.exit({name}())
"""
SCRIPTS = ("asoreconcile", "asoctl")
# No operator needs servers to test with.
_TEST_KIT = "asoreconcile/testing"


def base(architecture: str, cache: Path) -> Path:
    """The lower layer's folder, made if it is not in the cache."""
    given = [debian.lock_file(architecture), REQUIREMENTS, *_own_modules()]
    stamp = hashlib.sha256(b"".join(one.read_bytes() for one in given)).hexdigest()
    kept = cache / f"base-{architecture}-{stamp[:12]}"
    if kept.is_dir():
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    packages = debian.fetch(architecture, cache / "packages")
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        made = Path(folder) / "root"
        made.mkdir()
        for package in packages:
            debian.unpack(package, made)
            # Where scanners look for the packages of an image that has no dpkg.
            about = debian.described(package)
            _write(made / "var/lib/dpkg/status.d" / about["Package"], about[""])
        _trust(made)
        for name, text in _ETC.items():
            _write(made / "etc" / name, text)
        (made / "tmp").mkdir()
        _install_dependencies(architecture, made / PACKAGES)
        compile_all(made, made, _LIBRARIES, PACKAGES)
        _only_programs_run(made)
        if not kept.is_dir():
            made.rename(kept)
    return kept


def operator(target: Path, lower: Path) -> Path:
    """Make the upper layer's folder: the operator's own package and its commands."""
    with tempfile.TemporaryDirectory() as folder:
        build = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            folder,
        ]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(folder).glob("*.whl")
        _pip(target / PACKAGES, "--no-deps", str(wheel))
    _forget_where_it_was_built(target / PACKAGES)
    _leave_out_the_test_kit(target / PACKAGES)
    for name in SCRIPTS:
        script = target / "usr/local/bin" / name
        _write(script, _SCRIPT.format(python=debian.PYTHON, name=name))
        script.chmod(0o755)
    notices = ROOT / "deploy" / "image" / "NOTICES.md"
    _write(target / "usr/share/doc/asoreconcile/NOTICES.md", notices.read_text())
    compile_all(lower, target, PACKAGES)
    return target


def compile_all(lower: Path, target: Path, *places: str) -> None:
    """Make bytecode that is trusted as it is: nothing in an image changes."""
    command = [*interpreter(lower), "-m", "compileall", "-q"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", str(target), "-p", "/"]
    command += [str(target / place) for place in places]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "0"})


def interpreter(lower: Path) -> list[str]:
    """The command that starts the image's interpreter from its folder, as any user."""
    (loader,) = [
        *lower.glob("usr/lib64/ld-linux-*.so.*"),
        *lower.glob("usr/lib/ld-linux-*.so.*"),
    ]
    (libraries,) = lower.glob("usr/lib/*-linux-gnu")
    python = lower / "usr/bin" / debian.PYTHON
    return [str(loader), "--library-path", str(libraries), str(python), "-I"]


def _install_dependencies(architecture: str, target: Path) -> None:
    machine = debian.ARCHITECTURES[architecture]
    platforms = [part for p in _PLATFORMS for part in ("--platform", f"{p}_{machine}")]
    version = debian.PYTHON.removeprefix("python")
    abi = f"cp{version.replace('.', '')}"
    _pip(
        target,
        *("--require-hashes", "--no-deps", "--only-binary", ":all:", *platforms),
        *("--python-version", version, "--implementation", "cp"),
        *("--abi", abi, "--abi", "abi3", "--abi", "none"),
        *("--requirement", str(REQUIREMENTS)),
    )


def _pip(target: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install"]
    command += ["--quiet", "--no-compile", "--target", str(target), *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)
    # Commands of the packages, for a Python that is not there.
    shutil.rmtree(target / "bin", ignore_errors=True)
    for pattern in _UNUSED:
        for folder in target.glob(pattern):
            shutil.rmtree(folder)


def _forget_where_it_was_built(packages: Path) -> None:
    """Pip notes the wheel's folder, which is another one each time."""
    (noted,) = packages.glob("asoreconcile-*.dist-info/direct_url.json")
    noted.unlink()
    _unrecord(packages, "/direct_url.json,")


def _leave_out_the_test_kit(packages: Path) -> None:
    shutil.rmtree(packages / _TEST_KIT)
    _unrecord(packages, f"{_TEST_KIT}/")


def _unrecord(packages: Path, mark: str) -> None:
    """Take the lines with a mark from the list of files that pip wrote."""
    (record,) = packages.glob("asoreconcile-*.dist-info/RECORD")
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(line for line in lines if mark not in line))


def _trust(made: Path) -> None:
    """All authorities of Mozilla's list in one file, as programs look for them."""
    found = sorted((made / "usr/share/ca-certificates/mozilla").glob("*.crt"))
    _write(made / _AUTHORITIES, "".join(one.read_text() for one in found))
    shutil.rmtree(made / "usr/share/ca-certificates")


def _only_programs_run(made: Path) -> None:
    """Take the right to be executed from all but the interpreter and what loads it."""
    for path in made.rglob("*"):
        if path.is_file() and not path.is_symlink():
            is_program = path.parent.name == "bin" or path.name.startswith("ld-linux")
            path.chmod(0o755 if is_program else 0o644)


def _own_modules() -> list[Path]:
    return [Path(__file__), Path(debian.__file__)]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o644)
