"""What Azure has accepted for an object that is not settled yet (D15).

After an accepted PUT the record of its operation may fail, or somebody may take it off
the object; later the post-check, an export or the status may fail. The retry must not
PUT the same body again: it goes on where it failed. Kept in memory only; a restart
costs one identical PUT. Digests, not bodies: bodies hold secrets.
"""

import hashlib
from collections.abc import Mapping

import attrs

from asoreconcile import jsontext
from asoreconcile.arm.outcomes import Pending
from asoreconcile.objects import JsonObject


def digest(arm_id: str, api_version: str, body: JsonObject) -> bytes:
    """A fingerprint of a PUT, equal for equal requests whatever the key order."""
    # Azure takes an id in any case: however it is written, it is the same request.
    hasher = hashlib.sha256(f"{arm_id.lower()}?{api_version}\n".encode())
    hasher.update(jsontext.dumps(body, sort_keys=True))
    return hasher.digest()


@attrs.frozen
class PutRecord:
    """A PUT that Azure accepted.

    generation: of the spec it was made from. running: its operation, until it is known
    to have ended; inputs, notes: annotations recorded with it. recreated: an event has
    said that the resource was gone and is created again (`external_deletion`).
    """

    digest: bytes
    generation: int
    running: Pending | None = None
    inputs: str = ""
    notes: Mapping[str, str] = attrs.field(factory=dict)
    recreated: bool = False
