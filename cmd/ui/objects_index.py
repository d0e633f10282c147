"""The rows of all objects of the page, and the history of their conditions.

A row is made when its object changes, not when a client asks for it.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.ui.object_rows import row_of
from asoreconcile.base.objects import JsonObject, status

_MOST_HISTORY = 100


class ObjectsIndex:
    """The present rows, by key. Safe from any thread."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """now: the wall clock, for changes of conditions."""
        self._now = now
        self._lock = threading.Lock()
        self._version = 0
        self._rows: dict[str, JsonObject] = {}
        self._by_id: dict[str, str] = {}
        self._history: dict[str, deque[JsonObject]] = {}
        self._pending: set[str] = set()

    def put(self, version: KindVersion, obj: JsonObject) -> None:
        """Add an object, or replace its row."""
        row = row_of(version, obj)
        conditions = status(obj).get("conditions") or ()
        key = row["key"]
        with self._lock:
            before = self._rows.get(key)
            self._note(key, conditions, is_new=before is None)
            if row == before:
                return
            self._rows[key] = row
            if row["armId"]:
                self._by_id[row["armId"].lower()] = key
            self._pending.add(key)

    def remove(self, key: str) -> None:
        """Forget an object and its history."""
        with self._lock:
            row = self._rows.pop(key, None)
            self._history.pop(key, None)
            if row is None:
                return
            self._pending.add(key)
            arm_id = (row["armId"] or "").lower()
            if self._by_id.get(arm_id) == key:
                del self._by_id[arm_id]

    def take_changes(self) -> JsonObject | None:
        """Return the rows that changed since the last call; None if none did."""
        with self._lock:
            if not self._pending:
                return None
            self._version += 1
            found = {key: self._rows.get(key) for key in sorted(self._pending)}
            self._pending.clear()
            return {
                "version": self._version,
                "changed": [row for row in found.values() if row],
                "gone": [key for key, row in found.items() if row is None],
            }

    def all(self) -> JsonObject:
        """Return the version and every row."""
        with self._lock:
            return {"version": self._version, "objects": list(self._rows.values())}

    def get(self, key: str) -> tuple[JsonObject | None, list[JsonObject]]:
        """Return the row of an object, or None, and its history of conditions, the
        oldest first.
        """
        with self._lock:
            return self._rows.get(key), list(self._history.get(key, ()))

    def key_of_id(self, arm_id: str) -> str | None:
        """Return the key of the object for an Azure resource, also for a part of the
        resource.
        """
        with self._lock:
            at = arm_id.lower()
            while at and at not in self._by_id:
                at = at.rpartition("/")[0]
            return self._by_id.get(at)

    def _note(
        self, key: str, conditions: Sequence[JsonObject], *, is_new: bool
    ) -> None:
        history = self._history.setdefault(key, deque(maxlen=_MOST_HISTORY))
        last = {one["type"]: one for one in history}
        for condition in conditions:
            shown = {
                name: condition.get(name) or None
                for name in ("type", "status", "reason", "message")
            }
            before = last.get(str(shown["type"]))
            if before and all(before[name] == value for name, value in shown.items()):
                continue
            seen = condition.get("lastTransitionTime") if is_new else None
            history.append({"time": seen or self._now().isoformat(), **shown})
