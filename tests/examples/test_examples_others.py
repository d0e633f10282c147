"""Controllers that others' tutorials make, with our code: they do what is said there."""

from contextlib import closing

import ephemeral_volumes
import memcached
import pytest
from ephemeral_volumes import EphemeralVolumeClaim, EphemeralVolumeClaimSpec
from memcached import Memcached, MemcachedSpec

from asoreconcile import (
    DEPLOYMENTS,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    InvalidError,
    ObjectKey,
    ObjectMeta,
    controller_of,
    resource_of,
)

KEY = ObjectKey("default", "one")
META = {"name": KEY.name, "namespace": KEY.namespace}


def test_a_memcached_is_a_deployment_of_its_size(kubeconfig, kube_client, eventually):
    app = memcached.application(kubeconfig)
    with app.running():
        app.wait_until_ready()
        cache = Memcached(ObjectMeta(**META), MemcachedSpec(size=3))
        app.client.create(Memcached, cache)
        made = eventually(lambda: kube_client.get(DEPLOYMENTS, KEY))
        assert made["spec"]["replicas"] == 3
        assert controller_of(made)["kind"] == "Memcached"

        def told():
            found = app.client.get(Memcached, KEY).status.conditions
            return {one.type: (one.status, one.message) for one in found}

        eventually(lambda: told() == {"Available": ("True", "a Deployment of 3")})

        # Somebody scales the Deployment by hand: it is scaled back.
        kube_client.patch(DEPLOYMENTS, KEY, {"spec": {"replicas": 9}})
        eventually(lambda: kube_client.get(DEPLOYMENTS, KEY)["spec"]["replicas"] == 3)
        app.client.patch(Memcached, KEY, {"spec": {"size": 1}})
        eventually(lambda: told()["Available"][1] == "a Deployment of 1")
        assert kube_client.get(DEPLOYMENTS, KEY)["spec"]["replicas"] == 1
        with pytest.raises(InvalidError, match="size"):
            app.client.patch(Memcached, KEY, {"spec": {"size": 4}})


def test_a_memcached_that_goes_says_so(kubeconfig, kube_client, eventually):
    app = memcached.application(kubeconfig)
    with app.running():
        app.wait_until_ready()
        app.client.create(Memcached, Memcached(ObjectMeta(**META)))
        eventually(lambda: app.client.get(Memcached, KEY).metadata.finalizers)
        stream = kube_client.watch(resource_of(Memcached), timeout_seconds=30)
        with closing(stream) as changes:
            app.client.delete(Memcached, KEY)
            seen = []
            for kind, obj in changes:
                seen += obj.get("status", {}).get("conditions", [])
                if kind == "DELETED":
                    break
        degraded = [one["status"] for one in seen if one["type"] == "Degraded"]
        assert list(dict.fromkeys(degraded)) == ["Unknown", "True"]
        event = eventually(lambda: list(kube_client.list_all(EVENTS)))[0]
        assert (event["reason"], event["type"]) == ("Deleting", "Warning")


def test_a_volume_is_claimed_and_takes_labels_along(
    kubeconfig, kube_client, eventually
):
    app = ephemeral_volumes.application(kubeconfig)
    with app.running():
        app.wait_until_ready()
        spec = EphemeralVolumeClaimSpec(size="1Gi")
        app.client.create(
            EphemeralVolumeClaim, EphemeralVolumeClaim(ObjectMeta(**META), spec)
        )
        claim = eventually(lambda: kube_client.get(PERSISTENT_VOLUME_CLAIMS, KEY))
        assert controller_of(claim)["name"] == "one"
        assert claim["spec"]["resources"]["requests"] == {"storage": "1Gi"}
        eventually(
            lambda: app.client.get(EphemeralVolumeClaim, KEY).status.claim == "one"
        )

        change = {"metadata": {"labels": {"team": "shop"}}}
        app.client.patch(EphemeralVolumeClaim, KEY, change)
        eventually(lambda: labels(kube_client).get("team") == "shop")
        change = {"metadata": {"labels": {"team": None, "tier": "two"}}}
        app.client.patch(EphemeralVolumeClaim, KEY, change)
        eventually(lambda: labels(kube_client) == {"tier": "two"})


def labels(client):
    found = client.get(PERSISTENT_VOLUME_CLAIMS, KEY)
    return found["metadata"].get("labels", {})
