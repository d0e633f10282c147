"""A simple model of the Kubernetes API for one kind.

The state machine in test_contract_model.py compares servers with it. Fields of `spec`
are owned one by one; the golden answers cover everything else in managedFields.
"""

import json
from typing import Any

import attrs
from contractclient import Json

_COLORS = ("red", "green", "blue")
_LARGEST = 100
Owner = tuple[str, str]  # a manager, and whether it applies or updates


@attrs.frozen
class Outcome:
    """The part of an answer that is the same on every server.

    obj: the object without its variable parts; None for refusals and deletions.
    is_new: whether the object's version is a new one.
    """

    status: int
    reason: str = ""
    obj: Json | None = None
    is_new: bool = False


@attrs.define
class _Stored:
    """An object, its version, and the owners of its spec's fields."""

    obj: Json
    version: int
    owners: dict[str, set[Owner]] = attrs.field(factory=dict)


class Model:
    """Objects by name, and the events of watches: (type, name, object)."""

    def __init__(self) -> None:
        self._stored: dict[str, _Stored] = {}
        self._version = 0
        self.events: list[tuple[str, str, Json]] = []

    def close(self) -> None:
        """Do nothing, because there are no resources to release."""

    def create(self, name: str, spec: Json, finalizers: list[str]) -> Outcome:
        if _is_invalid(spec):
            return Outcome(422, "Invalid")
        if name in self._stored:
            return Outcome(409, "AlreadyExists")
        obj = {"spec": _defaulted(spec), "finalizers": finalizers, "generation": 1}
        found = _Stored(obj | {"status": None, "deleting": False}, 0)
        _own(found, {}, ("client", "Update"))
        return self._store(name, found, 201)

    def replace(
        self, name: str, spec: Json, finalizers: list[str], *, is_stale: bool
    ) -> Outcome:
        """Replace an object.

        is_stale: whether the request has an older version than the last.
        """
        if (found := self._stored.get(name)) is None:
            return Outcome(404, "NotFound")
        if is_stale:
            return Outcome(409, "Conflict")
        return self._change(name, found, {"spec": spec, "finalizers": finalizers})

    def patch(self, name: str, change: Json) -> Outcome:
        """Merge a patch into the spec and, with `finalizers`, set the finalizers."""
        if (found := self._stored.get(name)) is None:
            return Outcome(404, "NotFound")
        spec = {**found.obj["spec"], **change.get("spec", {})}
        spec = {field: value for field, value in spec.items() if value is not None}
        finalizers = change.get("finalizers", found.obj["finalizers"])
        return self._change(name, found, {"spec": spec, "finalizers": finalizers})

    def patch_status(self, name: str, value: int) -> Outcome:
        if (found := self._stored.get(name)) is None:
            return Outcome(404, "NotFound")
        return self._update(name, found, found.obj | {"status": {"value": value}})

    def apply(self, name: str, manager: str, spec: Json, *, force: bool) -> Outcome:
        owner = (manager, "Apply")
        found = self._stored.get(name)
        live: Json = found.obj["spec"] if found else {}
        owners = _copied(found)
        for field, value in spec.items():
            others = owners.get(field, set()) - {owner}
            if others and live.get(field) != value:
                if not force:
                    return Outcome(409, "Conflict")
                owners[field] = set()
        wanted = live | spec
        for field in [f for f, held in owners.items() if owner in held]:
            if field not in spec:
                owners[field].discard(owner)
                if not owners[field]:
                    del owners[field], wanted[field]
        if _is_invalid(wanted):
            return Outcome(422, "Invalid")
        for field in spec:
            owners.setdefault(field, set()).add(owner)
        if found is None:
            head: dict[str, Any] = {"finalizers": [], "generation": 1, "status": None}
            obj = head | {"spec": _defaulted(wanted), "deleting": False}
            return self._store(name, _Stored(obj, 0, owners), 201)
        # Owners are part of the object, so a change of owners alone is a change.
        is_same = owners == found.owners
        obj = found.obj | {"spec": _defaulted(wanted)}
        if obj["spec"] != live:
            obj["generation"] += 1
        elif is_same:
            return Outcome(200, obj=_copy(obj))
        return self._store(name, _Stored(obj, 0, owners), 200)

    def delete(self, name: str) -> Outcome:
        if (found := self._stored.get(name)) is None:
            return Outcome(404, "NotFound")
        if not found.obj["finalizers"]:
            return self._remove(name, found.obj, None)
        if found.obj["deleting"]:
            return Outcome(200, obj=_copy(found.obj))
        generation = found.obj["generation"] + 1
        going = found.obj | {"deleting": True, "generation": generation}
        return self._store(name, _Stored(going, 0, found.owners), 200)

    def read(self, name: str) -> Outcome:
        if (found := self._stored.get(name)) is None:
            return Outcome(404, "NotFound")
        return Outcome(200, obj=_copy(found.obj))

    def names(self) -> list[str]:
        return sorted(self._stored)

    def told(self) -> list[tuple[str, str, Json]]:
        return self.events

    def _change(self, name: str, found: _Stored, wanted: Json) -> Outcome:
        added = set(wanted["finalizers"]) - set(found.obj["finalizers"])
        if found.obj["deleting"] and added:
            return Outcome(422, "Invalid")
        if _is_invalid(wanted["spec"]):
            return Outcome(422, "Invalid")
        obj = found.obj | wanted | {"spec": _defaulted(wanted["spec"])}
        return self._update(name, found, obj)

    def _update(self, name: str, found: _Stored, obj: Json) -> Outcome:
        """Update an object by a request other than an apply."""
        if obj == found.obj:
            return Outcome(200, obj=_copy(obj))
        if obj["spec"] != found.obj["spec"]:
            obj["generation"] += 1
        changed = _Stored(obj, 0, _copied(found))
        _own(changed, found.obj["spec"], ("client", "Update"))
        if obj["deleting"] and not obj["finalizers"]:
            return self._remove(name, found.obj, obj)
        return self._store(name, changed, 200)

    def _store(self, name: str, stored: _Stored, status: int) -> Outcome:
        self._version += 1
        stored.version = self._version
        self.events.append(
            (
                "MODIFIED" if name in self._stored else "ADDED",
                name,
                _copy(stored.obj),
            )
        )
        self._stored[name] = stored
        return Outcome(status, obj=_copy(stored.obj), is_new=True)

    def _remove(self, name: str, last: Json, shown: Json | None) -> Outcome:
        """Remove an object.

        last: the object in the deletion event: the state before, with its finalizers.
        """
        self._version += 1
        del self._stored[name]
        self.events.append(("DELETED", name, _copy(last)))
        return Outcome(200, obj=_copy(shown))


def _copy(obj: Any) -> Any:
    return json.loads(json.dumps(obj))


def _copied(stored: _Stored | None) -> dict[str, set[Owner]]:
    """Return a copy of the owners that can be changed."""
    return {field: set(held) for field, held in stored.owners.items()} if stored else {}


def _own(stored: _Stored, before: Json, owner: Owner) -> None:
    """Make an updater the owner of the fields that it changes; removed fields have no
    owner.
    """
    spec: dict[str, Any] = stored.obj["spec"]
    for field in [field for field in stored.owners if field not in spec]:
        del stored.owners[field]
    for field, value in spec.items():
        if field not in before or before[field] != value:
            stored.owners[field] = {owner}


def _defaulted(spec: Json) -> Json:
    return {"size": 1} | spec


def _is_invalid(spec: Json) -> bool:
    size, color = spec.get("size", 1), spec.get("color", "red")
    return not 0 <= size <= _LARGEST or color not in _COLORS
