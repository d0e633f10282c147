"""Groups the objects that are not Ready by their causes. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.reconcile.model.conditions import is_ready, ready_of
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import owner_target
from asoreconcile.azure.reconcile.planning.advice import UNSEEN, advice_on, unseen
from asoreconcile.base.objects import JsonObject, gvk_of, is_deleting, key_of

_WAITING = "WaitingForOwner"

_MOST_TEXT = 300

_State = tuple[str, str, str, bool]


@attrs.frozen
class UnreadyCause:
    """One reason and message, with the objects that have it.

    objects: `Kind namespace/name` of each object whose own condition says so.
    waiting: `Kind namespace/name` of each object that waits for one of these as its
    owner.
    advice: the next step for a person; empty if none is known.
    """

    reason: str
    severity: str
    message: str
    objects: tuple[str, ...]
    waiting: tuple[str, ...]
    advice: str

    def lines(self) -> Iterator[str]:
        """Return the lines to print on a terminal."""
        severity = f", {self.severity}" if self.severity else ""
        long = len(self.message) > _MOST_TEXT
        message = f"{self.message[:_MOST_TEXT]}..." if long else self.message
        yield f"{self.reason}{severity}: {message}".rstrip(": ")
        for name in self.objects:
            yield f"  {name}"
        for name in self.waiting:
            yield f"  {name} (waits for its owner)"
        if self.advice:
            yield f"  To do: {self.advice}"


def causes_of(
    objects: Iterable[JsonObject], catalogue: Catalogue
) -> Sequence[UnreadyCause]:
    """Return why objects are not Ready, the most frequent cause first.

    objects: all Azure objects, also Ready ones, because they may be owners.
    """
    by_place = {_place(obj): obj for obj in objects}
    direct: dict[_State, list[str]] = {}
    waiting: dict[_State, list[str]] = {}
    for place, obj in by_place.items():
        if _is_ready(obj):
            continue
        root = _root(obj, by_place, catalogue)
        found = direct if root is obj else waiting
        found.setdefault(_state(root), []).append(str(place))
    causes = [
        UnreadyCause(
            *state[:3],
            objects=tuple(sorted(direct.get(state, ()))),
            waiting=tuple(sorted(waiting.get(state, ()))),
            advice=_advice(*state),
        )
        for state in {**direct, **waiting}
    ]
    return sorted(causes, key=_order)


def _order(cause: UnreadyCause) -> tuple[int, str, str]:
    return -len(cause.objects) - len(cause.waiting), cause.reason, cause.message


def _root(
    obj: JsonObject,
    by_place: Mapping[ObjectReference, JsonObject],
    catalogue: Catalogue,
) -> JsonObject:
    """Return the owner that an object waits for in the end: the first in the chain of
    owners that does not itself wait.

    Return the object itself if it does not wait, or if its owner does not exist.
    """
    seen = {_place(obj)}
    while _state(obj)[0] == _WAITING:
        place = owner_target(catalogue.version(gvk_of(obj)), obj)
        owner = by_place.get(place) if place else None
        if place is None or owner is None or _is_ready(owner) or place in seen:
            break
        seen.add(place)
        obj = owner
    return obj


def _place(obj: JsonObject) -> ObjectReference:
    return ObjectReference(gvk_of(obj).group_kind, key_of(obj))


def _is_ready(obj: JsonObject) -> bool:
    return is_ready(obj) and not unseen(obj)


def _state(obj: JsonObject) -> _State:
    """Return reason, severity and message of an object's Ready condition, and whether
    the object is being deleted.
    """
    if state := unseen(obj):
        return state, "", "no operator has looked at it", is_deleting(obj)
    condition = ready_of(obj)
    reason, severity, message = (
        str(condition.get(name) or "") for name in ("reason", "severity", "message")
    )
    return reason, severity, message, is_deleting(obj)


def _advice(reason: str, severity: str, message: str, deleting: bool) -> str:
    if reason in UNSEEN:
        return UNSEEN[reason][1]
    return advice_on(reason, severity, message, deleting=deleting)
