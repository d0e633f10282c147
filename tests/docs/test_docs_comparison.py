"""The statements of the comparison page about other libraries, tried with these
libraries.

kopf runs from the development environment, controller-runtime if Go is installed. The
page names the tests of its statements about this library.
"""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from blocks import HOME, ROOT

from asoreconcile import CONFIG_MAPS, ObjectKey

GO = ROOT / "tests" / "bench" / "gopeers"
KEY = ObjectKey("default", "tried")


@contextmanager
def running(program, **environment):
    """A process until the end of the block."""
    process = subprocess.Popen(
        program,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def test_kopf_does_what_is_said_of_it(kubeconfig, kube_client, eventually, tmp_path):
    kopf = str(Path(sys.executable).with_name("kopf"))
    told = tmp_path / "facts.json"
    program = [kopf, "run", "-A", "--standalone", "--quiet"]
    program.append(str(Path(__file__).with_name("kopf_trial.py")))
    labels = {"trial": "yes", "colour": "blue"}
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "labels": labels}
    kube_client.create(CONFIG_MAPS, {"metadata": metadata, "data": {"n": "0"}})
    with running(program, KUBECONFIG=kubeconfig, TRIAL_FACTS=str(told)):

        def facts(data):
            assert told.exists()
            seen = json.loads(told.read_text())
            assert seen["handled"][-1][2] == data
            return seen

        eventually(lambda: facts({"n": "0"}), timeout_seconds=60)
        for number in range(1, 6):
            kube_client.patch(CONFIG_MAPS, KEY, {"data": {"n": str(number)}})
        seen = eventually(lambda: facts({"n": "5"}), timeout_seconds=60)
        # By cause, with the object's fields; progress is kept in the object itself.
        assert seen["handled"][0] == ["tried", "create", {"n": "0"}]
        assert {reason for _, reason, _ in seen["handled"][1:]} == {"update"}
        assert seen["one object at once"]
        assert seen["index"] == ["tried"]
        assert not seen["metrics"]
        found = kube_client.get(CONFIG_MAPS, KEY)["metadata"]
        kept = [name for name in found["annotations"] if "kopf" in name]
        assert any("last-handled" in name for name in kept)
        assert any("kopf" in name for name in found["finalizers"])
        kube_client.patch(CONFIG_MAPS, KEY, {"metadata": {"finalizers": None}})


def test_kopf_has_what_is_said_of_it():
    import kopf
    from kopf._cogs.structs import references

    there = set(dir(kopf.on))
    assert {"validate", "mutate", "probe", "field", "event", "delete"} <= there
    assert {"index", "daemon", "timer", "WebhookServer", "adopt", "event"} <= set(
        dir(kopf)
    )
    # Peering is a kind of its own, and no Lease.
    assert "clusterkopfpeerings" in inspect.getsource(references)
    assert '"leases"' not in inspect.getsource(references)
    # It makes a certificate of its own in each process unless it is given one.
    assert "build_certificate" in dir(kopf.WebhookServer)
    assert not [name for name in there if "conver" in name]
    assert not [name for name in dir(kopf) if "metric" in name.lower()]
    assert not [name for name in dir(kopf) if "crd" in name.lower()]
    assert not [name for name in dir(kopf) if name.endswith("Client")]


@pytest.mark.timeout(600)  # the first build compiles client-go
def test_controller_runtime_does_what_is_said_of_it(kubeconfig, tmp_path):
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not there")
    program = tmp_path / "trials"
    built = subprocess.run(
        [go, "build", "-ldflags=-s -w", "-o", program, "./trials"],
        cwd=GO,
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        pytest.skip(f"Go's modules cannot be had: {built.stderr[-300:]}")
    empty = tmp_path / "certificates"
    empty.mkdir()
    done = subprocess.run(
        [program, str(empty)],
        env={**os.environ, "KUBECONFIG": kubeconfig},
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    facts = json.loads(done.stdout)
    assert facts.pop("own writes that were not seen at once, of 20") > 0
    assert facts == {
        "a child wakes its owner": True,
        "annotations of its own": 0,
        "index": True,
        "leads by a Lease": True,
        "metrics": True,
        "one object at once": 1,
        "webhooks without certificates": True,
        "who lost the lease": "leader election lost",
    }


def test_each_row_names_a_test_or_a_command_that_is_there():
    page = (HOME / "comparison.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 12
    there = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        there.update(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))
    assert named <= there, named - there
    for table in re.findall(
        r"^\|.*Tried by \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE
    ):
        for row in table.splitlines():
            tried = row.rstrip(" |").rpartition("|")[2]
            assert "test_" in tried or "hack/bench" in tried, row
