"""Check the fields that must not change while a resource exists: its name and its
owner.

A PUT under another name or owner would create a second resource and leave the first one
behind. Before the resource exists in Azure, both may change.
"""

from collections.abc import Iterator
from typing import Any

from asoreconcile.azure.catalogue.kind_rules import kind_changes
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.base.objects import JsonObject, key_of, spec


def change_problems(
    version: KindVersion,
    old: JsonObject,
    new: JsonObject,
    *,
    claimed: bool,
    name: str = "",
) -> list[Problem]:
    """Return the problems of an update; an empty list if the update is allowed.

    claimed: if true, the new object is already tied to a resource in Azure.
    name: the name of that resource in Azure, or "" if unknown.

    Problems of name and owner are reported together, so that one edit fixes both.
    Rules: R10.1, R10.2.
    """
    found = [*kind_changes(version.group_kind, old, new)]
    if claimed:
        at = f"{version.gvk} {key_of(new).name}"
        found += _written_once(spec(old), spec(new), at, name)
    return found


def _written_once(
    old: JsonObject, new: JsonObject, at: str, name: str
) -> Iterator[Problem]:
    was, now = old.get("azureName"), new.get("azureName")
    # Not if it was empty: the default that is filled in is the name in use.
    if was and was != now:
        yield _refused("spec.azureName", was, now, at)
    elif not was and now and name and str(now).casefold() != name.casefold():
        yield _refused("spec.azureName", name, now, at)
    yield from _owner(old.get("owner"), new.get("owner"), at)


def _owner(old: Any, new: Any, at: str) -> Iterator[Problem]:
    """Yield the problem of a changed owner: only the first difference, because the
    others follow from it.
    """
    if bool(old) != bool(new):
        done = "added" if new else "removed"
        yield Problem("spec.owner", f"cannot be {done} any more: {at} is in Azure")
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for part in ("name", "armId"):
            was, now = old.get(part) or "", new.get(part) or ""
            if was != now:
                yield _refused(f"spec.owner.{part}", was, now, at)
                return


def _refused(path: str, was: Any, now: Any, at: str) -> Problem:
    return Problem(
        path,
        f"cannot change from {was!r} to {now!r}: {at} is in Azure; change it back, or "
        "delete the object and create it anew",
    )
