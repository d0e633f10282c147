"""The operator as a process, between an API server and an Azure that a test holds.

Both servers run in the test's process, so that it can stop requests, read journals and
set faults; the manager is a real one, to be killed and started again. Waiting is by
watching the API server, never by time.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Self

import orjson
from forkserver import ForkedProcess

from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.azure.controllers import crds
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import JsonObject, ObjectKey, gvk_of, key_of, metadata
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import AlreadyExistsError, ApiError, NotFoundError
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.ports import free_port  # noqa: F401 - with the rest of what managers need

SAMPLES = Path(__file__).resolve().parent.parent / "deploy" / "samples"
_DELAYS = {"ASORECONCILE_DELAYS", "ASORECONCILE_SLOW_MACHINE"}
DELAYED = str(Path(__file__).resolve().parent / "delayed")
WAIT_SECONDS = 60.0
NAMESPACE = "azureserviceoperator-system"


class Operation:
    """Two servers and a manager process. Use as a context manager."""

    def __init__(
        self,
        tmp_path: Path,
        *,
        lro: float = 0.0,
        retry_after: int = 1,
        azure: Any = None,
        neighbour: "Operation | None" = None,
        cluster: Any = None,
    ) -> None:
        """azure: a server to use in place of a simulator with `lro`, `retry_after`.
        neighbour: another operation, whose running Azure this one has too. cluster: an
        API server to use in place of one with a single user.
        """
        self.folder = tmp_path
        self.cluster = cluster or KubeServer()
        self._has_own_azure = neighbour is None
        if neighbour is not None:
            azure = neighbour.azure
        self.azure: Any = azure or ArmServer(lro=lro, retry_after=retry_after)
        self.webhooks: Any = None  # of tests that serve any
        self.manager: ChildProcess | None = None
        self._stack = ExitStack()
        self._starts = 0

    def __enter__(self) -> Self:
        self._stack.enter_context(self.cluster)
        if self._has_own_azure:
            self._stack.enter_context(self.azure)
        self.cluster.write_kubeconfig(self.folder / "kubeconfig")
        self.azure.write_ca(self.folder / "azure-ca.pem")
        config = load(str(self.folder / "kubeconfig"))
        self.client = KubeClient(config, user_agent="tests")
        self._stack.callback(self.client.close)
        return self

    def __exit__(self, *exc: object) -> None:
        if self.manager is not None:
            self.cluster.faults.release_all()
            self.azure.faults.release_all()
            self.manager.end()
        self._stack.close()

    def environment(self) -> dict[str, str]:
        """Return a manager's variables about the two servers and delays."""
        is_delayed = _DELAYS & os.environ.keys()
        delayed = {"PYTHONPATH": DELAYED} if is_delayed else {}
        return {
            **delayed,
            **self.azure.settings(),
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "REQUESTS_CA_BUNDLE": str(self.folder / "azure-ca.pem"),
            "POD_NAMESPACE": NAMESPACE,
        }

    def start_manager(self, *arguments: str, **environment: str) -> ChildProcess:
        self._starts += 1
        told = {**self.environment(), **environment}
        # A pod has its namespace; the record key is kept there.
        own = {"metadata": {"name": told["POD_NAMESPACE"]}}
        with suppress(AlreadyExistsError):
            self.client.create(NAMESPACES, own)
        manager = self.manager = ForkedProcess(
            ["manager", *arguments],
            environment=told,
            log_path=self.folder / f"manager-{self._starts}.log",
        )
        return manager

    def kill_manager(self) -> None:
        """SIGKILL: it gets no chance to write anything."""
        manager = self.manager
        assert manager is not None
        manager.kill()
        assert manager.end() == -signal.SIGKILL
        self.manager = None

    def logs(self) -> str:
        return "\n".join(p.read_text() for p in sorted(self.folder.glob("manager-*")))

    def answer_at_once(self, *types: str) -> None:
        """Let ARM types have no operations: where waiting is not what is tested."""
        for type_ in types:
            at_once = {"create": "201", "update": "200", "delete": "200"}
            self.azure.styles.change(f"Microsoft.{type_}", **at_once)

    def install(self, *objs: JsonObject) -> None:
        """Install the CRDs of some objects' kinds, at the version they are in."""
        for gvk in {gvk_of(obj) for obj in objs}:
            kind = builtin().kind(gvk.group_kind)
            document = crds.manifest(kind, gvk.version)
            self.client.patch(
                CUSTOM_RESOURCE_DEFINITIONS,
                key_of(document),
                document,
                kind="apply",
                field_manager="tests",
                force=True,
            )
        self.wait_served(*objs)

    def wait_served(self, *objs: JsonObject) -> None:
        """Block until the kinds of some objects are served, whoever installs them."""
        resources = {resource_for(obj) for obj in objs}
        missing = {f"{one.plural}.{one.group}" for one in resources}
        stream = self.client.watch(
            CUSTOM_RESOURCE_DEFINITIONS, timeout_seconds=WAIT_SECONDS
        )
        with closing(stream):
            events = iter(stream)
            while missing:
                type_, seen = next(events, ("", None))
                assert seen is not None, f"not served: {missing}\n{self.logs()[-3000:]}"
                if type_ != "BOOKMARK" and _is_established(seen):
                    missing.discard(key_of(seen).name)
        for resource in resources:
            while not self._is_served(resource):  # comes after established
                pass

    def _is_served(self, resource: ApiResource) -> bool:
        try:
            self.client.list_page(resource)
        except NotFoundError:
            return False
        return True

    def apply(self, obj: JsonObject) -> JsonObject:
        obj["metadata"].setdefault("namespace", "default")
        return self.client.patch(
            resource_for(obj),
            key_of(obj),
            obj,
            kind="apply",
            field_manager="tests",
            force=True,
        )

    def apply_once_trusted(self, obj: JsonObject) -> JsonObject:
        """Apply an object, repeatedly until the API server trusts the webhook's
        certificate.
        """
        end = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                return self.apply(obj)
            except ApiError as error:
                if time.monotonic() > end or "webhook" not in str(error):
                    raise

    def delete(self, obj: JsonObject) -> None:
        """Delete an object, unless the server has already collected it after its
        owner.
        """
        with suppress(NotFoundError):
            self.client.delete(resource_for(obj), _key(obj))

    def wait_ready(self, obj: JsonObject) -> JsonObject:
        """Block until an object is Ready at its generation; returns it."""

        def holds(found: JsonObject | None) -> bool:
            ready = _ready(found)
            return (
                found is not None
                and ready.get("status") == "True"
                and ready.get("observedGeneration") == metadata(found)["generation"]
            )

        found = self.wait_for(obj, holds)
        assert found is not None
        return found

    def wait_condition(self, obj: JsonObject, reason: str) -> JsonObject:
        """Block until an object's Ready condition has a reason; the condition."""
        found = self.wait_for(obj, lambda o: _ready(o).get("reason") == reason)
        return _ready(found)

    def edit(self, obj: JsonObject, body: JsonObject) -> JsonObject:
        """Change a part of an object, as a user or another program would."""
        return self.client.patch(resource_for(obj), _key(obj), body)

    def read(self, obj: JsonObject) -> JsonObject:
        return self.client.get(resource_for(obj), _key(obj))

    def wait_event(self, obj: JsonObject, reason: str) -> JsonObject:
        """Block until there is an event of a reason about an object; the event."""

        def is_it(event: JsonObject) -> bool:
            about = event["involvedObject"]
            return (about["kind"], about["name"], event["reason"]) == (
                obj["kind"],
                key_of(obj).name,
                reason,
            )

        page = self.client.list_page(Selection(EVENTS, "default"))
        for event in page.items:
            if is_it(event):
                return event
        stream = self.client.watch(
            Selection(EVENTS, "default"),
            resource_version=page.resource_version,
            timeout_seconds=WAIT_SECONDS,
        )
        with closing(stream):
            for type_, event in stream:
                if type_ != "BOOKMARK" and is_it(event):
                    return event
        message = f"no event {reason} of {key_of(obj)}\n{self.logs()[-3000:]}"
        raise AssertionError(message)

    def events(self) -> list[JsonObject]:
        """All events of namespace default."""
        return self.client.list_page(Selection(EVENTS, "default")).items

    def log_records(self, message: str) -> list[JsonObject]:
        """The manager's log lines with a message, as dicts."""
        lines = [line for line in self.logs().splitlines() if line.startswith("{")]
        return [r for r in map(orjson.loads, lines) if r["message"] == message]

    def wait_gone(self, obj: JsonObject) -> None:
        self.wait_for(obj, lambda found: found is None)

    def wait_for(
        self,
        obj: JsonObject,
        holds: Callable[[JsonObject | None], bool],
        resource: ApiResource | None = None,
    ) -> JsonObject | None:
        """Block until `holds(object or None)`; follows the object by watching it.

        resource: the resource to watch, if it is not that of obj's version.
        """
        resource = resource or resource_for(obj)
        key = _key(obj) if resource.namespaced else key_of(obj)
        deadline = time.monotonic() + WAIT_SECONDS
        found = None
        # Again and again: a CRD that changes ends the watches of its objects.
        while (left := deadline - time.monotonic()) > 0:
            page = self.client.list_page(Selection(resource, key.namespace))
            found = next((o for o in page.items if key_of(o) == key), None)
            if holds(found):
                return found
            stream = self.client.watch(
                Selection(
                    resource, key.namespace, field_selector=f"metadata.name={key.name}"
                ),
                resource_version=page.resource_version,
                timeout_seconds=max(left, 1.0),
            )
            with closing(stream):
                for type_, seen in stream:
                    if type_ == "BOOKMARK":
                        continue
                    found = None if type_ == "DELETED" else seen
                    if holds(found):
                        return found
        message = f"waited in vain for {key}: {_ready(found)}\n{self.logs()[-3000:]}"
        raise AssertionError(message)

    def requests(self, method: str, fragment: str = "") -> list[Any]:
        """The journalled ARM requests of a method whose path holds a text."""
        return [
            r
            for r in list(self.azure.journal)
            if r.method == method and fragment.lower() in r.path.lower()
        ]


def samples() -> list[JsonObject]:
    """The sample manifests' objects."""
    return [m.obj for m in read_manifests([SAMPLES])]


def resource_for(obj: JsonObject) -> ApiResource:
    core = {"Secret": SECRETS, "ConfigMap": CONFIG_MAPS}
    if obj["kind"] in core:
        return core[obj["kind"]]
    return resource_of(builtin().version(gvk_of(obj)))


def _key(obj: JsonObject) -> ObjectKey:
    """An object's key; manifests need not say the namespace."""
    key = key_of(obj)
    return ObjectKey(key.namespace or "default", key.name)


def _is_established(crd: Any) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(
        (one["type"], one["status"]) == ("Established", "True") for one in conditions
    )


def _ready(obj: JsonObject | None) -> JsonObject:
    return find_ready(((obj or {}).get("status") or {}).get("conditions")) or {}
