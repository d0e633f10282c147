"""The one-line players of controllers: both servers accept their writes."""

from contextlib import closing, suppress
from datetime import datetime

import pytest
from learnkinds import samples

from asoreconcile.base.objects import ObjectKey, copy_json, dig, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    INGRESSES,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
)
from asoreconcile.testing.kube import kubeconfigs
from asoreconcile.testing.playing import (
    bind_claim,
    complete_job,
    end_pod,
    fail_job,
    finish_pod,
    make_ready,
    run_pod,
)

SMALL = {o["kind"]: o for o in samples() if o["metadata"]["name"] == "small"}


@pytest.fixture
def client(server, tmp_path):
    document = kubeconfigs.kubeconfig(
        server.url, server.authority_pem.encode(), server.token
    )
    kubeconfigs.write(tmp_path / "kubeconfig", kubeconfigs.text(document))
    with closing(
        KubeClient(load(str(tmp_path / "kubeconfig")), user_agent="t")
    ) as made:
        yield made


@pytest.fixture
def make(client, namespace):
    def make(resource, **meta):
        obj = copy_json(SMALL[resource.kind])
        if resource.namespaced:
            obj["metadata"]["namespace"] = namespace
        else:
            obj["metadata"]["name"] = namespace
        obj["metadata"].update(meta)
        return client.create(resource, obj)

    yield make
    with suppress(NotFoundError):
        client.delete(NODES, ObjectKey("", namespace))


def condition(obj, sort):
    found = dig(obj, "status.conditions") or []
    return next((one["status"] for one in found if one["type"] == sort), None)


READY = {
    DEPLOYMENTS: {"readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1},
    REPLICA_SETS: {"readyReplicas": 1, "replicas": 1, "observedGeneration": 1},
    STATEFUL_SETS: {"readyReplicas": 1, "updatedReplicas": 1},
    DAEMON_SETS: {"numberReady": 1, "desiredNumberScheduled": 1},
    SERVICES: {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    INGRESSES: {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
    POD_DISRUPTION_BUDGETS: {"disruptionsAllowed": 1, "observedGeneration": 1},
    PERSISTENT_VOLUME_CLAIMS: {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    NODES: {},
}


@pytest.mark.parametrize("resource", READY, ids=lambda one: one.kind)
def test_all_is_well_in_one_line(client, make, resource):
    obj = make(resource)
    if resource == SERVICES:
        kind = {"spec": {"type": "LoadBalancer"}}
        obj = client.patch(SERVICES, key_of(obj), kind)
    make_ready(client, obj)
    status = client.get(resource, key_of(obj))["status"]
    for item in (status.get("loadBalancer") or {}).get("ingress") or ():
        item.pop("ipMode", None)
    assert status.items() >= READY[resource].items()  # type: ignore[attr-defined]
    # Again, as after an update, does as well.
    make_ready(client, obj)


def test_a_deployment_is_ready_as_it_is_now(client, make):
    obj = make(DEPLOYMENTS)
    scaled = client.patch(DEPLOYMENTS, key_of(obj), {"spec": {"replicas": 3}})
    done = make_ready(client, obj)
    assert done["status"]["readyReplicas"] == 3
    assert done["status"]["observedGeneration"] == scaled["metadata"]["generation"]
    assert condition(done, "Available") == "True"


def test_a_pod_runs_ends_and_goes(client, make):
    pod = make(PODS)
    running = run_pod(client, pod, node="one", ip="192.0.2.9")
    assert running["spec"]["nodeName"] == "one"
    assert running["status"]["podIP"] == "192.0.2.9"
    assert condition(running, "Ready") == "True"
    assert dig(running, "status.containerStatuses")[0]["ready"] is True
    make_ready(client, running)  # once more: it has a node already
    failed = finish_pod(client, running, exit_code=3)
    assert failed["status"]["phase"] == "Failed"
    (ended,) = failed["status"]["containerStatuses"]
    assert ended["state"]["terminated"]["exitCode"] == 3


def test_a_pod_that_is_deleted_stays_until_it_has_ended(client, make):
    pod = make_ready(client, make(PODS))
    client.delete(PODS, key_of(pod))
    assert client.get(PODS, key_of(pod))["metadata"]["deletionTimestamp"]
    end_pod(client, pod)
    with pytest.raises(NotFoundError):
        client.get(PODS, key_of(pod))


def test_a_job_completes_or_fails(client, make):
    done = complete_job(client, make(JOBS, name="done"))
    assert (done["status"]["succeeded"], condition(done, "Complete")) == (1, "True")
    assert datetime.fromisoformat(done["status"]["completionTime"])
    failed = fail_job(client, make(JOBS, name="failed"), message="no such file")
    assert condition(failed, "Failed") == "True"
    assert failed["status"]["conditions"][-1]["message"] == "no such file"
    assert condition(make_ready(client, make(JOBS, name="ready")), "Complete") == "True"


def test_a_claim_gets_the_volume_that_is_named(client, make):
    bound = bind_claim(client, make(PERSISTENT_VOLUME_CLAIMS), volume="disk-1")
    assert bound["spec"]["volumeName"] == "disk-1"
    assert bound["status"]["accessModes"] == ["ReadWriteOnce"]


def test_nobody_plays_other_kinds(client, namespace):
    obj = {"metadata": {"name": "one", "namespace": namespace}}
    made = client.create(CONFIG_MAPS, obj)
    with pytest.raises(ValueError, match="nobody plays ConfigMap here, but"):
        make_ready(client, made)
