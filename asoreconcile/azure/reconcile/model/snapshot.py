"""A fingerprint of everything that Azure has and a PUT may write. Pure.

A comparison with the spec covers only the values that the spec declares. The
fingerprint also covers values that Azure filled in or stores differently. It is taken
after a PUT has settled. If a later sync finds another fingerprint, another writer has
changed the resource. It is made without values from Secrets, and no value can be read
from it.
"""

import hashlib
from typing import Any

from asoreconcile.azure.catalogue.body_shape import BodyShape
from asoreconcile.azure.reconcile.model.normalization import plain
from asoreconcile.base import jsontext
from asoreconcile.base.jsontext import DeepJson
from asoreconcile.base.objects import JsonObject, dig

# Increase it when the algorithm below changes: older snapshots cannot be compared.
_MAKING = "2"
# Compared only with the previous one of the same object.
_DIGITS = 12
# The first of these identifies an element of a list.
_NAMES = ("name", "id")
# Values that change by themselves, and secrets that a provider shows.
_PASSING = frozenset({"provisioningstate"})


def snapshot(
    shape: BodyShape,
    want: JsonObject,
    have: JsonObject,
    *,
    children: frozenset[str] = frozenset(),
    left: str = "",
) -> str:
    """Return the fingerprint of a resource, `<making>.<fingerprint>`, at most 24
    characters.

    want: the body of the PUT. have: the resource. children: see `differences`; only
    their declared elements count, as other objects add some. left: the digest of the
    rules that left values out of `have`: snapshots of other rules cannot be compared.
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
    return f"{_MAKING}{shape.digest}{left}.{mark}"


def is_comparable(one: str, other: str) -> bool:
    """Return whether two snapshots were made by the same algorithm; False if one is
    "".
    """
    return bool(one) and one.partition(".")[0] == other.partition(".")[0]


def _declared(value: Any, properties: Any, name: str) -> Any:
    """Return the elements of a collection that the body declares."""
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
    """Return a normal form of a value, in which letter case, the order of lists, and
    null or empty values make no difference.
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
