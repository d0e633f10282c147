"""What an application says of its work: one line each, and nothing while it is quiet."""

import logging

import pytest

from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import CONFIG_MAPS, ApiResource
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions
from asoreconcile.runtime.reconciler import Result

WEBSITES = ApiResource("example.com", "v1", "websites", "Website")
ONE = {"metadata": {"name": "one", "namespace": "default"}}


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.DEBUG, "asoreconcile")

    def said(message):
        found = [one for one in caplog.records if one.msg == message]
        return [(one.levelname, one.asoreconcile_fields) for one in found]

    return said


def test_a_program_says_what_it_does(kubeconfig, kube_client, eventually, said):
    kube_client.create(CONFIG_MAPS, ONE)
    tries = []

    def reconcile(request):
        tries.append(request.key)
        if len(tries) == 1:
            raise RetryError("the printer is busy", after_seconds=0.01)
        return Result()

    app = Application(
        "greeter",
        cluster=kubeconfig,
        leader_election=LeaderElectionOptions("greeter", namespace="default"),
    )
    app.reconcile(CONFIG_MAPS, reconcile)
    app.reconcile(WEBSITES, reconcile)
    with app.running():
        eventually(lambda: len(tries) == 2)
        eventually(lambda: said("Watch failed"))
        eventually(lambda: said("Reconciled"))
    ((level, start),) = said("Application starts")
    assert (level, start["application"], start["user"]) == ("INFO", "greeter", "admin")
    assert start["server"].startswith("https://127.0.0.1:")
    assert start["watching"] == ["ConfigMap", "Website.example.com"]
    assert said("Leading")[0][1]["lease"] == "default/greeter"
    ((level, synced),) = said("Watching")
    assert (level, synced["kinds"], synced["queued"]) == ("INFO", ["ConfigMap"], 1)
    assert synced["syncedInSeconds"] < 20
    ((level, failed),) = said("Reconcile failed")
    assert level == "ERROR"
    assert ObjectKey(failed["namespace"], failed["name"]) == ObjectKey("default", "one")
    assert failed["error"] == "RetryError: the printer is busy"
    assert (failed["attempt"], failed["retryInSeconds"]) == (1, 0.01)
    levels = [level for level, _ in said("Watch failed")]
    assert levels == ["WARNING"] + ["DEBUG"] * (len(levels) - 1)
    assert "install the CRD" in said("Watch failed")[0][1]["toDo"]
    assert [one["because"] for _, one in said("Reconcile is due")] == ["Added"]
    assert said("Kubernetes request")
    assert [level for level, _ in said("Stopped")] == ["INFO"]
    assert said("Stopping")[0][1]["because"] == "stop was called"
