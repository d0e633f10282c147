"""Short digests of request bodies: equal if two bodies mean the same. Pure."""

import hashlib
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

# The author and time of a write: no status shows them, and some lists lack them.
_NOT_COMPARED = frozenset({"systemData"})
# 64 bits: compared only with the previous digest of the same resource.
_SIZE = 8


def digest_of(body: JsonObject) -> bytes:
    """Return a digest that is equal for bodies of the same meaning.

    A null equals an absent member, and the letter case of ids, which differs between
    lists and GETs, is ignored.
    """
    own = {name: value for name, value in body.items() if name not in _NOT_COMPARED}
    text = jsontext.dumps(_normal(own), sort_keys=True)
    return hashlib.blake2b(text, digest_size=_SIZE).digest()


def _normal(value: Any) -> Any:
    match value:
        case dict():
            return {
                n: _normal(inner) for n, inner in value.items() if inner is not None
            }
        case list():
            return [_normal(inner) for inner in value]
        case str() if value[:15].lower() == "/subscriptions/":
            return value.lower()
        case _:
            return value
