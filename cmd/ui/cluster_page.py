"""The page of a real cluster: the objects that a user may read. It changes nothing."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.ui.event_stream import EventStream
from asoreconcile.azure.cmd.ui.kind_watch import KindWatch
from asoreconcile.azure.cmd.ui.object_rows import parsed_key
from asoreconcile.azure.cmd.ui.objects_index import ObjectsIndex
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.discovery import discover
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.base.threads import start_thread
from asoreconcile.kube.client import KubeClient

_log = Logger(__name__)
_NOT_HERE = (
    "Requests to Azure, the body of the last PUT, queues and budgets are in the "
    "operator's memory, metrics and log: this page reads the cluster alone."
)
_TICK_SECONDS = 0.25
_JOIN_SECONDS = 5.0


class PageError(Exception):
    """A request of the page that is refused: status, and a sentence for people."""

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
        return {"row": row, "history": history}

    def charts(self) -> JsonObject:
        """Return the queues and budgets, as far as they are known."""
        return {"queues": [], "budgets": []}

    def requests(self, after: str) -> JsonObject:  # noqa: ARG002
        """Return the last requests to Azure, the newest first."""
        return {"requests": []}

    def change(self, what: str, wish: JsonObject) -> Any:  # noqa: ARG002
        """Change something. Raises PageError: this page only reads."""
        raise PageError(405, "This page only reads.")

    def kinds(self) -> Mapping[GroupKind, KindVersion]:
        """Return the kinds to watch. Blocking; raises ApiError, TransportError."""
        served = discover(self.client, builtin(), converts=True)
        self._refused = served.refused
        # At a version that people write, whatever form the cluster keeps.
        return {
            group_kind: builtin().version(version.gvk)
            for group_kind, version in served.versions.items()
        }

    def tick(self) -> None:
        """Do what is due, four times a second."""

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
