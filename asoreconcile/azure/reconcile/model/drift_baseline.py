"""The record of a resource's last accepted PUT, kept in an annotation.

A few hundred bytes of JSON, `v` for its version: the fingerprint of the PUT (`put`), a
keyed hash of the Secrets in it (`secrets`), its time (`at`), a hash of the annotations
that may change the PUT (`notes`), the differences that the PUT could not repair, which
are values that Azure overrules or never shows (`known`), a snapshot of the resource
after the PUT had settled (`rest`), and numbers of PUTs, from which another process
continues the pauses between PUTs (`repairs`, `followed`).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from asoreconcile.azure.arm.outcomes import Pending
from asoreconcile.azure.arm.text_bounds import RECORD
from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

OBSERVED = OWN_PREFIX + "observed"
# Earlier versions had fingerprints of another making: such a record does not count.
_VERSION = 3
_SETS = ("declared", "owed")
# The names of texts in the record, by field.
_TEXTS = {
    "at": "at",
    "annotations_hash": "notes",
    "places": "places",
    "rest": "rest",
    "secrets": "secrets",
}
# Shortened, as every object carries the annotation. A collision costs one missed PUT,
# until the spec or Azure changes again.
_PUT_DIGITS = 32
# Compared only within one object, which has a handful.
_DIFFERENCE_DIGITS = 12
# Elements without an identity are named by their position, which is arbitrary.
_POSITION = re.compile(r"\[\d+\]")
UNSETTLED = "-"
"""A snapshot that equals no other, for a resource that never matched its spec."""
# Marks of undeclared additions in Azure: their removal is drift, too.
_EXTRA = "+"
# Marks of differences that remained after a PUT and that another PUT may repair: Azure
# does not always apply what it accepts.
_UNCONFIRMED = "?"
_NONE: Mapping[str, int] = MappingProxyType({})


@attrs.frozen
class DriftBaseline:
    """The record of the last accepted PUT.

    put: the fingerprint of the last accepted PUT; "" if it no longer counts. at: the
    time at which the PUT was sent, in UTC. secrets: a keyed hash of the PUT; "" if it
    contains no secret. annotations_hash: a hash of the annotations
    that may change the PUT.
    declared: marks of the names that the PUT declares in maps and lists that other
    writers share. owed: marks of names that earlier PUTs declared and that Azure may
    still have (`middleware.declared`).
    places: hashes of the paths that the PUT declares (`foreign_values`).
    known: marks of differences that remained after the PUT. rest: the snapshot of the
    resource. A value that is not known is "".
    repairs: number of PUTs for each place, as in `RepairAttempts`. followed: number of
    PUTs within an hour, up to this one, that followed a success without an edit
    (`put_budget`).
    """

    put: str
    known: frozenset[str] = frozenset()
    rest: str = ""
    annotations_hash: str = ""
    at: str = ""
    secrets: str = ""
    declared: frozenset[str] = frozenset()
    owed: frozenset[str] = frozenset()
    places: str = ""
    repairs: Mapping[str, int] = _NONE
    followed: int = 0

    def dumps(self) -> str:
        """Return the text of the annotation; equal baselines have equal texts.

        A text that would be too long to be read again leaves out differences, which
        then count as new ones; if that is not enough, all but the PUT's fingerprint.
        """
        text = _written(self)
        if RECORD.fits(text):
            return text
        lost = (len(text) - RECORD.most) // _DIFFERENCE_DIGITS + 1
        known = frozenset(sorted(self.known)[lost:])
        text = _written(attrs.evolve(self, known=known))
        if RECORD.fits(text):
            return text
        return _written(DriftBaseline(self.put, at=self.at, secrets=self.secrets))

    def withdrawn(self) -> "DriftBaseline":
        """Return the record of a PUT that no longer counts, because another one may
        have been sent.

        The declared names are kept.
        """
        return DriftBaseline("", owed=self.declared | self.owed, places=self.places)

    def repairs_after(self, age: float) -> Mapping[str, int]:
        """Return `repairs`, without the one of undeclared values after a day. age:
        seconds since the PUT.
        """
        is_calm = age >= _CALM_SECONDS
        return {
            m: n for m, n in self.repairs.items() if not (is_calm and m == UNDECLARED)
        }

    def is_unconfirmed(self, mark: str) -> bool:
        """Return whether the difference remained after the PUT, and no PUT was sent for
        it since.
        """
        return _UNCONFIRMED + mark in self.known


def _written(baseline: DriftBaseline) -> str:
    texts = {name: getattr(baseline, field) for field, name in _TEXTS.items()}
    content: dict[str, Any] = {name: text for name, text in texts.items() if text}
    marked = {name: sorted(getattr(baseline, name)) for name in _SETS}
    content |= {name: marks for name, marks in marked.items() if marks}
    content |= {"known": sorted(baseline.known), "put": baseline.put, "v": _VERSION}
    counts = {"repairs": dict(baseline.repairs), "followed": baseline.followed}
    content |= {name: count for name, count in counts.items() if count}
    return jsontext.dumps(content, sort_keys=True).decode()


@attrs.frozen
class AcceptedPut:
    """A PUT that Azure accepted, until the object is Ready (D15).

    After the PUT follow the write of its record, the check, the export and the status
    write. If one of them fails, the retry continues there, and does not send the PUT
    again.

    generation: the generation of the spec in the PUT. running: the PUT's operation,
    until its end is known. recreated: whether an event has reported that the PUT
    recreates a deleted resource (`external_deletion`).
    """

    record: DriftBaseline
    generation: int
    running: Pending | None = None
    recreated: bool = False


def unconfirmed(found: Iterable[str]) -> frozenset[str]:
    """Return marks of differences that remained after a PUT, each marked as
    unconfirmed.
    """
    return frozenset(_UNCONFIRMED + mark for mark in found)


def extras(known: Iterable[str]) -> frozenset[str]:
    """Return the marks of undeclared additions in Azure."""
    return frozenset(mark for mark in known if mark.startswith(_EXTRA))


def confirmed(known: Iterable[str]) -> frozenset[str]:
    """Return the marks that are not unconfirmed."""
    return frozenset(mark for mark in known if not mark.startswith(_UNCONFIRMED))


def last_put_of(own: Mapping[str, str]) -> DriftBaseline | None:
    """Return the baseline in an object's annotations, as `loads` does."""
    return loads(own.get(OBSERVED) or "")


