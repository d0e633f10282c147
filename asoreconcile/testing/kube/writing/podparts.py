"""The subresources of a Pod that accept POST: its binding to a node, and its eviction.

Raises StatusError as the API server does: 409 if the Pod has a node, 429 if a
PodDisruptionBudget forbids the eviction.
"""

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, ObjectKey, dig, metadata, spec
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.kinds.workloadrules import selects
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire.status import (
    StatusError,
    bad_request,
    conflict,
    not_found,
)
from asoreconcile.testing.kube.writing.deletion import Deletions
from asoreconcile.testing.kube.writing.options import DeleteOptions, WriteOptions
from asoreconcile.testing.kube.writing.writes import WriteHandler

_BUDGETS = StorageTable("policy", "poddisruptionbudgets")
_SUCCESS: JsonObject = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
_RETRY_SECONDS = 10


class PodParts:
    """Bindings and evictions. Safe to use from any thread."""

    def __init__(
        self,
        storage: Storage,
        writes: WriteHandler,
        deletions: Deletions,
        clock: Clock,
    ) -> None:
        self._storage = storage
        self._writes = writes
        self._deletions = deletions
        self._clock = clock

    def post(
        self,
        resource: RestResource,
        key: ObjectKey,
        part: str,
        body: JsonObject,
        options: WriteOptions,
    ) -> JsonObject:
        """Return the answer to a POST to a Pod's subresource."""
        pod = self._storage.get(resource.table, key)
        if pod is None:
            raise not_found(resource.plural, resource.group, key.name)
        if part == "binding":
            return self._bind(resource, key, body, options)
        return self._evict(resource, key, pod, body, options)

    def _bind(
        self,
        resource: RestResource,
        key: ObjectKey,
        body: JsonObject,
        options: WriteOptions,
    ) -> JsonObject:
        node = str(dig(body, "target.name") or "")
        if not node:
            raise bad_request("target.name: Required value")

        def bound(pod: JsonObject) -> JsonObject:
            held = pod.setdefault("spec", {})
            if held.get("nodeName"):
                why = f'pod {key.name} is already assigned to node "{held["nodeName"]}"'
                raise conflict("pods/binding", "", key.name, why)
            return {**pod, "spec": {**held, "nodeName": node}}

        self._writes.patch(resource, key, bound, options)
        self._mark(resource, key, options, {"type": "PodScheduled", "status": "True"})
        return _SUCCESS

    def _evict(
        self,
        resource: RestResource,
        key: ObjectKey,
        pod: JsonObject,
        body: JsonObject,
        options: WriteOptions,
    ) -> JsonObject:
        stated = body.get("deleteOptions") or {}
        if dig(pod, "status.phase") in ("Running", None):
            self._take_from_budget(key, pod, dry_run=options.dry_run)
        evicted = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        if not options.dry_run:
            self._mark(resource, key, options, evicted)
        self._deletions.delete(
            resource,
            key,
            DeleteOptions(
                preconditions=stated.get("preconditions") or {},
                propagation=str(stated.get("propagationPolicy") or ""),
                dry_run=options.dry_run,
                user=options.user,
                grace_seconds=stated.get("gracePeriodSeconds"),
            ),
        )
        return _SUCCESS

    def _take_from_budget(
        self, key: ObjectKey, pod: JsonObject, *, dry_run: bool
    ) -> None:
        """Count an eviction on the Pod's budget, if it has one."""
        labels = metadata(pod).get("labels") or {}
        with self._storage.lock:
            chosen = [
                (at, one)
                for at, one in self._storage.items(_BUDGETS)
                if at.namespace == key.namespace
                and selects(spec(one).get("selector") or {}, labels)
            ]
            if len(chosen) > 1:
                why = "This pod has more than one PodDisruptionBudget, which the "
                raise StatusError(
                    500, "InternalError", f"{why}eviction subresource does not support."
                )
            for at, budget in chosen:
                if not _is_ready(pod) and _lets_sick_go(budget):
                    continue
                self._count(at, budget, key.name, dry_run=dry_run)

    def _count(
        self, at: ObjectKey, budget: JsonObject, name: str, *, dry_run: bool
    ) -> None:
        """Count an eviction. The caller holds the lock."""
        status, meta = budget.get("status") or {}, metadata(budget)
        if status.get("observedGeneration", 0) < meta.get("generation", 0):
            why = f"The disruption budget {at.name} is still being processed by the "
            raise _refused(f"{why}server.")
        allowed = int(status.get("disruptionsAllowed") or 0)
        if allowed <= 0:
            needs, has = (
                status.get("desiredHealthy", 0),
                status.get("currentHealthy", 0),
            )
            raise _refused(
                f"The disruption budget {at.name} needs {needs} healthy pods and has "
                f"{has} currently"
            )
        if dry_run:
            return
        noted = {**(status.get("disruptedPods") or {}), name: self._now()}
        version = self._storage.next_version()
        changed = {
            **budget,
            "metadata": {**meta, "resourceVersion": version},
            "status": {
                **status,
                "disruptionsAllowed": allowed - 1,
                "disruptedPods": noted,
            },
        }
        self._storage.put(_BUDGETS, at, changed)

    def _mark(
        self,
        resource: RestResource,
        key: ObjectKey,
        options: WriteOptions,
        condition: JsonObject,
    ) -> None:
        def marked(pod: JsonObject) -> JsonObject:
            status = pod.get("status") or {}
            others = [
                one
                for one in status.get("conditions") or ()
                if one.get("type") != condition["type"]
            ]
            stamped = {
                **condition,
                "lastProbeTime": None,
                "lastTransitionTime": self._now(),
            }
            return {**pod, "status": {**status, "conditions": [*others, stamped]}}

        self._writes.patch(resource, key, marked, options, subresource="status")

    def _now(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_ready(pod: JsonObject) -> bool:
    conditions = dig(pod, "status.conditions") or ()
    return any(
        c.get("type") == "Ready" and c.get("status") == "True" for c in conditions
    )


def _lets_sick_go(budget: JsonObject) -> bool:
    """Return whether a Pod that is not ready may be evicted without being counted."""
    if spec(budget).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy", 0)
    return bool(0 < wanted <= status.get("currentHealthy", 0))


def _refused(why: str) -> StatusError:
    return StatusError(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        details={
            "causes": [{"reason": "DisruptionBudget", "message": why}],
            "retryAfterSeconds": _RETRY_SECONDS,
        },
    )
