"""The test kit's page: what it shows runs, and its tables name all there is."""

import inspect
import json
import re
import shlex
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from asoreconcile.testing import fault_injection
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.kube.controls.faults import KubeFaults
from asoreconcile.testing.kube.controls.scripted import parse_script

PAGE = Path(__file__).parents[2] / "asoreconcile/testing/README.md"
TEXT = PAGE.read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
TESTS = [block for block in BLOCKS if "def test_" in block]
PROGRAMS = [
    block for block in BLOCKS if block not in TESTS and "pytest.fixture" not in block
]


def test_the_fixture_is_five_lines_and_works(tmp_path):
    (block,) = [b for b in BLOCKS if "pytest.fixture" in b]
    body = block.partition("@pytest.fixture\n")[2].strip().splitlines()
    assert len(body) <= 5
    names = {}
    exec(compile(block, str(PAGE), "exec"), names)
    with contextmanager(inspect.unwrap(names["cluster"]))(tmp_path) as server:
        assert server.url in (tmp_path / "kubeconfig").read_text()


@pytest.mark.parametrize("block", TESTS, ids=range(len(TESTS)))
def test_a_test_with_fixtures_needs_no_import_of_them(block, tmp_path):
    """As in a project of one's own: a folder, and what is installed."""
    (tmp_path / "test_shown.py").write_text(block)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.parametrize("block", PROGRAMS, ids=range(len(PROGRAMS)))
def test_what_is_shown_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, str(PAGE), "exec"), {})


def test_the_options_are_all_there_are():
    section = TEXT.partition("### Options")[2].partition("###")[0]
    shown = set(re.findall(r"^\| `(\w+)=", section, re.MULTILINE))
    assert shown == set(inspect.signature(KubeServer).parameters)


def test_the_command_has_the_options_shown():
    from asoreconcile.azure.cmd.testserver import testserver

    section = TEXT.partition("### Options")[2].partition("###")[0]
    shown = set(re.findall(r"`(--[a-z-]+)`", section))
    options = {o for p in testserver.commands["kube"].params for o in p.opts}
    assert shown == options - {"--until-stdin-closes", "--kubeconfig-out", "--help"}


def test_every_script_and_fault_shown_is_one():
    scripts = re.findall(r"`(\w+ (?:\*|configmaps) \w+[\w:]*(?: x\d)?)`", TEXT)
    assert len(scripts) >= 9
    for script in scripts:
        parse_script(script)
    for shown in set(re.findall(r"`(InjectedFault\([^.)]+\))`", TEXT)):
        assert eval(shown, {"InjectedFault": fault_injection.InjectedFault})
    for shown in set(re.findall(r"`faults\.(?!py`)(\w+)", TEXT)):
        assert hasattr(KubeFaults(), shown), shown


def test_the_request_to_the_control_path_is_one():
    (command,) = re.findall(r"\$ (curl -sk .*?)\n```", TEXT, re.DOTALL)
    words = shlex.split(command.replace("\\\n", " "))
    body = json.loads(words[words.index("-d") + 1])
    assert parse_script(body["script"]).status == 429
