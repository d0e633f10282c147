"""What was exported already: keys are asked for again only when there is a reason.

An annotation of the object says what its Secrets were made from and how they were
stored. While both still hold, Azure is not asked for keys at each sync: each request
for keys is one in the audit log, and some kinds make a new credential every time.
"""

import hashlib
from collections.abc import Mapping

from asoreconcile import jsontext
from asoreconcile.azure.annotations import OWN_PREFIX, is_operators_own
from asoreconcile.objects import (
    JsonObject,
    annotations,
    dig,
    generation,
    labels,
    spec,
    status,
)

EXPORTED = OWN_PREFIX + "exported-secrets"
ROTATE = OWN_PREFIX + "rotate-secrets"
# 128 bits, and an annotation that stays short.
_DIGITS = 32


def fingerprint(obj: JsonObject) -> str:
    """What the Secrets of an object are made from. Pure; holds no secret.

    Its generation and what it asks for; what Azure says of it, for values of the
    status; its labels and annotations, for expressions; and the annotation that a
    person changes to have keys fetched again, `asoreconcile/rotate-secrets`.
    """
    found = status(obj)
    content = [
        generation(obj),
        dig(spec(obj), "operatorSpec"),
        {name: value for name, value in found.items() if name != "conditions"},
        labels(obj),
        {n: v for n, v in annotations(obj).items() if not is_operators_own(n)},
    ]
    content.append(annotations(obj).get(ROTATE))
    text = jsontext.dumps(content, sort_keys=True)
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


def note(obj: JsonObject, versions: Mapping[str, str]) -> str:
    """The annotation's text. versions: resource version by name of written Secrets."""
    content = {"of": fingerprint(obj), "secrets": dict(versions)}
    return jsontext.dumps(content, sort_keys=True).decode()


def noted_versions(obj: JsonObject, text: str) -> Mapping[str, str]:
    """The Secrets that an annotation says are up to date, or none if it says less."""
    try:
        content = jsontext.loads(text) if text else {}
    except jsontext.JSONDecodeError:
        return {}  # somebody else's doing: exported again
    # Made from something else since: what it says of the Secrets is out of date.
    if not isinstance(content, dict) or content.get("of") != fingerprint(obj):
        return {}
    versions = content.get("secrets")
    return versions if isinstance(versions, dict) else {}
