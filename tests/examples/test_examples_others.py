"""Controllers that others' tutorials make, with our code: they do what is said there."""

import ephemeral_volumes
import memcached
import pytest
from ephemeral_volumes import EphemeralVolumeClaim, EphemeralVolumeClaimSpec
from memcached import Memcached, MemcachedSpec

from asoreconcile import (
    DEPLOYMENTS,
    PERSISTENT_VOLUME_CLAIMS,
    InvalidError,
    ObjectKey,
    ObjectMeta,
    controller_of,
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

        def available():
            (found,) = app.client.get(Memcached, KEY).status.conditions
            return found.status, found.message

        eventually(lambda: app.client.get(Memcached, KEY).status.conditions)
        assert available() == ("False", "0 of 3 pods are ready")
        ready = {"status": {"replicas": 3, "readyReplicas": 3}}
        kube_client.patch(DEPLOYMENTS, KEY, ready, subresource="status")
        told = "True", "3 of 3 pods are ready"
        eventually(lambda: available() == told)

        # Somebody scales the Deployment by hand: it is scaled back.
        kube_client.patch(DEPLOYMENTS, KEY, {"spec": {"replicas": 9}})
        eventually(lambda: kube_client.get(DEPLOYMENTS, KEY)["spec"]["replicas"] == 3)
        with pytest.raises(InvalidError, match="size"):
            app.client.patch(Memcached, KEY, {"spec": {"size": 6}})


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
