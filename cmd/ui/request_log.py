"""The requests that the simulated Azure got, without secrets."""

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from asoreconcile.azure.arm.ids import ArmIdError, parse
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.planning.planned_change import secret_names
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.redaction import HIDDEN
from asoreconcile.testing.arm.outputs import is_secret

MOST_SHOWN = 200
_MOST_KEPT = 2000


class RequestLog:
    """The last requests, and the body of the last PUT of each resource.

    Safe from any thread.
    """

    def __init__(self, key_of_id: Callable[[str], str | None], clock: Clock) -> None:
        """key_of_id: returns the object of an Azure resource."""
        self._key_of_id = key_of_id
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: deque[tuple[str, JsonObject]] = deque(maxlen=_MOST_KEPT)
        self._last_puts: dict[str, Any] = {}
        self.count = 0

    def add(self, entries: list[JsonObject]) -> list[JsonObject]:
        """Add entries of the simulator's journal; return them as the page shows
        them.
        """
        shown = [self._shown(entry) for entry in entries]
        with self._lock:
            self.count += len(entries)
            for entry, one in zip(entries, shown, strict=True):
                self._kept.append((entry["resource"], one))
                if entry["method"] == "PUT" and 200 <= entry["status"] < 300:
                    self._last_puts[entry["resource"]] = one["body"]
        return shown

    def last(self, arm_id: str = "") -> list[JsonObject]:
        """Return the last requests, the newest first. arm_id: only requests about this
        resource; "" for all.
        """
        with self._lock:
            kept = [
                (resource, one)
                for resource, one in self._kept
                if not arm_id or resource == arm_id.lower()
            ]
        # An object may have got its id after its first requests.
        return [
            {**one, "key": self._key_of_id(resource)}
            for resource, one in reversed(kept[-MOST_SHOWN:])
        ]

    def last_put(self, arm_id: str) -> Any:
        """Return the last accepted body for a resource, or None."""
        with self._lock:
            return self._last_puts.get(arm_id.lower())

    def _shown(self, entry: JsonObject) -> JsonObject:
        ago = timedelta(seconds=self._clock.monotonic() - entry["at"])
        at: datetime = self._clock.now() - ago
        return {
            "time": at.isoformat(),
            "method": entry["method"],
            "path": entry["path"],
            "status": entry["status"] or None,
            "ms": round(entry["seconds"] * 1000, 1),
            "key": self._key_of_id(entry["resource"]),
            "body": hidden(entry["body"], _type_of(entry["resource"])),
        }


def hidden(value: Any, arm_type: str) -> Any:
    """Return a copy of a body without the values of secret members.

    arm_type: type whose tables say which members get their values from Secrets.
    """
    return _hidden(value, _secrets_of(arm_type.lower()))


@cache
def _secrets_of(arm_type: str) -> frozenset[str]:
    found = (one for one in builtin().kinds() if one.is_arm)
    versions = (one.version() for one in found)
    return frozenset().union(
        *(secret_names(v.table) for v in versions if v.arm_type.lower() == arm_type)
    )


def _hidden(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            name: HIDDEN
            if inner and (name.lower() in names or is_secret(name))
            else _hidden(inner, names)
            for name, inner in value.items()
        }
    return [_hidden(one, names) for one in value] if isinstance(value, list) else value


def _type_of(resource: str) -> str:
    try:
        return parse(resource).type
    except ArmIdError:
        return ""  # of Microsoft Graph
