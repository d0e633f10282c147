"""Whether two bodies of a resource say the same, in a few bytes. Pure."""

import hashlib
from typing import Any

from asoreconcile import jsontext
from asoreconcile.objects import JsonObject

# Who wrote a resource and when: no status shows it, and some lists have none.
_NOT_COMPARED = frozenset({"systemData"})
# 64 bits: it is compared with the one before of the same resource alone.
_SIZE = 8


def digest_of(body: JsonObject) -> bytes:
    """Equal for bodies that say the same: a null is a member that is not there, and
    ids, which lists write in another case than a GET, are equal in any.
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
