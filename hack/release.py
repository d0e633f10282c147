r"""Make a release: sdist, wheel, notes and checksums, tested in a clean environment.

    hack/release                  into dist/release
    hack/release --sign KEY       the same, signed with an SSH key
    hack/release --compare        only list the changes since the last tag

Each has a bill of materials (CycloneDX), and both have one provenance (in-toto, SLSA).
Nothing is published. The wheel is built from the sdist, checked, installed in two
environments of its own (which needs a package index) and tried: the library alone, and
the operator's commands. The notes are the version's section of CHANGELOG.md. `--sign`
needs a clean tree, an audit without findings (`hack/audit`), a section of the changelog
for the version, and a version number that allows the changes
(asoreconcile/docs/versions.md). It signs SHA256SUMS. Anyone
with `allowed_signers` can verify it:

    ssh-keygen -Y verify -f allowed_signers -I NAME -n asoreconcile \
        -s SHA256SUMS.sig < SHA256SUMS && sha256sum --check SHA256SUMS
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import provenance

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = "asoreconcile"
# The library alone must not install these.
FOREIGN = {"azure-core", "azure-identity", "click", "kubernetes", "msal", "requests"}
TRY_LIBRARY = """
import threading
import asoreconcile
from asoreconcile import NAMESPACES, Application, Result
from asoreconcile.testing.kube import KubeServer

for name in asoreconcile.__all__:
    getattr(asoreconcile, name)
called = threading.Event()


def reconcile(request):
    called.set()
    return Result()


with KubeServer() as server:
    server.write_kubeconfig("kubeconfig")
    app = Application("release", cluster="kubeconfig")
    app.reconcile(NAMESPACES, reconcile)
    with app.running():
        app.wait_until_ready()
        assert called.wait(30)
"""


def version() -> str:
    """Return the version of the sources."""
    text = (ROOT / "asoreconcile" / "base" / "version.py").read_text()
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        sys.exit("hack/release: asoreconcile/base/version.py names no version")
    return found[1]


def notes(changelog: str, number: str, *, draft: bool) -> str:
    """Return a version's section of the changelog; for a draft, the unreleased section.

    Exits if there is none.
    """
    parts = re.split(r"^## \[", changelog, flags=re.MULTILINE)[1:]
    by_name = {part.partition("]")[0]: part.partition("\n")[2] for part in parts}
    names = [number, "Unreleased"] if draft else [number]
    for name in names:
        if name in by_name:
            return by_name[name].strip() + "\n"
    sys.exit(f"hack/release: CHANGELOG.md has no part for {number}: name it so")


def last_tag() -> str | None:
    """Return the newest version tag before this commit, or None."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


def compare(tag: str | None) -> list[str]:
    """Return the changes of the public surface since a tag that may break a program."""
    if tag is None:
        print("hack/release: no tag yet: nothing to compare with", file=sys.stderr)
        return []
    bin_ = run(str(ROOT / "hack" / "env"), "docs").strip()
    found = run(f"{bin_}/python", str(ROOT / "hack" / "api_changes.py"), tag, str(ROOT))
    return found.splitlines()


def may_break(number: str, tag: str | None) -> bool:
    """Return whether a version may break programs of the last tag.

    Until 1.0 the second number decides, then the first.
    """
    if tag is None:
        return True
    new, old = numbers(number), numbers(tag.removeprefix("v"))
    return new[0] != old[0] or (new[0] == 0 and new[1] != old[1])


def numbers(text: str) -> tuple[int, int, int]:
    """Return 1.2.3 as numbers. Exits for another form."""
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        sys.exit(f"hack/release: {text} is no version of three numbers")
    return int(found[1]), int(found[2]), int(found[3])


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist."""
    bin_ = run(str(ROOT / "hack" / "env")).strip()
    hatch = [f"{bin_}/python", "-m", "hatchling", "build", "-d", str(folder)]
    run(*hatch, "-t", "sdist")
    (sdist,) = folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (source,) = Path(unpacked).iterdir()
        run(*hatch, "-t", "wheel", cwd=source)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def look_over(wheel: Path, number: str) -> None:
    """Check what an index and a user see first. Exits with the mistakes."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    wrong = faults(stated_in(wheel), names, number)
    if wrong:
        sys.exit(f"hack/release: {wheel.name}: {'; '.join(wrong)}")


