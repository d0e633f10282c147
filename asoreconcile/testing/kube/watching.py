"""Watches: the stored changes after a version, then those to come, as JSON lines."""

import time
from collections.abc import Iterator, Mapping

import attrs
import orjson

from asoreconcile.objects import JsonObject, metadata
from asoreconcile.testing.http import DropConnection
from asoreconcile.testing.kube.reads import Dress
from asoreconcile.testing.kube.selectors import Matches, selected
from asoreconcile.testing.kube.status import (
    Cause,
    StatusError,
    bad_request,
    expired,
    invalid,
)
from asoreconcile.testing.kube.storage import Change, Storage, in_namespace

_LONGEST_SECONDS = 1800.0
_BOOKMARK_SECONDS = 60.0
_INITIAL_END: JsonObject = {"k8s.io/initial-events-end": "true"}


@attrs.frozen
class Watch:
    """What one client watches. start: the version it has seen; None is "from now"."""

    dress: Dress
    namespace: str
    matches: Matches
    start: int | None
    timeout_seconds: float
    bookmarks: bool
    initial_events: bool


def asked(query: Mapping[str, str], namespace: str, dress: Dress) -> Watch:
    """The watch of a query. Raises StatusError."""
    initial = query.get("sendInitialEvents", "") in ("1", "true")
    if initial and query.get("resourceVersionMatch") != "NotOlderThan":
        cause = Cause(
            "resourceVersionMatch",
            "FieldValueForbidden",
            "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
            "NotOlderThan",
        )
        raise invalid("ListOptions", "meta.k8s.io", "", [cause])
    version = query.get("resourceVersion", "") or "0"
    try:
        start = int(version)
        timeout = float(query.get("timeoutSeconds") or _LONGEST_SECONDS)
    except ValueError as error:
        if not version.isdigit():
            # The real server's answer, though it is the client's fault.
            message = f'strconv.ParseUint: parsing "{version}": invalid syntax'
            raise StatusError(500, "InternalError", message) from error
        raise bad_request("timeoutSeconds is not a number") from error
    return Watch(
        dress=dress,
        namespace=namespace,
        matches=selected(
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            dress.resource.kind,
        ),
        start=start or None,
        timeout_seconds=timeout,
        bookmarks=query.get("allowWatchBookmarks", "") in ("1", "true"),
        initial_events=initial,
    )


def lines(storage: Storage, watch: Watch) -> Iterator[bytes]:
    """The stream, in chunks of whole lines, until its time is over or it is cut."""
    table = watch.dress.resource.table
    cuts = storage.cuts
    deadline = time.monotonic() + watch.timeout_seconds
    with storage.lock:
        position = storage.version if watch.start is None else watch.start
        too_old = storage.is_forgotten(table, position)
        first = (
            storage.items(table) if watch.start is None or watch.initial_events else []
        )
        if watch.initial_events:
            position = storage.version
    if too_old:
        refusal = expired(f"too old resource version: {position}")
        yield _line("ERROR", refusal.document)
        return
    chosen = [o for o in in_namespace(first, watch.namespace) if watch.matches(o)]
    if chosen:
        yield b"".join(_line("ADDED", watch.dress.one(obj)) for obj in chosen)
    if watch.initial_events:
        yield _line("BOOKMARK", watch.dress.bookmark(position, _INITIAL_END))
    next_bookmark = time.monotonic() + _BOOKMARK_SECONDS
    while not storage.closed:
        if storage.cuts != cuts:
            raise DropConnection
        changes = storage.changes_after(table, position)
        if changes:
            position = changes[-1].version
            if chunk := b"".join(_told(watch, changes)):
                yield chunk
            continue
        now = time.monotonic()
        if now >= deadline:
            break
        if watch.bookmarks and now >= next_bookmark:
            next_bookmark = now + _BOOKMARK_SECONDS
            with storage.lock:  # a change may have come since we looked
                if storage.last_change(table) > position:
                    continue
                position = max(position, storage.version)
            yield _line("BOOKMARK", watch.dress.bookmark(position, {}))
            continue
        storage.wait(table, position, min(deadline, next_bookmark) - now)
    if watch.bookmarks:
        yield _line("BOOKMARK", watch.dress.bookmark(position, {}))


def _told(watch: Watch, changes: list[Change]) -> Iterator[bytes]:
    """What a client hears of changes: leaving its selection is a deletion to it."""
    for change in changes:
        if watch.namespace and change.key.namespace != watch.namespace:
            continue
        was = change.before is not None and watch.matches(change.before)
        is_in = change.type != "DELETED" and watch.matches(change.obj)
        if is_in:
            yield _line("MODIFIED" if was else "ADDED", watch.dress.one(change.obj))
        elif was and change.before is not None:
            last = change.obj
            if change.type != "DELETED":
                meta = dict(metadata(change.before))
                meta["resourceVersion"] = str(change.version)
                last = {**change.before, "metadata": meta}
            yield _line("DELETED", watch.dress.one(last))


def _line(type_: str, obj: JsonObject) -> bytes:
    return orjson.dumps({"type": type_, "object": obj}) + b"\n"
