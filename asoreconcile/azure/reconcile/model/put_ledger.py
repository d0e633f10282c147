"""Records the accepted PUT of an object that is not settled yet (D15).

After an accepted PUT the write of its token may fail, or somebody may remove the token;
later the post-check, an export or the status write may fail. The retry must not PUT the
same body again: it continues where it failed. In memory only; a restart costs one
identical PUT. Digests, not bodies, as bodies contain secrets.
"""

import hashlib
from collections.abc import Mapping

import attrs

from asoreconcile.azure.arm.outcomes import Pending
from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject


def digest(arm_id: str, api_version: str, body: JsonObject) -> bytes:
    """A fingerprint of a PUT, independent of the order of keys."""
    # Azure ignores the case of ids, so it makes no other request.
    hasher = hashlib.sha256(f"{arm_id.lower()}?{api_version}\n".encode())
    hasher.update(jsontext.dumps(body, sort_keys=True))
    return hasher.digest()


@attrs.frozen
class PutRecord:
    """A PUT that Azure accepted.

    generation: of the spec it was made from. running: its operation, until its end is
    known; inputs, notes: annotations recorded with it. recreated: an event has reported
    that the PUT recreates a deleted resource (`external_deletion`).
    """

    digest: bytes
    generation: int
    running: Pending | None = None
    inputs: str = ""
    notes: Mapping[str, str] = attrs.field(factory=dict)
    recreated: bool = False
