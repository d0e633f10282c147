"""Which PUT bodies Azure has accepted while the object is not yet settled (D15).

After an accepted PUT the post-check or an export may still fail. The retry must not PUT
the same body again: it goes on where it failed. Kept in memory only; a restart costs
one identical PUT. Digests, not bodies: bodies hold secrets.
"""

import hashlib
import threading

import orjson

from asoreconcile.objects import JsonObject


def digest(arm_id: str, api_version: str, body: JsonObject) -> bytes:
    """A fingerprint of a PUT, equal for equal requests whatever the key order."""
    hasher = hashlib.sha256(f"{arm_id.lower()}?{api_version}\n".encode())
    hasher.update(orjson.dumps(body, option=orjson.OPT_SORT_KEYS))
    return hasher.digest()


class Accepted:
    """uid -> digest of the PUT that Azure accepted last. Safe from any thread."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def remember(self, uid: str, put: bytes) -> None:
        with self._lock:
            self._digests[uid] = put

    def is_remembered(self, uid: str, put: bytes) -> bool:
        with self._lock:
            return self._digests.get(uid) == put

    def forget(self, uid: str) -> None:
        """The object settled, changed course or went."""
        with self._lock:
            self._digests.pop(uid, None)
