"""A data folder: a log of all writes, which outlives the server's process.

Each write is one line that the operating system has before the client gets its answer,
so it survives the end of this process, also by SIGKILL. It survives a power failure
only with `fsync=True`, which forces every line to the disk. Once the log is more than
twice its initial size, it is rewritten with the present state. The new file is forced
to the disk before it replaces the old one.

A torn last line (the process ended in the middle of it) was never answered and is
dropped. Any other damage is a DataFolderError: no write is lost silently.
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
# A small log is rewritten too rarely to matter. Without this slack it would be
# rewritten after every few writes.
_SLACK_BYTES = 4 << 20
# The log contains Secrets in plain text.
_PRIVATE = 0o600
_Entry = JsonObject | list[Any]


class DataFolderError(AsoreconcileError):
    """A data folder that cannot be used. The message says why."""


class DataFolder:
    """One server's folder. Call `load`, then `append` each write. The caller locks."""

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        """Open the folder. Raises DataFolderError if another server uses it."""
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._log = self.path / "log"
        self._fsync = fsync
        self._file = -1
        self._size = self._base = 0
        self._lock = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, _PRIVATE)
        try:
            # The kernel releases this lock however the process ends. A lock file would
            # have to be removed by hand.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            message = f"another server uses the data folder {self.path}"
            raise DataFolderError(message) from error

    def load(self) -> StorageState:
        """Return the state when the last server ended, or an empty state at first."""
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
        """Write one change. Blocking: a system call, and with fsync the disk."""
        gone = change.type == "DELETED"
        line = _line(_entry(change.version, change.table, change.key, change.obj, gone))
        self._write(line)
        if self._fsync:
            os.fsync(self._file)

    @property
    def wants_compaction(self) -> bool:
        """Return whether the log is more than twice the size of the live state."""
        return self._size > 2 * self._base + _SLACK_BYTES

    def compact(self, state: StorageState) -> None:
        """Rewrite the log with the present state."""
        latest = [[at.group, at.resource, seen] for at, seen in state.latest.items()]
        head = {"format": _FORMAT, "version": state.version, "latest": latest}
        fresh = self.path / "log.new"
        with fresh.open("wb") as file:
            # The mode is set before any content is written.
            fresh.chmod(_PRIVATE)
            file.write(_line(head))
            for table, key, obj in state.objects:
                version = int(obj["metadata"]["resourceVersion"])
                file.write(_line(_entry(version, table, key, obj, gone=False)))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._log)
        # The new name is an entry of the folder, which must be on the disk as well.
        folder = os.open(self.path, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self._open()
        self._base = self._size

    def close(self) -> None:
        """Force all writes to the disk, and release the folder."""
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
        # A closed descriptor must be neither used nor closed again: its number may by
        # then belong to another connection.
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
            # The disk is full: half a line must not stay before the next line.
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(line)

    def _entries(self) -> Iterator[_Entry]:
        """Yield all lines of the log. A torn last line is cut off the file."""
        if not self._log.exists():
            return
        whole = 0
        with self._log.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for line in file:
                entry = _parsed(line)
                if entry is None:
                    # The damage is in the middle. The lines after it were answered, so
                    # this is not a torn end.
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
    """Return a line's entry, or None if the line is not complete."""
    content = line[9:-1]
    try:
        if line[-1:] != b"\n" or int(line[:8], 16) != zlib.crc32(content):
            return None
        found: _Entry = orjson.loads(content)
    except ValueError:
        return None
    return found
