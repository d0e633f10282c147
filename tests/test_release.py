"""The checks, files and signatures of hack/release, which tries the builds itself."""

import re
import shutil
import subprocess
from email.message import Message
from pathlib import Path

import pytest
import release

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = """# Changelog

## [Unreleased]

- Next.

## [0.2.0] - 2026-12-01

### Added

- This.

## [0.1.0]

- First.
"""


def test_the_notes_are_the_version_s_part_of_the_changelog():
    assert release.notes(CHANGELOG, "0.2.0", draft=False) == "### Added\n\n- This.\n"
    assert release.notes(CHANGELOG, "0.1.0", draft=True) == "- First.\n"
    assert release.notes(CHANGELOG, "0.3.0", draft=True) == "- Next.\n"
    with pytest.raises(SystemExit, match=r"has no part for 0\.3\.0"):
        release.notes(CHANGELOG, "0.3.0", draft=False)
    ours = (ROOT / "CHANGELOG.md").read_text()
    assert "### Added" in release.notes(ours, release.version(), draft=True)


@pytest.mark.parametrize(
    ("number", "tag", "allowed"),
    [
        ("0.1.0", None, True),
        ("0.1.1", "v0.1.0", False),
        ("0.2.0", "v0.1.7", True),
        ("1.0.0", "v0.9.0", True),
        ("1.1.0", "v1.0.3", False),
        ("2.0.0", "v1.4.0", True),
    ],
)
def test_which_versions_may_break_what_was(number, tag, allowed):
    assert release.may_break(number, tag) is allowed


def test_a_version_has_three_numbers():
    with pytest.raises(SystemExit, match=r"1\.0rc1 is no version"):
        release.numbers("1.0rc1")


def metadata(**changed):
    stated = Message()
    fields = {
        "Name": "asoreconcile",
        "Version": "0.1.0",
        "License-Expression": "MIT",
        "Description-Content-Type": "text/markdown",
        "Summary": "What it is",
        "Requires-Python": ">=3.11",
    } | {name.replace("_", "-"): value for name, value in changed.items()}
    for name, value in fields.items():
        if value:
            stated[name] = value
    return stated


def test_what_is_wrong_with_a_wheel_is_said():
    names = ["asoreconcile/py.typed"]
    assert release.faults(metadata(), names, "0.1.0") == []
    assert release.faults(metadata(Summary=""), names, "0.1.0") == ["no Summary"]
    assert release.faults(metadata(), names, "0.2.0") == [
        "Version is '0.1.0' and should be '0.2.0'"
    ]
    assert release.faults(metadata(), ["asoreconcile/docs/index.md"], "0.1.0") == [
        "no py.typed",
        "asoreconcile/docs/index.md does not belong in it",
    ]


def test_sums_are_as_sha256sum_checks_them(tmp_path):
    (tmp_path / "b.whl").write_bytes(b"wheel")
    (tmp_path / "a.tar.gz").write_bytes(b"sdist")
    sums = release.write_sums(tmp_path)
    check = ["sha256sum", "--check", "--strict", sums.name]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "b.whl").write_bytes(b"another")
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 1


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="there is no ssh-keygen")
def test_a_signature_holds_for_the_file_that_was_signed(tmp_path):
    key, sums = tmp_path / "key", tmp_path / "SHA256SUMS"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]
    subprocess.run(make, check=True)
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"wheel")
    release.write_sums(tmp_path)
    assert release.sign(sums, key).name == "SHA256SUMS.sig"
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(f"ada {key.with_suffix('.pub').read_text()}")
    page = (ROOT / "asoreconcile" / "docs" / "versions.md").read_text()
    (verify,) = re.findall(r"^(ssh-keygen .*?)^```$", page, re.MULTILINE | re.DOTALL)
    command = ["bash", "-euc", verify.replace("NAME", "ada")]

    def holds():
        return subprocess.run(command, cwd=tmp_path, check=False).returncode == 0

    assert holds()
    wheel.write_bytes(b"another")
    assert not holds()
    release.write_sums(tmp_path)
    assert not holds()


def test_what_a_public_name_lost_is_listed(tmp_path):
    """griffe compares two commits of a repository; the test needs hack/env docs."""
    python = ROOT / ".venv-docs" / "bin" / "python"
    if not python.exists():
        pytest.skip("needs griffe: run hack/env docs")
    package = tmp_path / "asoreconcile"
    package.mkdir()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]

    def commit(public, private, *, tag):
        (package / "__init__.py").write_text(public)
        (package / "inner.py").write_text(private)
        for words in (["add", "-A"], ["commit", "-qm", tag], ["tag", tag]):
            subprocess.run([*git, *words], cwd=tmp_path, check=True)

    subprocess.run([*git, "init", "-q"], cwd=tmp_path, check=True)
    shown = "from asoreconcile.inner import kept, gone\n__all__ = ['kept', 'gone']\n"
    before = "def kept(a, b): ...\ndef gone(): ...\ndef own(a): ...\n"
    commit(shown, before, tag="v0.1.0")
    fewer = "from asoreconcile.inner import kept\n__all__ = ['kept']\n"
    commit(fewer, "def kept(a): ...\ndef own(): ...\n", tag="v0.2.0")
    command = [python, ROOT / "hack" / "api_changes.py", "v0.1.0", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "asoreconcile.gone: no longer exported",
        "asoreconcile.kept: Parameter was removed: b",
    ]
