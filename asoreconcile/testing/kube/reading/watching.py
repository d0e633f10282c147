"""Watches: the stored changes after a version, then the following ones, as
JSON lines.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from itertools import chain

import attrs
import orjson

from asoreconcile.base.objects import JsonObject, ObjectKey, metadata
from asoreconcile.testing.http import DropConnection
from asoreconcile.testing.kube.access.attributes import is_true
from asoreconcile.testing.kube.kinds.targets import RequestTarget
from asoreconcile.testing.kube.reading import listing
from asoreconcile.testing.kube.reading.reads import ObjectRenderer
from asoreconcile.testing.kube.reading.selectors import Matches, selected
from asoreconcile.testing.kube.store.storage import Change, Storage, in_namespace
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.status import expired

_LONGEST_SECONDS = 1800.0
# The server sends bookmarks about as often. It also sends one two seconds before the
# end, so that the next watch starts at the end of this one.
_BOOKMARK_SECONDS = 60.0
_BEFORE_END_SECONDS = 2.0


@attrs.frozen
class ClientWatch:
    """The watch of one client.

    start: the version that the client has seen; None is the present one.
    initial_events: whether the watch begins with all objects.
    bookmarks: whether the watch reports its version from time to time, and after the
    initial events.
    """

    renderer: ObjectRenderer
    namespace: str
    matches: Matches
    start: int | None
    timeout_seconds: float
    bookmarks: bool
    initial_events: bool


def asked(
    query: Mapping[str, str], target: RequestTarget, renderer: ObjectRenderer
) -> ClientWatch:
    """Return the watch that a query describes. Raises StatusError."""
    listing.check_watch(query)
    fields = query.get("fieldSelector", "")
    if target.name:
        named = f"metadata.name={target.name}"
        fields = f"{fields},{named}" if fields else named
    matches = selected(query.get("labelSelector", ""), fields, renderer.resource)
    wanted = query.get("resourceVersion", "")
    timeout_seconds = float(listing.number(query, "timeoutSeconds"))
    return ClientWatch(
        renderer=renderer,
        namespace=target.namespace,
        matches=matches,
        start=(listing.parse_version(wanted) or None) if wanted else None,
        timeout_seconds=timeout_seconds if timeout_seconds > 0 else _LONGEST_SECONDS,
        bookmarks=is_true(query, "allowWatchBookmarks"),
        initial_events=listing.wants_initial_events(query),
    )


def lines(storage: Storage, watch: ClientWatch) -> Iterator[bytes]:
    """Return the stream, in chunks of whole lines, until it is cut or its time is over.

    The watch starts when this function is called, not when the stream is first read: a
    client that has the answer's head may write, and must get that event.
    """
    table = watch.renderer.resource.table
    # The cuts are read before the version, so that a cut in between ends this watch,
    # too.
    cuts = storage.cuts
    deadline = time.monotonic() + watch.timeout_seconds
    with storage.lock:
        position = storage.version if watch.start is None else watch.start
        first = storage.items(table) if watch.initial_events else []
        if watch.initial_events:
            position = storage.version
        too_old = storage.is_forgotten(table, position)
    if too_old:
        oldest = storage.oldest(table)
        refusal = expired(f"too old resource version: {position} ({oldest})")
        return iter([_line("ERROR", refusal.document)])
    live = _live(storage, watch, position, cuts, deadline)
    return chain(_initial(watch, first, position), live)


def _initial(
    watch: ClientWatch, first: list[tuple[ObjectKey, JsonObject]], position: int
) -> Iterator[bytes]:
    """Yield the objects at the start, and the mark of their end."""
    chosen = [o for o in in_namespace(first, watch.namespace) if watch.matches(o)]
    if chosen:
        yield b"".join(_line("ADDED", watch.renderer.one(obj)) for obj in chosen)
    if watch.initial_events and watch.bookmarks:
        notes = _initial_end(watch.renderer)
        yield _line("BOOKMARK", watch.renderer.bookmark(position, notes))


def _live(
    storage: Storage, watch: ClientWatch, position: int, cuts: int, deadline: float
) -> Iterator[bytes]:
    """Yield the events after a version, and bookmarks."""
    table = watch.renderer.resource.table
    next_bookmark = _next_bookmark(watch, deadline)
    while not storage.closed:
        if storage.cuts != cuts:
            raise DropConnection
        changes = storage.changes_after(table, position)
        if changes:
            # The position also moves if no event is for this client, so that the client
            # does not get the same changes again.
            position = changes[-1].version
            if chunk := b"".join(_encoded(watch, changes)):
                yield chunk
            continue
        now = time.monotonic()
        if now >= deadline:
            return
        if next_bookmark is not None and now >= next_bookmark:
            with storage.lock:  # a change may have come since the last look
                if storage.last_change(table) > position:
                    continue
                position = max(position, storage.version)
            next_bookmark = _next_bookmark(watch, deadline)
            yield _line("BOOKMARK", watch.renderer.bookmark(position, {}))
            continue
        until = deadline if next_bookmark is None else min(deadline, next_bookmark)
        storage.wait(table, position, until - now)


def _next_bookmark(watch: ClientWatch, deadline: float) -> float | None:
    """Return when to send a bookmark: each minute, and shortly before the
    end; or None.
    """
    if not watch.bookmarks:
        return None
    now = time.monotonic()
    at = min(now + _BOOKMARK_SECONDS, deadline - _BEFORE_END_SECONDS)
    return at if at > now else None


def _initial_end(renderer: ObjectRenderer) -> JsonObject:
    """Return the bookmark that marks the end of the initial events."""
    kind, version = renderer.resource.kind, renderer.resource.api_version
    if renderer.form != "whole":
        kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
    empty: JsonObject = {"kind": f"{kind}List", "apiVersion": version}
    if renderer.form == "whole" and renderer.resource.is_custom:
        empty["items"] = []
        empty = dict(sorted(empty.items()))
    else:
        empty |= {"metadata": {}, "items": None}
    blueprint = base64.b64encode(orjson.dumps(empty) + b"\n").decode()
    return {
        "k8s.io/initial-events-end": "true",
        "kubernetes.io/initial-events-list-blueprint": blueprint,
    }


def _encoded(watch: ClientWatch, changes: list[Change]) -> Iterator[bytes]:
    """Yield a client's events. An object that leaves the selection is a deletion."""
    for change in changes:
        if watch.namespace and change.key.namespace != watch.namespace:
            continue
        was = change.before is not None and watch.matches(change.before)
        is_in = change.type != "DELETED" and watch.matches(change.obj)
        if is_in:
            yield _line("MODIFIED" if was else "ADDED", watch.renderer.one(change.obj))
        elif was and change.before is not None:
            last = change.obj
            if change.type != "DELETED":
                meta = dict(metadata(change.before))
                meta["resourceVersion"] = str(change.version)
                # The event has the last state inside the selection, at the version of
                # the change: the new state is outside the selection, so the client must
                # not see it.
                last = {**change.before, "metadata": meta}
            yield _line("DELETED", watch.renderer.one(last))


def _line(type_: str, obj: JsonObject) -> bytes:
    return deepjson.dumps({"type": type_, "object": obj}) + b"\n"
