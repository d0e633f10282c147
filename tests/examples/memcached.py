"""What Operator SDK's tutorial makes: a Memcached runs as a Deployment of that size.

The function is the tutorial's (a Deployment for each Memcached, kept at its size; a
condition that says so; a finalizer that says goodbye with an event); the code is ours.
"""

import os
import sys
from typing import Annotated, Literal

import attrs

from asoreconcile import (
    DEPLOYMENTS,
    Application,
    Conditions,
    JsonObject,
    NotFoundError,
    ObjectMeta,
    PrinterColumn,
    Schema,
    log,
    resource,
    to_dict,
    update_condition,
)

FINALIZER = "cache.example.com/finalizer"


@attrs.define
class MemcachedSpec:
    size: Annotated[int, "How many pods there are.", Schema(minimum=1, maximum=3)] = 1
    container_port: int = 11211


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
        self.image = os.environ.get("MEMCACHED_IMAGE", "memcached:1.6-alpine")

    def reconcile(self, cache: Memcached) -> None:
        if cache.metadata.is_deleting:
            self.finalize(cache)
            return
        if not cache.status.conditions or FINALIZER not in cache.metadata.finalizers:
            cache = self.app.cached.update(cache, begin)
        if self.size_of(cache) != cache.spec.size:
            self.app.apply(cache, self.deployment(cache), resource=DEPLOYMENTS)
        self.app.cached.update(cache, available)

    def finalize(self, cache: Memcached) -> None:
        if FINALIZER not in cache.metadata.finalizers:
            return
        cache = self.app.cached.update(cache, ending)
        name = cache.metadata.name
        self.app.recorder.event(
            to_dict(cache), "Warning", "Deleting", f"{name} is deleted"
        )
        cache = self.app.cached.update(cache, ended)
        self.app.cached.update(cache, lambda c: c.metadata.finalizers.remove(FINALIZER))

    def size_of(self, cache: Memcached) -> int | None:
        try:
            found = self.app.cached.get(DEPLOYMENTS, cache.metadata.key)
        except NotFoundError:
            return None
        size: int = found["spec"]["replicas"]
        return size

    def deployment(self, cache: Memcached) -> JsonObject:
        labels = {"app.kubernetes.io/name": "memcached"}
        labels["app.kubernetes.io/instance"] = cache.metadata.name
        container = {
            "name": "memcached",
            "image": self.image,
            "command": ["memcached", "--memory-limit=64", "-o", "modern", "-v"],
            "ports": [
                {"name": "memcached", "containerPort": cache.spec.container_port}
            ],
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


def begin(cache: Memcached) -> None:
    if FINALIZER not in cache.metadata.finalizers:
        cache.metadata.finalizers.append(FINALIZER)
    if not cache.status.conditions:
        report(cache, "Available", "Unknown", "Reconciling", "not looked at yet")


def available(cache: Memcached) -> None:
    message = f"a Deployment of {cache.spec.size}"
    report(cache, "Available", "True", "Reconciled", message)


def ending(cache: Memcached) -> None:
    report(cache, "Degraded", "Unknown", "Finalizing", "it is deleted")


def ended(cache: Memcached) -> None:
    report(cache, "Degraded", "True", "Finalizing", "all is done")


def report(
    cache: Memcached,
    kind: str,
    status: Literal["True", "False", "Unknown"],
    reason: str,
    message: str,
) -> None:
    update_condition(
        cache.status.conditions,
        kind,
        status,
        reason,
        message,
        observed_generation=cache.metadata.generation,
    )


def application(kubeconfig: str | None = None) -> Application:
    app = Application("memcached", cluster=kubeconfig)
    app.install_crds(Memcached)
    app.reconcile(Memcached, Memcacheds(app).reconcile).owns(DEPLOYMENTS)
    return app


if __name__ == "__main__":
    log.configure(json=True)
    sys.exit(application().run())
