"""The page of a real cluster: the objects that a user may read. It changes nothing."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.cluster_reads import ClusterReads
from asoreconcile.azure.cmd.ui.differences_view import spec_and_status
from asoreconcile.azure.cmd.ui.event_stream import EventStream
from asoreconcile.azure.cmd.ui.kind_watch import KindWatch
from asoreconcile.azure.cmd.ui.object_rows import parsed_key
from asoreconcile.azure.cmd.ui.objects_index import ObjectsIndex
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.conditions import DRIFTED, is_ready
from asoreconcile.azure.reconcile.model.pace import period_of
from asoreconcile.azure.reconcile.planning.explanation import (
    event_text,
    explain,
    last_seen,
    times_seen,
)
from asoreconcile.azure.reconcile.state.sync_schedule import seconds_until_sync
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, JsonObject, status, uid_of
from asoreconcile.base.threads import start_thread
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ForbiddenError

_NOT_HERE = (
    "Requests to Azure, the body of the last PUT, queues and budgets are in the "
    "operator's memory, metrics and log: this page reads the cluster alone."
)
_OF_STATUS = (
    "The column of Azure has what the operator last read into the status; fields that "
    "Azure names in another way have no value there. The next sync is that of a period "
    "of one hour, unless an annotation names another."
)
# The operator's default.
_PERIOD_SECONDS = 3600.0
_TICK_SECONDS = 0.25
_JOIN_SECONDS = 5.0


class PageError(Exception):
    """A refused request of the page, with the HTTP status and a sentence for people."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class ClusterPage:
    """Everything that the page shows of a cluster. It reads only.

    It works from `start` to `close`. Safe from any thread.
    """

    mode = "cluster"
    discovery_seconds = 30.0
    missing: tuple[str, ...] = (_NOT_HERE,)

    def __init__(
        self, client: KubeClient, *, server: str, user: str = "", namespace: str = ""
    ) -> None:
        """namespace: the only one that is shown; "" shows all."""
        self.client = client
        self.clock = SystemClock()
        self.index = ObjectsIndex(self.clock.now)
        self.stream = EventStream()
        self._server, self._user, self._namespace = server, user, namespace
        self.watch = KindWatch(
            client, self.index, namespace=namespace, clock=self.clock
        )
        self._problem = ""
        self._refused: Mapping[GroupKind, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="page", daemon=True)

    def start(self) -> None:
        """Begin to watch, on a thread."""
        start_thread(self._thread)

    def close(self) -> None:
        """End all streams and watches. Blocks until the thread has ended."""
        self._stop.set()
        self.stream.close()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)
        self.watch.stop()
        self.clock.close()

    def about(self) -> JsonObject:
        """Return the name of the cluster, and sentences about all that is missing."""
        return {
            "mode": self.mode,
            "server": self._server,
            "user": self._user or None,
            "namespace": self._namespace or None,
            "writable": False,
            "missing": [*self.missing, *self._problems()],
            "faults": [],
        }

    def object(self, key: str) -> JsonObject:
        """Return everything known about an object. Raises PageError 404."""
        row, history = self.index.get(key)
        if row is None:
            raise PageError(404, "There is no such object of Azure.")
        found = self.watch.get(*parsed_key(key))
        if found is None:
            raise PageError(404, "The object was just deleted.")
        version, obj = found
        reads = _PageReads(self.client)
        document = {
            "row": row,
            "history": history,
            "conditions": [_condition(one) for one in _conditions(obj)],
            "explain": attrs.asdict(
                explain(obj, builtin(), reads, now=self.clock.now())
            ),
            "events": [_event(one) for one in reads.seen],
            "requests": [],
            "drift": [
                {"path": "", "about": one.get("message")}
                for one in _conditions(obj)
                if one.get("type") == DRIFTED
            ],
            "nextSync": self._next_sync(obj, reads),
            "lastSync": None,
            "missing": [*reads.refused],
        }
        self.compare(version, obj, document)
        return document

    def compare(
        self, version: KindVersion, obj: JsonObject, document: JsonObject
    ) -> None:
        """Add the difference of an object and Azure to its document."""
        document["difference"] = {"rows": spec_and_status(version, obj)}
        document["missing"] += [_OF_STATUS, _NOT_HERE]

    def charts(self) -> JsonObject:
        """Return the queues and budgets, as far as they are known."""
        return {"queues": [], "budgets": []}

    def requests(self) -> JsonObject:
        """Return the last requests to Azure, the newest first."""
        return {"requests": []}

    def change(self, what: str, wish: JsonObject) -> Any:  # noqa: ARG002
        """Change something. Raises PageError: this page only reads."""
        raise PageError(405, "This page only reads.")

    def kinds(self) -> Mapping[GroupKind, KindVersion]:
        """Return the kinds to watch. Blocking; raises ApiError, TransportError."""
        served = discover(self.client, builtin())
        self._refused = served.refused
        # At a version that people write, whatever form the cluster keeps.
        return {
            group_kind: builtin().version(version.gvk)
            for group_kind, version in served.versions.items()
        }

    def tick(self) -> None:
        """Do the periodic work; called four times a second."""

    def _next_sync(self, obj: JsonObject, reads: "_PageReads") -> str | None:
        """Return the time of a Ready object's next periodic sync; None if it has
        none.
        """
        period = period_of(annotations(obj), reads.inherited, _PERIOD_SECONDS)
        if period is None or not is_ready(obj):
            return None
        now = self.clock.now()
        seconds = seconds_until_sync(
            uid_of(obj), period_seconds=period, now=now.timestamp(), was_synced=False
        )
        return (now + timedelta(seconds=seconds)).isoformat()

    def _run(self) -> None:
        due = 0.0
        while not self._stop.is_set():
            try:
                if self.clock.monotonic() >= due:
                    self.watch.watch(self.kinds())
                    due = self.clock.monotonic() + self.discovery_seconds
                self.tick()
                self._problem = ""
            except AsoreconcileError as error:
                self._problem = str(error)
            if changes := self.index.take_changes():
                self.stream.publish("objects", changes)
            self._stop.wait(_TICK_SECONDS)

    def _problems(self) -> Iterator[str]:
        if self._problem:
            yield f"What is shown may be old: {self._problem}."
        yield from self.watch.problems()
        for group_kind, why in self._refused.items():
            yield f"Objects of {group_kind.kind} are not shown: {why}."


