"""Records the exported Secrets, so that keys are fetched again only for a reason.

An annotation of the object records what its Secrets were made from and their versions.
While both are unchanged, syncs do not request keys from Azure: each request appears in
the audit log, and some kinds create a new credential every time.
"""

import hashlib
from collections.abc import Mapping

from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX, is_operators_own
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
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
# 128 bits, which keep the annotation short.
_DIGITS = 32


def fingerprint(obj: JsonObject) -> str:
    """A fingerprint of the inputs of an object's Secrets. Pure; contains no secret.

    The inputs are its generation and exports; its status, for values from Azure; its
    labels and annotations, for expressions; and the annotation that a person changes to
    have keys fetched again, `asoreconcile/rotate-secrets`.
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
    """The Secrets that are up to date by the annotation; none if it is missing or
    outdated.
    """
    try:
        content = jsontext.loads(text) if text else {}
    except jsontext.JSONDecodeError:
        return {}  # somebody else changed it: export again
    # The inputs have changed since: the recorded Secrets are outdated.
    if not isinstance(content, dict) or content.get("of") != fingerprint(obj):
        return {}
    versions = content.get("secrets")
    return versions if isinstance(versions, dict) else {}