def loads(text: str) -> DriftBaseline | None:
    """Return the baseline, or None if the annotation is missing, damaged or of an
    unknown version.
    """
    try:
        found = jsontext.loads(text) if text else None
    except jsontext.JSONDecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("put"), str):
        return None
    if found.get("v") != _VERSION:
        return None
    fields: dict[str, Any] = {
        name: _marks_in(found, name) for name in ("known", *_SETS)
    }
    texts = {field: found.get(name) for field, name in _TEXTS.items()}
    fields |= {name: text for name, text in texts.items() if isinstance(text, str)}
    repairs, followed = found.get("repairs"), found.get("followed")
    repairs = repairs if isinstance(repairs, dict) else {}
    fields["repairs"] = {m: n for m, n in repairs.items() if isinstance(n, int)}
    fields["followed"] = followed if isinstance(followed, int) else 0
    return DriftBaseline(found["put"], **fields)


def _marks_in(found: JsonObject, name: str) -> frozenset[str]:
    marked = found.get(name)
    marked = marked if isinstance(marked, list) else []
    return frozenset(mark for mark in marked if isinstance(mark, str))


def fingerprint(*parts: Any) -> str:
    """Return a fingerprint of JSON values. They must contain no secrets."""
    text = jsontext.dumps(parts, sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:_PUT_DIGITS]


def marks(found: Iterable[Difference]) -> frozenset[str]:
    """Return a short hash of each difference: of its path and both values."""
    return frozenset(difference_mark(one) for one in found)


def difference_mark(one: Difference) -> str:
    """Return the mark of one difference; see `marks`."""
    path = _POSITION.sub("[]", one.path)
    content = [path, one.kind, one.want, one.have]
    text = jsontext.dumps(content, sort_keys=True, default=str)
    mark = hashlib.sha256(text).hexdigest()[:_DIFFERENCE_DIGITS]
    return _EXTRA + mark if one.kind in ("list-extra", "map-extra") else mark


def place_of(one: Difference) -> str:
    """Return the path of a difference, which is the same for all elements of a list
    and for all additions to a map.
    """
    path = replace_elements(one.path, "[]")
    return path.rpartition("/")[0] if one.kind == "map-extra" else path


UNDECLARED = "undeclared"
"""The entry of the repair attempts for all undeclared values together."""

_MOST_CALM = 24
_CALM_SECONDS = 24 * 3600.0


@attrs.frozen
class RepairAttempts:
    """The PUTs that were sent to repair one object's differences.

    pending: marks of differences that the last PUT should repair. repairs: number of
    PUTs for each place (`place_of`): another writer may set another value each time.
    at: time of the last PUT, in `Clock.monotonic` seconds. calm:
    number of syncs in a row since then that found no difference. paused_until: end of
    the pause in which no PUT is sent, by the same clock; None outside such a pause.
    """

    pending: frozenset[str] = frozenset()
    repairs: Mapping[str, int] = _NONE
    at: float = 0.0
    calm: int = 0
    paused_until: float | None = None

    def started(
        self, found: frozenset[str], places: Iterable[str], *, at: float
    ) -> "RepairAttempts":
        """Return the attempts with one more for each of these places, before a PUT that
        should repair the differences. found: the marks of the differences.
        """
        more = {place: self.repairs.get(place, 0) + 1 for place in places}
        return RepairAttempts(found, {**self.repairs, **more}, at)

    def most_for(self, places: Iterable[str]) -> int:
        """Return the highest number of PUTs for one of these places."""
        return max((self.repairs.get(place, 0) for place in places), default=0)

    def in_order(self) -> "RepairAttempts":
        """Return the attempts after a sync that found no difference.

        Attempts for undeclared values are forgotten only after a day of hourly syncs
        without one, because such a value may change by itself at every second sync.
        """
        times, calm = self.repairs.get(UNDECLARED, 0), self.calm + 1
        if not times or calm >= _MOST_CALM:
            return RepairAttempts()
        return RepairAttempts(frozenset(), {UNDECLARED: times}, self.at, calm)

    def finished(self, given_up: Iterable[str]) -> "RepairAttempts":
        """Return the attempts after the PUT's result was read.

        given_up: places of differences for which no PUT is sent any more.
        """
        dropped = frozenset(given_up)
        left = {m: n for m, n in self.repairs.items() if m not in dropped}
        return RepairAttempts(frozenset(), left, self.at)
