"""The record of a resource's last PUT, kept in an annotation.

A few hundred bytes of JSON, `v` for its version: the fingerprint of the PUT (`put`) and
of its inputs (`spec`), its time (`at`), the differences that it could not repair, which
are values that Azure overrules or never shows (`known`), and a snapshot of the resource
after the PUT had settled (`rest`). Hashes only, and no secret goes into any.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX
from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

OBSERVED = OWN_PREFIX + "observed"
# A record without a version is of the first one: `put` and `known`, with the same
# meaning.
_VERSION = 2
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


@attrs.frozen
class DriftBaseline:
    """put: of the last PUT; spec: of its inputs; at: when it was sent, in UTC.

    known: marks of differences that remained; rest: the snapshot. "" is not known.
    """

    put: str
    known: frozenset[str] = frozenset()
    rest: str = ""
    spec: str = ""
    at: str = ""

    def dumps(self) -> str:
        """The annotation's text; equal baselines have equal texts."""
        texts = {"at": self.at, "rest": self.rest, "spec": self.spec}
        content: dict[str, Any] = {name: text for name, text in texts.items() if text}
        content |= {"known": sorted(self.known), "put": self.put, "v": _VERSION}
        return jsontext.dumps(content, sort_keys=True).decode()

    def is_unconfirmed(self, mark: str) -> bool:
        """Return whether the difference remained after the PUT, and no PUT was sent for
        it since.
        """
        return _UNCONFIRMED + mark in self.known


def unconfirmed(found: Iterable[str]) -> frozenset[str]:
    """Marks as unconfirmed: of differences that remained after a PUT."""
    return frozenset(_UNCONFIRMED + mark for mark in found)


def extras(known: Iterable[str]) -> frozenset[str]:
    """The marks of undeclared additions in Azure."""
    return frozenset(mark for mark in known if mark.startswith(_EXTRA))


def confirmed(known: Iterable[str]) -> frozenset[str]:
    """The marks that are no longer open."""
    return frozenset(mark for mark in known if not mark.startswith(_UNCONFIRMED))


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
    if found.get("v", 1) not in (1, _VERSION):
        return None
    known = found.get("known")
    known = known if isinstance(known, list) else []
    return DriftBaseline(
        put=found["put"],
        known=frozenset(k for k in known if isinstance(k, str)),
        **{
            name: value
            for name in ("rest", "spec", "at")
            if isinstance(value := found.get(name), str)
        },
    )


def fingerprint(arm_id: str, api_version: str, body: JsonObject, inputs: str) -> str:
    """The fingerprint of a PUT. body: without secrets; inputs: the Secrets it was made
    from.
    """
    text = jsontext.dumps([arm_id.lower(), api_version, body, inputs], sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:_PUT_DIGITS]


def marks(found: Iterable[Difference]) -> frozenset[str]:
    """Each difference as a short hash of where it is, and of both values."""
    return frozenset(difference_mark(one) for one in found)


def difference_mark(one: Difference) -> str:
    """Return the mark of one difference; see `marks`."""
    path = _POSITION.sub("[]", one.path)
    content = [path, one.kind, one.want, one.have]
    text = jsontext.dumps(content, sort_keys=True, default=str)
    mark = hashlib.sha256(text).hexdigest()[:_DIFFERENCE_DIGITS]
    return _EXTRA + mark if one.kind in ("list-extra", "map-extra") else mark


_NONE: Mapping[str, int] = MappingProxyType({})


@attrs.frozen
class RepairAttempts:
    """Marks of one object's differences.

    pending: those that the last PUT should repair. repairs: the number of PUTs for
    each. at: the time of the last PUT, in `Clock.monotonic` seconds.
    """

    pending: frozenset[str] = frozenset()
    repairs: Mapping[str, int] = _NONE
    at: float = 0.0

    def started(self, found: frozenset[str], *, at: float) -> "RepairAttempts":
        """The attempts with one more for each of these, before a PUT for them."""
        more = {difference: self.repairs.get(difference, 0) + 1 for difference in found}
        return RepairAttempts(found, {**self.repairs, **more}, at)

    def most_for(self, found: Iterable[str]) -> int:
        """The highest number of PUTs for one of these differences."""
        return max((self.repairs.get(difference, 0) for difference in found), default=0)

    def max_attempts(self) -> int:
        """The highest number of PUTs for one pending difference."""
        return max((self.repairs[difference] for difference in self.pending), default=0)

    def finished(self, given_up: Iterable[str]) -> "RepairAttempts":
        """After the PUT's result was read; given_up: no PUT is sent for these any
        more.
        """
        dropped = frozenset(given_up)
        left = {m: n for m, n in self.repairs.items() if m not in dropped}
        return RepairAttempts(frozenset(), left, self.at)