def stated_in(wheel: Path) -> Message:
    """Return a wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(about))


def bill_of(file: Path, stated: Message) -> dict[str, Any]:
    """Return the bill of materials (CycloneDX) of an sdist or a wheel.

    Neither contains another package: the components are those that it asks for, in the
    versions that it allows; `optional` are those of extras. stated: the metadata.
    """
    components = {}
    for requirement in stated.get_all("Requires-Dist") or ():
        name = re.split(r"[^A-Za-z0-9._-]", requirement)[0]
        name = re.sub(r"[-_.]+", "-", name).lower()
        scope = "optional" if "extra ==" in requirement else "required"
        components[requirement] = {
            "type": "library",
            "bom-ref": requirement,
            "name": name,
            "purl": f"pkg:pypi/{name}",
            "scope": scope,
            "properties": [{"name": "asoreconcile:requirement", "value": requirement}],
        }
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": file.name,
                "name": stated["Name"],
                "version": stated["Version"],
                "purl": f"pkg:pypi/{stated['Name']}@{stated['Version']}",
                "licenses": [{"expression": stated["License-Expression"]}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": list(components.values()),
    }


def faults(stated: Message, names: list[str], number: str) -> list[str]:
    """Return the mistakes in a wheel.

    stated: metadata of the wheel.
    names: names of its files.
    """
    expected = {
        "Name": "asoreconcile",
        "Version": number,
        "License-Expression": "MIT",
        "Description-Content-Type": "text/markdown",
    }
    wrong = [
        f"{field} is {stated.get(field)!r} and should be {value!r}"
        for field, value in expected.items()
        if stated.get(field) != value
    ]
    wrong += [
        f"no {field}" for field in ("Summary", "Requires-Python") if not stated[field]
    ]
    if "asoreconcile/py.typed" not in names:
        wrong.append("no py.typed")
    wrong += [f"{name} does not belong in it" for name in names if "/docs/" in name]
    return wrong


def try_out(wheel: Path) -> None:
    """Install and use the wheel in clean environments. Exits if that fails."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        alone = installed(place / "alone", str(wheel))
        listed = run(str(alone / "pip"), "list", "--format", "freeze")
        brought = {line.partition("==")[0].lower() for line in listed.splitlines()}
        if brought & FOREIGN:
            sys.exit(f"hack/release: the library brings {sorted(brought & FOREIGN)}")
        run(str(alone / "pip"), "check")
        run(str(alone / "python"), "-c", TRY_LIBRARY, cwd=place)
        lacking = subprocess.run(
            [alone / "asoctl"], capture_output=True, text=True, check=False
        )
        if "[cli]'" not in lacking.stderr:
            sys.exit(f"hack/release: asoctl does not say what it lacks: {lacking}")
        whole = installed(place / "whole", f"{wheel}[azure,cel]")
        run(str(whole / "pip"), "check")
        run(str(whole / "asoreconcile"), "kinds", "list")
        sample = str(ROOT / "deploy" / "samples" / "resource-group.yaml")
        subscription = "11111111-1111-1111-1111-111111111111"
        render = ("render", "-f", sample, "--subscription", subscription)
        run(str(whole / "asoctl"), *render)
    print(
        f"installed alone ({len(brought)} packages), and with [azure,cel]; both work",
        file=sys.stderr,
    )


def installed(folder: Path, what: str) -> Path:
    """Install a requirement in a new environment; return the folder of its programs."""
    venv.create(folder, with_pip=True)
    pip = str(folder / "bin" / "pip")
    run(pip, "install", "--quiet", "--disable-pip-version-check", what)
    return folder / "bin"


def write_sums(folder: Path) -> Path:
    """Write SHA256SUMS of the files in a folder, in the format of sha256sum."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in files
    ]
    sums = folder / "SHA256SUMS"
    sums.write_text("".join(lines))
    return sums


def sign(path: Path, key: Path) -> Path:
    """Sign a file with an SSH key, and verify that; answers the signature's file."""
    signature = path.with_name(f"{path.name}.sig")
    signature.unlink(missing_ok=True)
    run("ssh-keygen", "-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path))
    public = run("ssh-keygen", "-y", "-f", str(key)).strip()
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder, "allowed_signers")
        allowed.write_text(f'releaser namespaces="{NAMESPACE}" {public}\n')
        subprocess.run(
            [
                *("ssh-keygen", "-q", "-Y", "verify", "-f", allowed, "-I", "releaser"),
                *("-n", NAMESPACE, "-s", signature),
            ],
            input=path.read_bytes(),
            stdout=subprocess.DEVNULL,
            check=True,
        )
    return signature


def run(*command: str, cwd: Path = ROOT) -> str:
    """Return the output of a program. If it fails, exit with its output and errors."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"hack/release: {' '.join(command)[:200]}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Read the arguments, and do it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--sign", type=Path, metavar="KEY")
    given = parser.parse_args()
    number, tag = version(), last_tag()
    changed = compare(tag)
    for line in changed:
        print(line)
    if given.compare:
        return
    if given.sign:
        if run("git", "status", "--porcelain"):
            sys.exit("hack/release: the tree has changes that are not committed")
        if changed and not may_break(number, tag):
            sys.exit(f"hack/release: {number} may not break what {tag} has: see above")
        run(str(ROOT / "hack" / "audit"))
    text = notes((ROOT / "CHANGELOG.md").read_text(), number, draft=given.sign is None)
    folder = ROOT / "dist" / "release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sdist, wheel = build(folder)
    look_over(wheel, number)
    try_out(wheel)
    (folder / "NOTES.md").write_text(text)
    for made in (sdist, wheel):
        bill = folder / f"{made.name}.cdx.json"
        bill.write_text(json.dumps(bill_of(made, stated_in(wheel)), indent=1) + "\n")
    provenance.write(
        folder / f"asoreconcile-{number}.intoto.json",
        [sdist, wheel],
        command="hack/release",
        locks=["pyproject.toml"],
    )
    sums = write_sums(folder)
    if given.sign:
        sign(sums, given.sign)
    for path in sorted(folder.iterdir()):
        print(path)


if __name__ == "__main__":
    main()
