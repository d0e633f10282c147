"""Record on disk which objects are being reconciled, for the process that comes next.

If the process dies in the middle of reconciles, such as for its memory, one of these
may be the cause. The next process takes these objects last: otherwise it may die again
before it has done anything for the others.

The record is a file that is mapped into memory, so that a reconcile costs no system
call; the kernel keeps what was written, however the process dies. In a pod the file is
in an emptyDir volume, which outlives the containers of the pod, but not the pod.
"""

import fcntl
import mmap
import os
import threading
from pathlib import Path

from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey

_SLOTS, _SLOT_BYTES = 256, 1024
_LENGTH_BYTES = 2
_SEPARATOR = "\0"
_log = Logger(__name__)


class FlightRecord:
    """The record of one process. Safe from any thread."""

    def __init__(self, path: Path) -> None:
        """Open or make the file, and read what the process before has left.

        path: a file that no two processes use at once: if another one holds it, this
        record is off, and so it is if the file cannot be made. Raises nothing.
        """
        self._lock = threading.Lock()
        self._map: mmap.mmap | None = None
        self._free = list(range(_SLOTS))
        self._left: dict[str, set[ObjectKey]] = {}
        try:
            self._open(path)
        except OSError as error:
            _log.warning(
                "Objects in flight are not recorded", file=str(path), error=str(error)
            )

    def left(self, controller: str) -> frozenset[ObjectKey]:
        """Return the objects of a controller that were being reconciled when the
        process before died.
        """
        return frozenset(self._left.get(controller, ()))

    def begin(self, controller: str, key: ObjectKey) -> int | None:
        """Record that a reconcile begins. Returns the number for `end`; None if nothing
        was recorded.
        """
        if self._map is None:
            return None
        text = _SEPARATOR.join((controller, key.namespace, key.name)).encode()
        if len(text) > _SLOT_BYTES - _LENGTH_BYTES:
            return None
        with self._lock:
            if not self._free:
                return None
            slot = self._free.pop()
            start = slot * _SLOT_BYTES
            content = start + _LENGTH_BYTES
            self._map[content : content + len(text)] = text
            # Last: the process may die before.
            self._map[start:content] = len(text).to_bytes(_LENGTH_BYTES, "big")
        return slot

    def end(self, slot: int | None) -> None:
        """Record that a reconcile has ended. slot: result of `begin`."""
        if slot is None or self._map is None:
            return
        with self._lock:
            start = slot * _SLOT_BYTES
            self._map[start : start + _LENGTH_BYTES] = bytes(_LENGTH_BYTES)
            self._free.append(slot)

    def _open(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        opened = os.open(path, flags, 0o600)
        try:
            # Held until the process ends, by the mapping's own copy of the descriptor.
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(opened, _SLOTS * _SLOT_BYTES)
            mapped = mmap.mmap(opened, _SLOTS * _SLOT_BYTES)
        finally:
            os.close(opened)
        for slot in range(_SLOTS):
            self._read(mapped[slot * _SLOT_BYTES : (slot + 1) * _SLOT_BYTES])
        mapped[:] = bytes(len(mapped))
        self._map = mapped
        for controller, keys in self._left.items():
            _log.warning(
                "The process before died while it reconciled these objects: they are "
                "taken last",
                controller=controller,
                objects=sorted(map(str, keys)),
            )

    def _read(self, slot: bytes) -> None:
        length = int.from_bytes(slot[:_LENGTH_BYTES], "big")
        text = slot[_LENGTH_BYTES : _LENGTH_BYTES + length].decode("utf-8", "replace")
        parts = text.split(_SEPARATOR)
        if length and len(parts) == len(("controller", "namespace", "name")):
            controller, namespace, name = parts
            self._left.setdefault(controller, set()).add(ObjectKey(namespace, name))
