"""Passwords in the form in which PostgreSQL stores them. Pure, except for the salt.

A client prepares a password before it signs in with it, and the server does so before
it stores one. Both follow SASLprep (RFC 4013) with the peculiarities of PostgreSQL's
code: after a difference in one character the user cannot sign in.
"""

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata

_ITERATIONS = 4096
_PROHIBITED = (
    stringprep.in_table_a1,
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def stored_password(
    role: str, password: str, method: str, *, salt: bytes | None = None
) -> str:
    """Return a password as the server stores it: a SCRAM verifier, or for `md5` a
    digest.
    """
    if method == "md5":
        # The protocol's own form, which an old server asks for.
        return "md5" + hashlib.md5((password + role).encode()).hexdigest()  # noqa: S324
    salt = salt or secrets.token_bytes(16)
    prepared = prepared_password(password).encode()
    salted = hashlib.pbkdf2_hmac("sha256", prepared, salt, _ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    stored = hashlib.sha256(client).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    parts = [base64.b64encode(part).decode() for part in (salt, stored, server)]
    return f"SCRAM-SHA-256${_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"


def prepared_password(password: str) -> str:
    """Return the password as libpq and the server prepare it; unchanged if SASLprep
    refuses it.

    PostgreSQL differs from RFC 3454 in two ways: a space of another script becomes a
    space before characters are dropped (U+200B is both), and characters are prohibited
    before the normalization, not after it (U+0340 disappears by it).
    """
    if password.isascii():
        return password
    mapped = "".join(
        " " if stringprep.in_table_c12(c) else c
        for c in password
        if stringprep.in_table_c12(c) or not stringprep.in_table_b1(c)
    )
    if not mapped or any(refuses(c) for c in mapped for refuses in _PROHIBITED):
        return password
    if any(map(stringprep.in_table_d1, mapped)):
        ends = mapped[0], mapped[-1]
        if any(map(stringprep.in_table_d2, mapped)) or not all(
            map(stringprep.in_table_d1, ends)
        ):
            return password
    return unicodedata.normalize("NFKC", mapped)
