"""Reads many resources by one list instead of a GET for each.

Used by syncs, which read each resource once in a period. A list is read if enough of
its resources were asked for lately to pay for its pages. It is kept for a while, and
each entry is used once. The answer is None if a list may show less than a GET: then the
caller sends a GET, and reports a resource that the list lacks (`distrust`). Rules: Q3,
Q6-Q8.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from math import inf

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.collections import CollectionAddress, collection_of
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.base import jsontext
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.single_flight import SingleFlight

_log = Logger(__name__)
# A page must save at least so many reads.
_READS_A_PAGE = 2
# When to try a refused or too long list again: both may change.
_ASKED_AGAIN_AFTER_SECONDS = 86_400.0
# Beyond it the oldest lists are dropped: their resources are read one by one until the
# next list.
_MAX_KEPT_BYTES = 32 * 1024 * 1024


@attrs.frozen
class _Key:
    """Identifies a list: credential, address, type, api-version."""

    credential: str
    path: str
    arm_type: str
    api_version: str


@attrs.frozen
class ListedBody:
    """A resource from a list. at: start of the list, in monotonic seconds; the body is
    not older.
    """

    body: JsonObject = attrs.field(repr=False)
    at: float


@attrs.define(eq=False)
class _Collection:
    """The state of one list, and of the reads that it would save.

    asked: keys of the resources that were requested since `since`, while there is no
    list. A resource counts once, however often it is requested. started: start of the
    present list. paid: number of reads that its entries have saved. is_whole: whether
    no entry of the list was dropped.
    """

    asked: set[str] = attrs.field(factory=set)
    since: float = 0.0
    started: float | None = None
    pages: int = 1
    paid: int = 0
    refused_until: float = 0.0
    entries: dict[str, bytes] = attrs.field(factory=dict)
    is_whole: bool = True

    def is_worth_it(self) -> bool:
        """Return whether enough resources are requested to justify a list, or the last
        list has saved enough reads.
        """
        if self.started is not None:
            return self.paid >= _READS_A_PAGE * self.pages
        return len(self.asked) > _READS_A_PAGE * self.pages

    def size_bytes(self) -> int:
        return sum(map(len, self.entries.values()))


class CollectionReads:
    """Lists that all syncs share. Safe from any thread."""

    def __init__(self, clock: Clock, *, max_age_seconds: float) -> None:
        """max_age_seconds: the maximum age of a list whose entries are used."""
        self._clock = clock
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._collections: dict[_Key, _Collection] = {}
        # Ordered by time of write, so that old ones are removed without a scan.
        self._written: OrderedDict[str, float] = OrderedDict()
        self._distrusted: set[tuple[str, str]] = set()
        self._under_way: SingleFlight[_Key, None] = SingleFlight()

    def entry(
        self,
        client: ArmClient,
        arm_id: str,
        api_version: str,
        *,
        credential: str,
        seen_at: float,
    ) -> ListedBody | None:
        """Return a resource from its list; None if a GET is needed, also for a resource
        that the list lacks.

        credential: lists are shared only between users of the same one. seen_at: time
        at which the caller last read the resource, in monotonic seconds: an older list
        is not used. Blocks at most until the list is read. Raises ArmTransportError,
        ThrottledError and CredentialError as a GET would; a refusal of the list is not
        raised.
        """
        key = self._looked_up(client, arm_id, api_version, credential)
        return None if key is None else self._taken(key, ids.key(arm_id), seen_at)

    def says_absent(
        self,
        client: ArmClient,
        arm_id: str,
        api_version: str,
        *,
        credential: str,
        since: float,
    ) -> bool:
        """Return whether a list that was started after `since` lacks a resource; False
        if a GET is needed.

        Arguments, requests and errors are those of `entry`.
        """
        key = self._looked_up(client, arm_id, api_version, credential)
        if key is None:
            return False
        id_, now = ids.key(arm_id), self._clock.monotonic()
        with self._lock:
            known = self._collections.get(key)
            if known is None or known.started is None or not self._is_young(known, now):
                return False
            if not known.is_whole:
                return False
            not_before = max(since, self._written.get(id_, -inf))
            is_absent = known.started > not_before and id_ not in known.entries
            known.paid += is_absent
            return is_absent

    def wrote(self, arm_id: str) -> None:
        """Record that a resource was written now, or its operation ended: lists that
        were started before are outdated for it and for the resources that contain it.
        """
        text = ids.key(arm_id)
        with self._lock:
            # Read the clock under the lock: the time of a common parent must not go
            # backwards.
            now = self._clock.monotonic()
            limit = now - self._max_age_seconds
            while self._written and next(iter(self._written.values())) <= limit:
                self._written.popitem(last=False)
            # Each parent id, and partial paths, which are never looked up.
            while text.count("/") > 2:
                self._written[text] = now
                self._written.move_to_end(text)
                text, _, _ = text.rpartition("/")

    def distrust(self, arm_id: str, api_version: str) -> None:
        """Record that a list lacks a resource that a GET shows.

        From now on, until the process ends, resources of its type are read by GET.
        """
        address = collection_of(arm_id)
        if address is None:
            return
        with self._lock:
            self._distrusted.add((address.arm_type, api_version))
            for key in [k for k in self._collections if k.arm_type == address.arm_type]:
                del self._collections[key]
        _log.info(
            "Lists leave out what a GET shows; not used for it any more",
            armType=address.arm_type,
            apiVersion=api_version,
        )

    def _looked_up(
        self, client: ArmClient, arm_id: str, api_version: str, credential: str
    ) -> _Key | None:
        """Return the key of the resource's list, after reading the list if enough
        resources need it.

        None if no list may be used.
        """
        address = collection_of(arm_id)
        if address is None or (address.arm_type, api_version) in self._distrusted:
            return None
        key = _Key(credential, address.path.lower(), address.arm_type, api_version)
        if self._is_wanted(key, ids.key(arm_id)):
            self._under_way.do(key, lambda: self._list(client, key, address))
        return key

    def _is_wanted(self, key: _Key, id_: str) -> bool:
        """Return whether to read a list now. If there is no list, count the resource as
        requested.
        """
        now = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=now))
            if known.refused_until > now or self._is_young(known, now):
                return False
            if known.started is not None and known.is_worth_it():
                return True
            if known.started is not None or now - known.since > self._max_age_seconds:
                known.started, known.asked, known.since = None, set(), now
                known.entries = {}
            known.asked.add(id_)
            return known.is_worth_it()

    def _is_young(self, known: _Collection, now: float) -> bool:
        return known.started is not None and now - known.started < self._max_age_seconds

    def _list(self, client: ArmClient, key: _Key, address: CollectionAddress) -> None:
        started = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=started))
            # Another read ended since this thread checked: the list is there, or was
            # refused or too long, or the type is no longer listed.
            is_settled = self._is_young(known, started) or known.refused_until > started
            if is_settled or not known.is_worth_it():
                return
            affordable = max(1, max(len(known.asked), known.paid) // _READS_A_PAGE)
        entries: dict[str, bytes] = {}
        pages = 0
        try:
            for page in client.pages(address.path, key.api_version):
                pages += 1
                entries.update(_packed(page))
                if pages > affordable:
                    self._too_long(key, affordable)
                    return
        except (ArmError, ForeignHostError) as error:
            lasting = isinstance(error, ForeignHostError) or not error.is_transient
            self._refuse(
                key, _ASKED_AGAIN_AFTER_SECONDS if lasting else self._max_age_seconds
            )
            _log.debug("Not listed; reading one by one", reason=str(error))
            return
        with self._lock:
            if (key.arm_type, key.api_version) in self._distrusted:
                return  # distrusted since the start: no caller may use it
            self._collections[key] = _Collection(
                since=started, started=started, pages=max(pages, 1), entries=entries
            )
            self._make_room()

    def _too_long(self, key: _Key, affordable: int) -> None:
        """Give up a list that is too long for the reads that it saves.

        The list is tried again once enough resources are requested to justify twice its
        pages.
        """
        with self._lock:
            known = self._collections.get(key)
            if known is None:
                return
            known.pages = 2 * affordable
            known.started, known.entries = None, {}

    def _refuse(self, key: _Key, seconds: float) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._collections[key] = _Collection(since=now, refused_until=now + seconds)

    def _make_room(self) -> None:
        """Drop the oldest lists; their resources are read by GET."""
        sizes = {k: c.size_bytes() for k, c in self._collections.items() if c.entries}
        total = sum(sizes.values())
        by_age = sorted(sizes, key=lambda k: self._collections[k].started or 0.0)
        for oldest in by_age:
            if total <= _MAX_KEPT_BYTES:
                return
            self._collections[oldest].entries = {}
            self._collections[oldest].is_whole = False
            total -= sizes[oldest]

    def _taken(self, key: _Key, id_: str, seen_at: float) -> ListedBody | None:
        now = self._clock.monotonic()
        with self._lock:
            known = self._collections.get(key)
            if known is None or known.started is None or not self._is_young(known, now):
                return None
            # Used once; the id stays known as one that the list has.
            if packed := known.entries.get(id_):
                known.entries[id_] = b""
            not_before = max(seen_at, self._written.get(id_, -inf))
            started = known.started
            if not packed or started <= not_before:
                return None
            known.paid += 1
        return ListedBody(jsontext.loads(zlib.decompress(packed)), started)


def _packed(page: list[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Return compressed entries by key, because most lists contain more entries than
    are requested.
    """
    for body in page:
        id_ = body.get("id")
        if isinstance(id_, str):
            yield ids.key(id_), zlib.compress(jsontext.dumps(body), 1)