class _PageReads(ClusterReads):
    """Reads for one document, and the sentences about reads that were refused."""

    def __init__(self, client: KubeClient) -> None:
        super().__init__(client)
        self.seen: Sequence[JsonObject] = ()
        self.inherited: JsonObject = {}
        self.refused: list[str] = []

    def events(self, obj: JsonObject) -> Sequence[JsonObject]:
        """Return the events about an object, the oldest first; none if the user may not
        read them.
        """
        try:
            self.seen = super().events(obj)
        except ForbiddenError as error:
            self.refused.append(f"Events are not shown: {error}.")
        return self.seen

    def namespace_annotations(self, namespace: str) -> JsonObject:
        """Return the annotations of a Namespace; none if the user may not read it."""
        try:
            self.inherited = super().namespace_annotations(namespace)
        except ForbiddenError as error:
            self.refused.append(f"What the Namespace says is not counted: {error}.")
        return self.inherited


def _conditions(obj: JsonObject) -> Sequence[JsonObject]:
    return status(obj).get("conditions") or ()


def _condition(one: JsonObject) -> JsonObject:
    names = ("type", "status", "severity", "reason", "message")
    shown = {name: one.get(name) or None for name in names}
    return {**shown, "since": one.get("lastTransitionTime")}


def _event(event: JsonObject) -> JsonObject:
    return {
        "time": last_seen(event) or None,
        "type": event.get("type"),
        "reason": event.get("reason"),
        "message": event_text(event),
        "count": times_seen(event),
    }
