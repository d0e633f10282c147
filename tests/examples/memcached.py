"""What Operator SDK's tutorial makes: a Memcached runs as a Deployment of that size.

The function is the tutorial's (a Deployment for each Memcached, kept at its size, a
condition that says whether it is available); the code is ours.
"""

import sys
from typing import Annotated

import attrs

from asoreconcile import (
    DEPLOYMENTS,
    Application,
    Conditions,
    JsonObject,
    ObjectMeta,
    PrinterColumn,
    Schema,
    log,
    resource,
    to_dict,
    update_condition,
)


@attrs.define
class MemcachedSpec:
    size: Annotated[int, "How many pods there are.", Schema(minimum=1, maximum=5)] = 1
    image: str = "memcached:1.6-alpine"
    port: Annotated[int, Schema(minimum=1, maximum=65535)] = 11211


@attrs.define
class MemcachedStatus:
    conditions: Conditions = attrs.field(factory=list)


@resource(
    "cache.example.com/v1alpha1",
    plural="memcacheds",
    columns=[PrinterColumn("Size", ".spec.size")],
)
@attrs.define
class Memcached:
    """A cache of so many pods."""

    metadata: ObjectMeta
    spec: MemcachedSpec = attrs.field(factory=MemcachedSpec)
    status: MemcachedStatus = attrs.field(factory=MemcachedStatus)


class Memcacheds:
    def __init__(self, app: Application) -> None:
        self.app = app

    def reconcile(self, cache: Memcached) -> None:
        if cache.metadata.is_deleting:
            return
        found = self.app.apply(to_dict(cache), deployment(cache), resource=DEPLOYMENTS)
        ready = found.get("status", {}).get("readyReplicas", 0)

        def report(obj: Memcached) -> None:
            is_there = ready >= cache.spec.size
            update_condition(
                obj.status.conditions,
                "Available",
                "True" if is_there else "False",
                "Running" if is_there else "Starting",
                f"{ready} of {cache.spec.size} pods are ready",
                observed_generation=cache.metadata.generation,
            )

        self.app.cached.update(cache, report)


def deployment(cache: Memcached) -> JsonObject:
    labels = {"app.kubernetes.io/name": "memcached"}
    labels["app.kubernetes.io/instance"] = cache.metadata.name
    container = {
        "name": "memcached",
        "image": cache.spec.image,
        "command": ["memcached", "--memory-limit=64", "-o", "modern", "-v"],
        "ports": [{"name": "memcached", "containerPort": cache.spec.port}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": cache.metadata.name,
            "namespace": cache.metadata.namespace,
        },
        "spec": {
            "replicas": cache.spec.size,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container]},
            },
        },
    }


def application(kubeconfig: str | None = None) -> Application:
    app = Application("memcached", cluster=kubeconfig)
    app.install_crds(Memcached)
    app.reconcile(Memcached, Memcacheds(app).reconcile).owns(DEPLOYMENTS)
    return app


if __name__ == "__main__":
    log.configure(json=True)
    sys.exit(application().run())
