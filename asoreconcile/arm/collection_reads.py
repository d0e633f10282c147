"""Resources read together: one list in place of a GET for each of its entries.

For syncs, which look at everything once a period. A list is made where enough
resources of it were asked for lately to pay for its pages, kept for a while, and each
entry is given out once. None is the answer wherever a list may know less than a GET:
then GET. What a list leaves out its reader finds, and says so (`distrust`).
Rules: Q3, Q6-Q8.
"""

import threading
import zlib
from collections.abc import Iterator
from math import inf
from typing import Protocol

import attrs

from asoreconcile import jsontext
from asoreconcile.arm import ids
from asoreconcile.arm.collections import CollectionAddress, collection_of
from asoreconcile.arm.errors import ArmError
from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject
from asoreconcile.single_flight import SingleFlight

_log = Logger(__name__)
# A page is made for at least so many reads that it spares.
_READS_A_PAGE = 2
# Azure may learn to list what it refused to, and a group may shrink.
_ASKED_AGAIN_AFTER_SECONDS = 86_400.0
_MAX_KEPT_BYTES = 32 * 1024 * 1024
_Key = tuple[str, str, str]


class PageReader(Protocol):
    """Reads a list page by page (`arm.client.ArmClient`)."""

    def pages(self, path: str, api_version: str) -> Iterator[list[JsonObject]]:
        """One request a page, as the iteration gets there. Blocks; raises ArmError."""


@attrs.frozen
class ListedBody:
    """A resource as a list showed it. at: when the list was started, in monotonic
    seconds: the body is no older.
    """

    body: JsonObject = attrs.field(repr=False)
    at: float


@attrs.define(eq=False)
class _Collection:
    """asked: resources asked for since `since`, while there is no list. started: of the
    list that is kept. paid: how many reads its entries have spared.
    """

    asked: int = 0
    since: float = 0.0
    started: float | None = None
    pages: int = 1
    paid: int = 0
    refused_until: float = 0.0
    entries: dict[str, bytes] = attrs.field(factory=dict)

    def size_bytes(self) -> int:
        return sum(map(len, self.entries.values()))


class CollectionReads:
    """Lists, shared by all who want an entry. Safe from any thread."""

    def __init__(self, clock: Clock, *, max_age_seconds: float) -> None:
        """max_age_seconds: how old a list may be that an entry is taken from."""
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._collections: dict[_Key, _Collection] = {}
        self._written: dict[str, float] = {}
        self._distrusted: set[tuple[str, str]] = set()
        self._under_way: SingleFlight[_Key, None] = SingleFlight()

    def entry(
        self,
        client: PageReader,
        arm_id: str,
        api_version: str,
        *,
        credential: str,
        seen_at: float,
    ) -> ListedBody | None:
        """A resource by its list; None where only a GET can tell, 404 included.

        credential: whose it is; what one may read is not shown to another. seen_at:
        when the caller last read the resource, in monotonic seconds: nothing older is
        shown. Blocks for the list at most. Raises ArmTransportError, ThrottledError and
        CredentialError as a GET would; a refusal of the list is none of the resource.
        """
        address = collection_of(arm_id)
        if address is None or (address.arm_type, api_version) in self._distrusted:
            return None
        key = (credential, address.path.lower(), api_version)
        if self._is_wanted(key):
            self._under_way.do(key, lambda: self._list(client, key, address))
        return self._taken(key, ids.key(arm_id), seen_at)

    def wrote(self, arm_id: str) -> None:
        """A resource was written just now, or its operation ended: lists that were
        started before show neither it nor what it is part of as they are.
        """
        now = self._clock.monotonic()
        text = ids.key(arm_id)
        with self._lock:
            if len(self._written) > 1024:
                limit = now - self._max_age_seconds
                self._written = {i: at for i, at in self._written.items() if at > limit}
            # Each id above it, and paths that are none, which nobody asks for.
            while text.count("/") > 2:
                self._written[text] = now
                text, _, _ = text.rpartition("/")

    def distrust(self, arm_id: str, api_version: str) -> None:
        """A list was seen to leave out what a GET shows: the type is read by GET from
        now on, until the process ends.
        """
        address = collection_of(arm_id)
        if address is None:
            return
        with self._lock:
            self._distrusted.add((address.arm_type, api_version))
            for key in [k for k in self._collections if _holds(k, address)]:
                del self._collections[key]
        _log.info(
            "Lists leave out what a GET shows; reading one by one",
            armType=address.arm_type,
            apiVersion=api_version,
        )

    def _is_wanted(self, key: _Key) -> bool:
        """Whether to make a list now; counts who asks while there is none."""
        now = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=now))
            if known.refused_until > now or self._is_young(known, now):
                return False
            if known.started is not None and known.paid >= _READS_A_PAGE * known.pages:
                return True
            if known.started is not None or now - known.since > self._max_age_seconds:
                known.started, known.asked, known.since = None, 0, now
                known.entries = {}
            known.asked += 1
            return known.asked > _READS_A_PAGE * known.pages

    def _is_young(self, known: _Collection, now: float) -> bool:
        return known.started is not None and now - known.started < self._max_age_seconds

    def _list(self, client: PageReader, key: _Key, address: CollectionAddress) -> None:
        started = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=started))
            if self._is_young(known, started):
                return  # another list ended since this thread looked
            affordable = max(1, max(known.asked, known.paid) // _READS_A_PAGE)
        entries: dict[str, bytes] = {}
        pages = 0
        try:
            for page in client.pages(address.path, key[2]):
                pages += 1
                entries.update(_packed(page))
                if pages > affordable:
                    self._refuse(key, _ASKED_AGAIN_AFTER_SECONDS)
                    return
        except ArmError as error:
            lasting = not error.is_transient
            self._refuse(
                key, _ASKED_AGAIN_AFTER_SECONDS if lasting else self._max_age_seconds
            )
            _log.debug("Not listed; reading one by one", reason=str(error))
            return
        with self._lock:
            self._collections[key] = _Collection(
                since=started, started=started, pages=max(pages, 1), entries=entries
            )
            self._make_room()

    def _refuse(self, key: _Key, seconds: float) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._collections[key] = _Collection(since=now, refused_until=now + seconds)

    def _make_room(self) -> None:
        """Forget the oldest lists; what was in them is read by GET."""
        sizes = {k: c.size_bytes() for k, c in self._collections.items() if c.entries}
        total = sum(sizes.values())
        by_age = sorted(sizes, key=lambda k: self._collections[k].started or 0.0)
        for oldest in by_age:
            if total <= _MAX_KEPT_BYTES:
                return
            self._collections[oldest].entries = {}
            total -= sizes[oldest]

    def _taken(self, key: _Key, id_: str, seen_at: float) -> ListedBody | None:
        now = self._clock.monotonic()
        with self._lock:
            known = self._collections.get(key)
            if known is None or known.started is None or not self._is_young(known, now):
                return None
            packed = known.entries.pop(id_, None)
            not_before = max(seen_at, self._written.get(id_, -inf))
            if packed is None or known.started <= not_before:
                return None
            known.paid += 1
            started = known.started
        return ListedBody(jsontext.loads(zlib.decompress(packed)), started)


def _packed(page: list[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Entries as small as can be: most lists hold more than is asked for."""
    for body in page:
        id_ = body.get("id")
        if isinstance(id_, str):
            yield ids.key(id_), zlib.compress(jsontext.dumps(body), 1)


def _holds(key: _Key, address: CollectionAddress) -> bool:
    listed = collection_of(f"{key[1]}/x")
    return listed is not None and listed.arm_type == address.arm_type
