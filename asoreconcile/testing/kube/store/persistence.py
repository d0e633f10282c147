"""What outlives the server's process: a folder with a log of all writes.

Each write is one line that is handed to the operating system before the client gets its
answer, so it outlives the end of this process, SIGKILL included. It outlives a power
failure only with `fsync=True`, which forces every line to the disk. Once the log is
more than twice what it began with, it is written again with only what is still there;
that file is forced to the disk before it takes the old one's place.

A last line that is torn (the process ended in the middle of it) was never answered, and
is dropped. Anything else that is wrong is DataFolderError: no write is lost silently.
"""

import fcntl
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.testing.kube.store.storage import Change, StorageState, StorageTable

_FORMAT = 1
# A small log is written anew too seldom to matter; without slack it would be after
# every few writes.
_SLACK_BYTES = 4 << 20
# Secrets are in it, in the clear.
_PRIVATE = 0o600
_Entry = JsonObject | list[Any]


class DataFolderError(AsoreconcileError):
    """A data folder that cannot be used; the message says why."""


class DataFolder:
    """One server's folder. `load`, then `append` each write. The caller locks."""

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        """Raises DataFolderError when another server has the folder."""
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._log = self.path / "log"
        self._fsync = fsync
        self._file = -1
        self._size = self._base = 0
        self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, _PRIVATE)
        try:
            # The kernel lets go of it however the process ends; a file that only exists
            # would have to be cleared away by hand.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            message = f"another server uses the data folder {self.path}"
            raise DataFolderError(message) from error

    def load(self) -> StorageState:
        """What was there when the last server ended; an empty state at first."""
        objects: dict[tuple[StorageTable, ObjectKey], JsonObject] = {}
        latest: dict[StorageTable, int] = {}
        version = 1
        for entry in self._entries():
            if isinstance(entry, dict):
                version = entry["version"]
                latest |= {StorageTable(*at): seen for *at, seen in entry["latest"]}
                continue
            seen, group, resource, namespace, name, obj = entry
            table, key = StorageTable(group, resource), ObjectKey(namespace, name)
            version = max(version, seen)
            latest[table] = max(latest.get(table, 0), seen)
            if obj is None:
                objects.pop((table, key), None)
            else:
                objects[table, key] = obj
        state = StorageState(
            version, latest, [(*at, obj) for at, obj in objects.items()]
        )
        self._open()
        return state

    def append(self, change: Change) -> None:
        """Write one change down. Blocking: a system call, and with fsync the disk."""
        gone = change.type == "DELETED"
        line = _line(_entry(change.version, change.table, change.key, change.obj, gone))
        self._write(line)
        if self._fsync:
            os.fsync(self._file)

    @property
    def wants_compaction(self) -> bool:
        """True once the log is more than twice what was live when it was last written
        anew.
        """
        return self._size > 2 * self._base + _SLACK_BYTES

    def compact(self, state: StorageState) -> None:
        """Write the log again from what there is."""
        latest = [[at.group, at.resource, seen] for at, seen in state.latest.items()]
        head = {"format": _FORMAT, "version": state.version, "latest": latest}
        fresh = self.path / "log.new"
        with fresh.open("wb") as file:
            # Before anything is in it.
            fresh.chmod(_PRIVATE)
            file.write(_line(head))
            for table, key, obj in state.objects:
                version = int(obj["metadata"]["resourceVersion"])
                file.write(_line(_entry(version, table, key, obj, gone=False)))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._log)
        # The new name is an entry of the folder, which has to be on the disk as well.
        folder = os.open(self.path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self._open()
        self._base = self._size

    def close(self) -> None:
        """Force all to the disk, and let another server have the folder."""
        file, self._file = self._file, -1
        lock, self._lock = self._lock, -1
        try:
            if file >= 0:
                os.fsync(file)
        finally:
            for number in (file, lock):
                if number >= 0:
                    os.close(number)

    def _open(self) -> None:
        # A number that was given back must not be used, nor given back once more: it
        # may be somebody's connection by then.
        before, self._file = self._file, -1
        if before >= 0:
            os.close(before)
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND
        self._file = os.open(self._log, flags, _PRIVATE)
        self._size = os.fstat(self._file).st_size
        if not self._size:
            self._write(_line({"format": _FORMAT, "version": 1, "latest": []}))

    def _write(self, line: bytes) -> None:
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            # No room: half a line must not stay where the next one will begin.
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _entries(self) -> Iterator[_Entry]:
        """All lines of the log; a torn last one is cut off the file."""
        if not self._log.exists():
            return
        whole = 0
        with self._log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for line in file:
                entry = _parsed(line)
                if entry is None:
                    # Bad in the middle: what follows was answered, so this is damage
                    # and no torn end.
                    if whole + len(line) < size:
                        message = f"{self._log} is damaged at byte {whole}"
                        raise DataFolderError(message)
                    break
                if not whole and (
                    not isinstance(entry, dict) or entry.get("format") != _FORMAT
                ):
                    message = f"{self._log} is of another version of this program"
                    raise DataFolderError(message)
                whole += len(line)
                yield entry
        if whole < size:
            os.truncate(self._log, whole)


def _entry(
    version: int, table: StorageTable, key: ObjectKey, obj: JsonObject, gone: bool
) -> _Entry:
    at = [table.group, table.resource, key.namespace, key.name]
    return [version, *at, None if gone else obj]


def _line(entry: _Entry) -> bytes:
    content = orjson.dumps(entry)
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _parsed(line: bytes) -> _Entry | None:
    """None for a line that is not whole."""
    content = line[9:-1]
    try:
        if line[-1:] != b"\n" or int(line[:8], 16) != zlib.crc32(content):
            return None
        found: _Entry = orjson.loads(content)
    except ValueError:
        return None
    return found
