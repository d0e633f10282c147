"""A fingerprint of all that Azure has and a PUT may write, declared or not. Pure.

A comparison with the spec sees what the spec declares. Values that Azure filled in, and
those that it keeps otherwise than declared, are watched by this: it is taken when a PUT
has settled, and another one at a later sync says that somebody changed something.
No value that came from a Secret is in it, and what it rests on cannot be read from it.
"""

import hashlib
from typing import Any

from asoreconcile import jsontext
from asoreconcile.azure.normalization import plain
from asoreconcile.catalogue.body_shape import BodyShape
from asoreconcile.jsontext import DeepJson
from asoreconcile.objects import JsonObject, dig

# Changes with what is written below: a snapshot of another making says nothing.
_MAKING = "1"
# Compared with the one before of the same object alone.
_DIGITS = 12
# Elements of lists are told apart by the first of these.
_NAMES = ("name", "id")
# Of a resource's own life, and of secrets that a provider shows.
_PASSING = frozenset({"provisioningstate"})


def snapshot(
    shape: BodyShape,
    want: JsonObject,
    have: JsonObject,
    *,
    children: frozenset[str] = frozenset(),
) -> str:
    """The fingerprint of a resource, `<making>.<fingerprint>`, at most 24 characters.

    want: the body that is put. have: the resource. children: see `differences`; of
    their elements only the declared ones count, as other objects add to them.
    """
    written = shape.writable(have)
    inside = written.get("properties")
    if isinstance(inside, dict) and children:
        inside = {
            name: _declared(value, dig(want, "properties"), name)
            if name in children
            else value
            for name, value in inside.items()
        }
        written = {**written, "properties": inside}
    text = jsontext.dumps(_canonical(written), sort_keys=True)
    mark = hashlib.sha256(text).hexdigest()[:_DIGITS]
    return f"{_MAKING}{shape.digest}.{mark}"


def is_comparable(one: str, other: str) -> bool:
    """Whether two snapshots were made in the same way; "" is with none."""
    return bool(one) and one.partition(".")[0] == other.partition(".")[0]


def _declared(value: Any, properties: Any, name: str) -> Any:
    """The elements of a collection that are declared."""
    if not isinstance(value, list):
        return value
    wanted = None
    if isinstance(properties, dict):
        names = {key.casefold(): inner for key, inner in properties.items()}
        wanted = names.get(name)
    if not isinstance(wanted, list):
        return None
    known = {_name_of(one) for one in wanted} - {""}
    return [one for one in value if _name_of(one) in known]


def _name_of(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    names = {name.casefold(): inner for name, inner in value.items()}
    return next((plain(names[n]) for n in _NAMES if isinstance(names.get(n), str)), "")


def _canonical(value: Any) -> Any:
    """A form that is equal for what Azure may write in more than one way: the order of
    lists, letter case, and what is null or has nothing in it.
    """
    if isinstance(value, dict):
        inner = {
            name.casefold(): _canonical(one)
            for name, one in value.items()
            if name.casefold() not in _PASSING
        }
        return {n: one for n, one in inner.items() if one not in (None, {}, [])} or None
    if isinstance(value, list):
        found = (_canonical(one) for one in value)
        texts = (
            jsontext.dumps(one, sort_keys=True).decode()
            for one in found
            if one is not None
        )
        return sorted(texts) or None
    if value is None or value == "":
        return None
    if isinstance(value, DeepJson):
        return jsontext.dumps(value, sort_keys=True).decode()
    return plain(value)
