"""What is known of a resource beside its spec, kept in an annotation.

`{"known":["..."],"put":"..."}`: the fingerprint of the PUT that it belongs to, and the
differences that this PUT could not mend: values that Azure overrules, or never shows.
Hashes only, and no secret goes into any.
"""

import hashlib
import re
from collections.abc import Iterable

import attrs

from asoreconcile import jsontext
from asoreconcile.azure.annotations import OWN_PREFIX
from asoreconcile.azure.differences import Difference
from asoreconcile.objects import JsonObject

OBSERVED = OWN_PREFIX + "observed"
# Cut, as the annotation is stored and watched with every object; two that collide would
# cost one PUT too few, until the spec or Azure changes again.
_PUT_DIGITS = 32
_DIFFERENCE_DIGITS = 12
# Elements without an identity are named by their position, which means nothing.
_POSITION = re.compile(r"\[\d+\]")


@attrs.frozen
class DriftBaseline:
    """put: of the last PUT. known: marks of differences that it left."""

    put: str
    known: frozenset[str] = frozenset()

    def dumps(self) -> str:
        """The annotation's text; equal baselines have equal texts."""
        return jsontext.dumps({"known": sorted(self.known), "put": self.put}).decode()


def loads(text: str) -> DriftBaseline | None:
    """None for no annotation, and for one that somebody spoiled: it counts as lost."""
    try:
        found = jsontext.loads(text) if text else None
    except jsontext.JSONDecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("put"), str):
        return None
    known = found.get("known")
    known = known if isinstance(known, list) else []
    return DriftBaseline(
        found["put"], frozenset(k for k in known if isinstance(k, str))
    )


def fingerprint(arm_id: str, api_version: str, body: JsonObject, inputs: str) -> str:
    """Of a PUT. body: without secrets; inputs: which Secrets it was made from."""
    text = jsontext.dumps([arm_id.lower(), api_version, body, inputs], sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:_PUT_DIGITS]


def marks(found: Iterable[Difference]) -> frozenset[str]:
    """Each difference as a short hash of where it is, and of both values."""
    return frozenset(_mark(one) for one in found)


def _mark(one: Difference) -> str:
    path = _POSITION.sub("[]", one.path)
    content = [path, one.kind, one.want, one.have]
    text = jsontext.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text).hexdigest()[:_DIFFERENCE_DIGITS]
