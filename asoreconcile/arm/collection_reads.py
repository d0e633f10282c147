"""Resources read together: one list in place of a GET for each of its entries.

For syncs, which look at everything once a period. A list is made where enough
resources of it were asked for lately to pay for its pages, kept for a while, and each
entry is given out once. None is the answer wherever a list may know less than a GET:
then GET. What a list leaves out its reader finds, and says so (`distrust`). Lists are
ARM's, or answers of Resource Graph (`bulk_sources`). Rules: Q3, Q6-Q9.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from math import inf

import attrs

from asoreconcile import jsontext
from asoreconcile.arm import ids
from asoreconcile.arm.bearer import ForeignHostError
from asoreconcile.arm.bulk_sources import ArmLists, BulkReader, BulkSource, Wanted
from asoreconcile.arm.collections import CollectionAddress
from asoreconcile.arm.errors import ArmError
from asoreconcile.arm.graph_rows import NotAnsweredError
from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject
from asoreconcile.single_flight import SingleFlight

_log = Logger(__name__)
# A page is made for at least so many reads that it spares.
_READS_A_PAGE = 2
# Azure may learn to list what it refused to, and a group may shrink.
_ASKED_AGAIN_AFTER_SECONDS = 86_400.0
# The oldest lists give way: their resources are read one by one until the next list.
_MAX_KEPT_BYTES = 32 * 1024 * 1024
# Beyond so many a query over all groups is shorter than their names.
_MOST_GROUPS = 200


@attrs.frozen
class _Key:
    """Which list: whose, where, of what, and at which api-version it is read."""

    credential: str
    path: str
    arm_type: str
    api_version: str


@attrs.frozen
class ListedBody:
    """A resource as a list showed it. at: in monotonic seconds; the body is no older.
    A list shows what was there when it was started, or a lag before that.
    """

    body: JsonObject = attrs.field(repr=False)
    at: float


@attrs.define(eq=False)
class _Collection:
    """asked: resources asked for since `since`, while there is no list. started: of the
    list that is kept. paid: how many reads its entries have spared. groups: of those
    who asked. is_narrowed: the whole was longer than it was worth, and only what those
    groups hold is asked for.
    """

    asked: int = 0
    since: float = 0.0
    started: float | None = None
    pages: int = 1
    paid: int = 0
    refused_until: float = 0.0
    is_narrowed: bool = False
    groups: set[str] = attrs.field(factory=set)
    entries: dict[str, bytes] = attrs.field(factory=dict)

    def is_worth_it(self) -> bool:
        """Whether as many ask as pay for a list, or the last one spared as many."""
        if self.started is not None:
            return self.paid >= _READS_A_PAGE * self.pages
        return self.asked > _READS_A_PAGE * self.pages

    def size_bytes(self) -> int:
        return sum(map(len, self.entries.values()))


class CollectionReads:
    """Lists, shared by all who want an entry. Safe from any thread."""

    def __init__(
        self,
        clock: Clock,
        *,
        max_age_seconds: float,
        source: BulkSource | None = None,
    ) -> None:
        """max_age_seconds: how old a list may be that an entry is taken from. source:
        where lists come from, ARM itself by default.
        """
        self._clock = clock
        self._source = source or ArmLists()
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._collections: dict[_Key, _Collection] = {}
        # The last written at its end: the old ones leave without a look at all.
        self._written: OrderedDict[str, float] = OrderedDict()
        self._distrusted: set[tuple[str, str]] = set()
        self._under_way: SingleFlight[_Key, None] = SingleFlight()

    def entry(
        self,
        client: BulkReader,
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
        address = self._source.address(arm_id)
        if address is None or (address.arm_type, api_version) in self._distrusted:
            return None
        key = _Key(credential, address.path.lower(), address.arm_type, api_version)
        if self._is_wanted(key, address.group):
            self._under_way.do(key, lambda: self._list(client, key, address))
        return self._taken(key, ids.key(arm_id), seen_at)

    def address(self, arm_id: str) -> CollectionAddress | None:
        """The list that a resource is looked for in. Pure."""
        return self._source.address(arm_id)

    def wrote(self, arm_id: str) -> None:
        """A resource was written just now, or its operation ended: lists that were
        started before show neither it nor what it is part of as they are.
        """
        text = ids.key(arm_id)
        with self._lock:
            # Read here: what is above two resources must not go back to the time of
            # the one that was written first.
            now = self._clock.monotonic()
            limit = now - self._max_age_seconds - self._source.lag_seconds
            while self._written and next(iter(self._written.values())) <= limit:
                self._written.popitem(last=False)
            # Each id above it, and paths that are none, which nobody asks for.
            while text.count("/") > 2:
                self._written[text] = now
                self._written.move_to_end(text)
                text, _, _ = text.rpartition("/")

    def distrust(self, arm_id: str, api_version: str) -> None:
        """A list was seen to leave out what a GET shows: the type is read by GET from
        now on, until the process ends.
        """
        address = self._source.address(arm_id)
        if address is None:
            return
        with self._lock:
            self._distrusted.add((address.arm_type, api_version))
            for key in [k for k in self._collections if k.arm_type == address.arm_type]:
                del self._collections[key]
        _log.info(
            f"{self._source.name} leave out what a GET shows; not used for it any more",
            armType=address.arm_type,
            apiVersion=api_version,
        )

    def _is_wanted(self, key: _Key, group: str) -> bool:
        """Whether to make a list now; counts who asks while there is none."""
        now = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=now))
            known.groups.add(group)
            if known.refused_until > now or self._is_young(known, now):
                return False
            if known.started is not None and known.is_worth_it():
                return True
            if known.started is not None or now - known.since > self._max_age_seconds:
                known.started, known.asked, known.since = None, 0, now
                known.entries = {}
            known.asked += 1
            return known.is_worth_it()

    def _is_young(self, known: _Collection, now: float) -> bool:
        return known.started is not None and now - known.started < self._max_age_seconds

    def _list(self, client: BulkReader, key: _Key, address: CollectionAddress) -> None:
        started = self._clock.monotonic()
        with self._lock:
            known = self._collections.setdefault(key, _Collection(since=started))
            # Another list ended since this thread looked: it is there, or was refused,
            # or too long, or the type is not listed any more.
            is_settled = self._is_young(known, started) or known.refused_until > started
            if is_settled or not known.is_worth_it():
                return
            affordable = max(1, max(known.asked, known.paid) // _READS_A_PAGE)
            is_narrowed = known.is_narrowed and len(known.groups) <= _MOST_GROUPS
            groups = set(known.groups)
        wanted = Wanted(
            address,
            key.api_version,
            credential=key.credential,
            groups=frozenset(groups if is_narrowed else ()),
        )
        entries: dict[str, bytes] = {}
        pages = 0
        try:
            for page in self._source.pages(client, wanted):
                pages += 1
                entries.update(_packed(page))
                if pages > affordable:
                    self._too_long(key, affordable)
                    return
        except NotAnsweredError as later:
            self._refuse(key, later.after_seconds)
            _log.debug("Not answered; reading otherwise", reason=str(later))
            return
        except (ArmError, ForeignHostError) as error:
            lasting = isinstance(error, ForeignHostError) or not error.is_transient
            self._refuse(
                key, _ASKED_AGAIN_AFTER_SECONDS if lasting else self._max_age_seconds
            )
            _log.debug("Not listed; reading one by one", reason=str(error))
            return
        if not entries and self._source.can_narrow:
            # An index that knows nothing of the type yet, or never will.
            self._refuse(key, _ASKED_AGAIN_AFTER_SECONDS)
            return
        with self._lock:
            if (key.arm_type, key.api_version) in self._distrusted:
                return  # since it was begun: nobody may go by it, or ever drops it
            # Those that asked while it was made are in the next one.
            before = self._collections.get(key)
            self._collections[key] = _Collection(
                since=started,
                started=started,
                pages=max(pages, 1),
                entries=entries,
                is_narrowed=is_narrowed,
                groups=groups | (before.groups if before else set()),
            )
            self._make_room()

    def _too_long(self, key: _Key, affordable: int) -> None:
        """The list is longer than what it may spare. It is made again, for the groups
        that matter where that helps, once so many ask that twice its pages would pay.
        """
        with self._lock:
            known = self._collections.get(key)
            if known is None:
                return
            if self._source.can_narrow and not known.is_narrowed:
                known.is_narrowed = True
            else:
                known.pages = 2 * affordable
            known.started, known.entries = None, {}

    def _refuse(self, key: _Key, seconds: float) -> None:
        now = self._clock.monotonic()
        with self._lock:
            before = self._collections.get(key) or _Collection()
            self._collections[key] = _Collection(
                since=now,
                refused_until=now + seconds,
                is_narrowed=before.is_narrowed,
                groups=before.groups,
            )

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
            shown_at = known.started - self._source.lag_seconds
            if packed is None or shown_at <= not_before:
                return None
            known.paid += 1
        return ListedBody(jsontext.loads(zlib.decompress(packed)), shown_at)


def _packed(page: list[JsonObject]) -> Iterator[tuple[str, bytes]]:
    """Entries, compressed: most lists hold more than is asked for."""
    for body in page:
        id_ = body.get("id")
        if isinstance(id_, str):
            yield ids.key(id_), zlib.compress(jsontext.dumps(body), 1)
