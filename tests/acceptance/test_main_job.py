"""The main job on real processes: applied, Ready, deleted, gone."""

import base64
import os
import random
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner
from operation import SAMPLES, WAIT_SECONDS, Operation, free_port, resource_for, samples
from world import resource_group, virtual_network

from asoreconcile.azure.cmd.asoreconcile import main
from asoreconcile.base.objects import ObjectKey, key_of
from asoreconcile.kube.resources import CONFIG_MAPS, EVENTS, SECRETS

_START = "from asoreconcile.azure.cmd.asoreconcile import main; main()"

METRICS = (
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_queue_duration_seconds",
    "workqueue_work_duration_seconds",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_time_seconds",
    "controller_runtime_active_workers",
    "controller_runtime_max_concurrent_reconciles",
    "azure_successful_requests_total",
    "azure_failed_requests_total",
    "azure_requests_time_seconds",
)


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        yield running


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_samples_in_any_order_become_ready_and_go(make_cluster, tmp_path, seed):
    with Operation(tmp_path, cluster=make_cluster()) as operation:
        samples_become_ready_and_go(operation, seed)


def samples_become_ready_and_go(operation, seed):
    objs = samples()
    random.Random(seed).shuffle(objs)
    azure_objs = [obj for obj in objs if obj["kind"] != "Secret"]
    operation.install(*azure_objs)
    operation.start_manager("--verbose")
    for obj in objs:
        operation.apply(obj)
    for obj in azure_objs:
        operation.wait_ready(obj)
    exported = operation.client.get(SECRETS, ObjectKey("default", "shop-redis"))
    identity = operation.client.get(CONFIG_MAPS, ObjectKey("default", "shop-identity"))
    assert set(exported["data"]) == {"primary-key", "host"}
    (assignment,) = operation.requests("PUT", "roleAssignments")
    properties = assignment.body["properties"]
    assert properties["principalId"] == identity["data"]["principal-id"]
    keys = [base64.b64decode(v).decode() for v in exported["data"].values()]
    assert_nothing_leaked(operation, ["Change-me-before-use-1", max(keys, key=len)])
    for obj in azure_objs:
        operation.delete(obj)
    for obj in azure_objs:
        operation.wait_gone(obj)
    assert operation.azure.resources() == {}


def assert_nothing_leaked(operation, values):
    """Secrets are in no log, event or condition, nor in what the API shows of objects."""
    shown = [
        str(operation.client.list_page(resource_for(obj)).items)
        for obj in samples()
        if obj["kind"] != "Secret"
    ]
    events = str(operation.client.list_page(EVENTS).items)
    logs = operation.logs()
    assert "Putting resource" in logs
    for value in [
        *values,
        operation.azure.client_secret,
        *operation.azure.entra.tokens(),
    ]:
        assert value not in logs
        assert value not in events
        assert not any(value in text for text in shown)


def test_metrics_and_health_are_served(operation):
    group = resource_group()
    operation.install(group)
    metrics, health = free_port(), free_port()
    operation.start_manager(
        *("--metrics-addr", f"127.0.0.1:{metrics}", "--secure-metrics=false"),
        *("--health-addr", f"127.0.0.1:{health}"),
    )
    faults = operation.azure.faults
    faults.answer("PUT", "resourceGroups/rg", 409, code="Conflict", message="Busy.")
    faults.drop("PUT", "resourceGroups/rg")
    operation.apply(group)
    operation.wait_ready(group)
    for path in ("healthz", "readyz"):
        with urllib.request.urlopen(f"http://127.0.0.1:{health}/{path}") as answer:
            assert answer.status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics") as answer:
        text = answer.read().decode()
    for name in METRICS:
        assert f"\n{name}" in text, name
    assert 'name="resources_resourcegroup"' in text
    assert 'controller="resources_resourcegroup"' in text
    refused = [line for line in text.splitlines() if 'responseCode="409"' in line]
    assert any(
        line.startswith("azure_successful_requests_total{") and line.endswith(" 1.0")
        for line in refused
    )


