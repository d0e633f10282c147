"""The fixtures that pytest has of us: where they come from, and what they do."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from asoreconcile.base.objects import ObjectKey, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.runtime.application import Application
from asoreconcile.testing import pytest_plugin
from asoreconcile.testing.envtest import EnvtestError, running

PAGE = Path(__file__).parents[3] / "asoreconcile/testing/README.md"


def test_pytest_finds_them_by_the_entry_point():
    found = importlib.metadata.entry_points(group="pytest11", name="asoreconcile")
    assert [one.load() for one in found] == [pytest_plugin]


def test_who_uses_none_of_them_imports_nothing():
    code = (
        "import asoreconcile.testing.pytest_plugin, sys;"
        "print([m for m in sys.modules if m.startswith('asoreconcile.')])"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    modules = "['asoreconcile.testing', 'asoreconcile.testing.pytest_plugin']"
    assert done.stdout.strip() == modules


def test_the_page_names_each():
    (section,) = re.findall(r"\| Fixture \|.*?\n\n", PAGE.read_text(), re.DOTALL)
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    functions = ast.parse(Path(pytest_plugin.__file__).read_text()).body
    ours = [
        one.name
        for one in functions
        if isinstance(one, ast.FunctionDef)
        and any("pytest.fixture" in ast.unparse(mark) for mark in one.decorator_list)
    ]
    assert named == ours


def test_a_server_its_kubeconfig_and_its_client(kube_server, kubeconfig, kube_client):
    kube_client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    assert kube_server.object_counts()["configmaps"] == 1
    assert Path(kubeconfig).stat().st_mode & 0o777 == 0o600


def test_each_test_has_a_server_of_its_own(kube_client):
    with pytest.raises(NotFoundError):
        kube_client.get(CONFIG_MAPS, ObjectKey("default", "a"))


def test_time_stands_still_until_it_is_moved(kubeconfig, fake_clock, eventually):
    app = Application("tests", cluster=kubeconfig, clock=fake_clock)
    rang = threading.Event()
    with app.running():
        app.wait_until_ready()
        app.clock.call_at(fake_clock.monotonic() + 3600, rang.set)
        assert not rang.is_set()
        fake_clock.advance(3600)
        assert eventually(rang.is_set)


def test_eventually_takes_the_first_true_answer(eventually):
    answers = iter([None, [], NotFoundError, AssertionError, "found", "not asked for"])

    def check():
        answer = next(answers)
        if answer is NotFoundError:
            raise NotFoundError("gone", status=404, reason="NotFound")
        assert answer is not AssertionError
        return answer

    assert eventually(check) == "found"
    assert next(answers) == "not asked for"


def test_eventually_ends_with_what_was_wrong_last(eventually):
    with pytest.raises(AssertionError, match=r"not within 0.01 s: it returned \[\]"):
        eventually(list, timeout_seconds=0.01)

    def check():
        raise AssertionError("two is not three")

    with pytest.raises(AssertionError, match=r"not within 0 s: two is not three"):
        eventually(check, timeout_seconds=0)
    with pytest.raises(ZeroDivisionError):
        eventually(lambda: 1 / 0)


def test_without_a_real_server_its_tests_are_skipped(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(real_kube_server):\n    pass\n")
    environment = {k: v for k, v in os.environ.items() if k != "KUBEBUILDER_ASSETS"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "KUBEBUILDER_ASSETS names no folder" in done.stdout


def test_a_folder_without_the_programs_is_named(tmp_path):
    message = "lacks kube-apiserver and etcd"
    with pytest.raises(EnvtestError, match=message), running(tmp_path):
        pass


@pytest.mark.real
@pytest.mark.skipif(
    "KUBEBUILDER_ASSETS" not in os.environ, reason="there is no kube-apiserver"
)
def test_a_real_server_is_there_for_all(real_kube_server, tmp_path):
    real_kube_server.write_kubeconfig(tmp_path / "kubeconfig")
    client = KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="tests")
    try:
        listed = [key_of(obj).name for obj in client.list_all(NAMESPACES)]
    finally:
        client.close()
    assert "default" in listed
