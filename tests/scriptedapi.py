"""An API server's answers to an informer, from a script, in order."""

import threading
from collections.abc import Iterator
from typing import Any, Self

import attrs

from asoreconcile.base.objects import JsonObject


def config_map(
    name: str,
    version: int | str,
    *,
    uid: str | None = None,
    namespace: str = "n",
    **data: str,
) -> JsonObject:
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "managedFields": [{"manager": "m"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "data": data,
    }


def bookmark(version: int | str) -> tuple[str, JsonObject]:
    return ("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})


def initial_end(version: int | str) -> tuple[str, JsonObject]:
    meta = {
        "resourceVersion": str(version),
        "annotations": {"k8s.io/initial-events-end": "true"},
    }
    return ("BOOKMARK", {"metadata": meta})


QUIET = object()


class Page:
    """One page of a list."""

    def __init__(
        self, items: list[JsonObject], version: int | str, token: str = ""
    ) -> None:
        self.items = items
        self.resource_version = version
        self.continue_token = token

    def polled(self) -> Any:
        return iter(self.items)

    def close(self) -> None:
        """Do nothing, because there is no connection."""


class Script:
    """Answers of an API server in order. A watch blocks when the script has ended.

    It is a client and its own source in steps, whose steps block.
    A step is `Page`s for a list, a list of events for a watch, or an exception. QUIET
    in a list of events is silence until the watch is closed.
    """

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.calls: list[tuple[str, JsonObject]] = []
        self.streams: list[Stream] = []
        self.dry = threading.Event()
        self.quiet = threading.Event()

    def _next(self) -> Any:
        if not self.steps:
            return None
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    def in_steps(self, _threads: Any) -> Self:
        return self

    def close(self) -> None:
        """Do nothing, because there is no connection."""

    def listing(self, what: Any, place: Any, **_: Any) -> Any:
        yield from ()
        self.calls.append(("list", {**_fields(what), **_fields(place)}))
        return self._next() or Page([], "1")

    def watch(self, what: Any, *, wake: Any, **options: Any) -> Any:
        yield from ()
        del wake
        self.calls.append(("watch", {**_fields(what), **options}))
        self.streams.append(Stream(self, self._next()))
        return self.streams[-1]


def _fields(value: Any) -> JsonObject:
    return attrs.asdict(value, recurse=False)


class Stream:
    def __init__(self, script: Script, events: Any) -> None:
        self.script = script
        self.events = events
        self.closed = threading.Event()

    def polled(self) -> Iterator[Any]:
        if self.events is not None:
            for event in self.events:
                if self.closed.is_set():
                    return
                if isinstance(event, Exception):
                    raise event
                if event is QUIET:
                    self.script.quiet.set()
                    self.closed.wait(30)
                    return
                yield event
            return
        self.script.dry.set()
        self.closed.wait(30)

    def close(self) -> None:
        self.closed.set()