def test_d11_a_manager_told_to_compare_puts_only_what_differs(operation):
    group = resource_group(tags={"team": "red"})
    operation.install(group)
    operation.start_manager(ASORECONCILE_SYNC_MODE="compare", AZURE_SYNC_PERIOD="100ms")
    operation.apply(group)
    operation.wait_ready(group)
    read = operation.azure.faults.hold(method="GET", path="rg$", phase="after")
    assert read.wait_arrived(WAIT_SECONDS)
    read.release()
    (id_,) = operation.azure.resources()
    repaired = operation.azure.faults.hold(method="PUT", path="rg$", phase="after")
    operation.azure.seed(id_, {"location": "westeurope", "tags": {"team": "blue"}})
    assert repaired.wait_arrived(WAIT_SECONDS)
    repaired.release()
    assert operation.azure.resources()[id_]["tags"] == {"team": "red"}
    assert operation.wait_event(group, "Drift")["type"] == "Warning"
    assert len(operation.requests("PUT")) == 2


def test_sync_of_kinds_that_come_later(operation):
    """Kinds run as soon as their CRDs are there, and stop with them."""
    group, child = resource_group(), virtual_network()
    operation.install(group)
    operation.start_manager()
    operation.apply(group)
    operation.wait_ready(group)
    operation.install(child)
    operation.apply(child)
    operation.wait_ready(child)
    assert operation.manager.end() == 0  # after SIGTERM


MIXED = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: mixed}
spec: {location: westeurope}
---
apiVersion: network.azure.com/v1api20240301
kind: VirtualNetwork
metadata: {name: old}
spec:
  owner: {name: mixed}
  location: westeurope
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
---
apiVersion: network.azure.com/v20250301
kind: VirtualNetwork
metadata: {name: new}
spec:
  owner: {name: mixed}
  location: westeurope
  addressSpace: {addressPrefixes: [10.1.0.0/16]}
"""


def test_sandbox_takes_manifests_of_several_versions_unless_told_not_to(tmp_path):
    mixed = tmp_path / "mixed.yaml"
    mixed.write_text(MIXED)
    said = _refusal("-f", str(mixed), "--one-version")
    assert "use one version of a kind, or not --one-version" in said
    done = _sandbox(tmp_path, "-f", str(mixed))
    assert done.returncode == 0, done.stderr
    assert "export KUBECONFIG=" in done.stdout
    assert list(tmp_path.iterdir()) == [mixed]
    for name in ("old", "new"):
        assert f"VirtualNetwork default/{name}: Ready=True Succeeded" in done.stdout


def test_sandbox_names_what_is_not_ready(tmp_path):
    for timeout in ("4", "60"):  # on a busy machine nothing has looked at it by then
        args = ("-f", str(SAMPLES / "redis.yaml"), "--timeout", timeout, "--chaos")
        done = _sandbox(tmp_path, *args)
        if "no condition yet" not in done.stderr:
            break
    assert done.returncode == 1
    assert "Redis default/shop-carts-2026 is not Ready: WaitingForOwner" in done.stderr
    assert "owner ResourceGroup 'shop' does not exist" in done.stderr
    assert "fault: lag=*,seconds=5" in done.stdout


def test_sandbox_refuses_what_cannot_be_applied(tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        "apiVersion: resources.azure.com/v1api20200601\n"
        "kind: ResourceGrup\nmetadata: {name: rg}\n"
    )
    said = _refusal("-f", str(bad))
    assert f"{bad}:1" in said
    assert "ResourceGroup" in said


def _refusal(*arguments):
    """Return the message of a sandbox that refuses its arguments."""
    done = CliRunner().invoke(main, ["sandbox", *arguments])
    assert done.exit_code == 2
    return done.stderr


def _sandbox(tmp_path, *arguments):
    """Run a sandbox until it exits; its temporary folder is the test's."""
    with subprocess.Popen(
        [sys.executable, "-c", _START, "sandbox", "--exit-when-ready", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGINT)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def test_key_of_samples_is_in_one_namespace():
    assert {key_of(obj).namespace for obj in samples()} == {"default"}
