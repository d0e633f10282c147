"""The key with which the operator marks its records, to recognize them later.

Every user who may edit an object can write its annotations and labels, and some can
write its status. A record that must not be forged therefore has a mark, which only the
holder of the key can make. `controllers.record_key_secret` keeps the
key. Pure, except for the random bytes of a new key.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Self

import attrs

KEY_BYTES = 32
# Half of SHA-256: a mark is stored with every object.
_MARK_BYTES = 16


class RecordKeyError(ValueError):
    """Stored text is not a key."""


def _is_long_enough(_: object, __: object, value: bytes) -> None:
    if value and len(value) < KEY_BYTES:
        raise RecordKeyError(f"a key has {KEY_BYTES} bytes or more, not {len(value)}")


@attrs.frozen
class RecordKey:
    """A secret key for marks and hashes. Safe from any thread.

    previous: the key before the last rotation, or b"". Its marks and hashes are still
    accepted, but new ones are made with the present key only. A mark never equals a
    hash of the same text, because each use of the key has its own prefix.
    """

    _key: bytes = attrs.field(repr=False, validator=_is_long_enough)
    _previous: bytes = attrs.field(default=b"", repr=False, validator=_is_long_enough)

    def __attrs_post_init__(self) -> None:
        if not self._key:
            raise RecordKeyError("the key is empty")

    @classmethod
    def new(cls) -> Self:
        """Return a random key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def load(cls, text: str, previous: str = "") -> Self:
        """Return the key that `dumps` has encoded. Raises RecordKeyError for any other
        text.

        previous: the text of the key before the last rotation, or "".
        """
        return cls(_decoded(text), _decoded(previous))

    def dumps(self) -> str:
        """Return the key as text, without the previous one."""
        return base64.b64encode(self._key).decode()

    def sign(self, parts: Sequence[str]) -> str:
        """Return the mark of a record.

        parts: the facts in the record. The first part names the kind of record, such as
        "claim", so that a mark of one kind does not verify as another's. Include the
        uid of the object, so that a copy at another object does not verify.
        """
        return _tag(self._key, b"mark", parts)

    def verify(self, parts: Sequence[str], mark: str) -> bool:
        """Return whether this key or the previous one has made the mark of these parts.

        parts: see `sign`. The comparison takes the same time for every mark.
        """
        return self._matches(b"mark", parts, mark)

    def keyed_hash(self, text: str) -> str:
        """Return a hash of a text such as a password. Without the key the text cannot
        be guessed from the hash.
        """
        return _tag(self._key, b"hash", (text,))

    def is_hash_of(self, text: str, stored: str) -> bool:
        """Return whether this key or the previous one makes the stored hash from the
        text.
        """
        return self._matches(b"hash", (text,), stored)

    def _matches(self, use: bytes, parts: Sequence[str], tag: str) -> bool:
        given = tag.encode(errors="replace")
        keys = [key for key in (self._key, self._previous) if key]
        return any(
            hmac.compare_digest(_tag(key, use, parts).encode(), given) for key in keys
        )


def _tag(key: bytes, use: bytes, parts: Sequence[str]) -> str:
    digest = hmac.new(key, use, hashlib.sha256)
    for part in parts:
        # With its length, so that ("ab", "c") and ("a", "bc") differ.
        encoded = part.encode(errors="surrogatepass")
        digest.update(b"\0%d:" % len(encoded) + encoded)
    return base64.urlsafe_b64encode(digest.digest()[:_MARK_BYTES]).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordKeyError("the key is not base64") from error
