"""Read what it costs to open a private key, before anything opens it.

An encrypted key states the rounds of its key derivation, up to billions, and an RSA key
with long primes takes minutes to check. OpenSSL does both in one call that holds the
interpreter's lock. This module reads the numbers from PEM and DER (PKCS8, PKCS12)
without any of that work. Pure; the time is linear in the content's size.
"""

import binascii
import re
from collections.abc import Iterator, Sequence

import attrs

_SEQUENCE, _INTEGER, _OCTETS, _OID = 0x30, 0x02, 0x04, 0x06
_CONSTRUCTED, _LONG_TAG, _LONG_LENGTH = 0x20, 0x1F, 0x80
_MOST_LENGTH_BYTES = 4
_PBKDF2 = bytes.fromhex("2a864886f70d01050c")
_SCRYPT = bytes.fromhex("2b06010401da47040b")
# PBES1 with MD2, MD5 or SHA1, and the six of PKCS12: salt and rounds.
_SALT_AND_ROUNDS = frozenset(
    {bytes.fromhex(f"2a864886f70d0105{last:02x}") for last in (1, 3, 4, 6, 10, 11)}
    | {bytes.fromhex(f"2a864886f70d010c01{last:02x}") for last in range(1, 7)}
)
_MOST_ELEMENTS, _MOST_DEPTH = 5000, 24
# Longer numbers of rounds are of no file that opens.
_MOST_NUMBER_BYTES = 32
_SCRYPT_NUMBERS = 3
_PKCS12_PARTS, _MAC_PARTS = 3, 3

_PEM_BEGIN = b"-----BEGIN"
_KEY_BEGIN = re.compile(rb"-----BEGIN ([^-\r\n]{0,64}PRIVATE KEY)-----")
_DASHES, _KEY_END = b"-----", b"-----END "
_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n")
# The older encryption of OpenSSL: one round of MD5, and no DER that states more.
_OLDER_LABELS = frozenset({b"RSA PRIVATE KEY", b"EC PRIVATE KEY", b"DSA PRIVATE KEY"})
_OLDER_HEADERS = re.compile(
    rb"Proc-Type: ?4,ENCRYPTED[ \t]*\r?\n"
    rb"DEK-Info: ?[A-Za-z0-9-]{1,64},[0-9A-Fa-f]{1,64}[ \t\r]*"
)
# The two long numbers of an RSA key, modulus and private exponent, and its primes. A
# byte more is for the sign.
MOST_BITS = 4096
_LONG_NUMBERS = 2
_MOST_BYTES, _MOST_PRIME_BYTES = MOST_BITS // 8 + 1, MOST_BITS // 16 + 1


@attrs.frozen
class Derivation:
    """The work of the key derivations that a content shows.

    rounds: sum of all rounds. memory_bytes: the most that one of them takes.
    """

    rounds: int = 0
    memory_bytes: int = 0

    def __add__(self, other: "Derivation") -> "Derivation":
        memory_bytes = max(self.memory_bytes, other.memory_bytes)
        return Derivation(self.rounds + other.rounds, memory_bytes)


_NONE = Derivation()


def derivation_of(content: bytes) -> Derivation:
    """Return the work of the key derivations in PEM, PKCS8 or PKCS12: PBES2 with PBKDF2
    or scrypt, PBES1, the encryption of PKCS12, and its MAC.

    Parts that only the password opens may hold more. Raises nothing.
    """
    found = _NONE
    for text in _key_texts(content) if _PEM_BEGIN in content else [content]:
        reader = _Reader(text)
        try:
            # OpenSSL ignores what follows the first value.
            top = next(_elements(text, 0, len(text)), None)
            if top is not None:
                found += reader.work([top], depth=0) + reader.mac(top)
        except _NotDerError:
            continue
    return found


def armor_problem(content: bytes) -> str:
    """Return why a private key's PEM may be read in another way than `derivation_of`
    reads it, or "": a key is base64 and nothing else, and one of the older labels may
    have the two headers of OpenSSL's older encryption.
    """
    for key in _armored_keys(content):
        if key.headers:
            is_older = key.label in _OLDER_LABELS
            if not (is_older and _OLDER_HEADERS.fullmatch(key.headers)):
                return "has headers after its BEGIN line"
        if key.der is None:
            return "is not base64 from its BEGIN line to its END line"
    return ""


def is_quickly_checked(pem: bytes) -> bool:
    """Return whether a key without a password is an ordinary one of at most 4096 bits,
    which OpenSSL checks in a quarter of a second.
    """
    return all(
        not key.headers and key.der is not None and _is_ordinary(key.der)
        for key in _armored_keys(pem)
    )


@attrs.frozen
class _ArmoredKey:
    """A private key in PEM. headers: the lines before the first blank one, "" for none.
    der: None if the text is not base64.
    """

    label: bytes
    headers: bytes
    der: bytes | None = attrs.field(repr=False)


def _armored_keys(pem: bytes) -> Iterator[_ArmoredKey]:
    """Yield what follows each BEGIN line of a private key, at any place."""
    for begin in _KEY_BEGIN.finditer(pem):
        end = pem.find(_DASHES, begin.end())
        if end < 0 or not pem.startswith(_KEY_END, end):
            yield _ArmoredKey(begin[1], b"", None)
            continue
        headers, body = b"", pem[begin.end() : end].strip()
        # Readers take for headers whatever is before a blank line.
        parts = _BLANK_LINE.split(body, maxsplit=1)
        if len(parts) > 1 or b":" in body:
            headers, body = parts[0], b"".join(parts[1:])
        try:
            der = binascii.a2b_base64(b"".join(body.split()), strict_mode=True)
        except binascii.Error:
            der = None
        yield _ArmoredKey(begin[1], headers, der)


def _key_texts(pem: bytes) -> list[bytes]:
    """Return the DER of each private key that is base64, without its headers."""
    return [key.der for key in _armored_keys(pem) if key.der is not None]


def _is_ordinary(text: bytes) -> bool:
    try:
        top = list(_elements(text, 0, len(text)))
        lengths = _Reader(text).number_lengths(top, depth=0)
    except _NotDerError:
        return False
    long = [length for length in lengths if length > _MOST_PRIME_BYTES]
    return len(long) <= _LONG_NUMBERS and max(lengths, default=0) <= _MOST_BYTES


class _NotDerError(Exception):
    """A text is not DER."""


@attrs.frozen
class _Element:
    """A DER value: its tag, and the content's place in the text."""

    tag: int
    start: int
    end: int


def _elements(text: bytes, start: int, end: int) -> Iterator[_Element]:
    """Yield the values from a place to another one. Raises _NotDerError."""
    while start < end:
        if start + 2 > end or text[start] & _LONG_TAG == _LONG_TAG:
            raise _NotDerError
        tag, length, start = text[start], text[start + 1], start + 2
        if length >= _LONG_LENGTH:
            count = length - _LONG_LENGTH  # 0 is an indefinite length, which is BER
            if not 1 <= count <= _MOST_LENGTH_BYTES or start + count > end:
                raise _NotDerError
            length = int.from_bytes(text[start : start + count], "big")
            start += count
        if start + length > end:
            raise _NotDerError
        yield _Element(tag, start, start + length)
        start += length


@attrs.define(eq=False)
class _Reader:
    """Walks through a DER text, over a bounded number of values."""

    _text: bytes
    _left: int = _MOST_ELEMENTS

    def work(self, elements: Sequence[_Element], depth: int) -> Derivation:
        """Return the work of all algorithms in these values, at any depth."""
        found = self._of_algorithm(elements)
        for inside in self._within(elements, depth):
            found += self.work(inside, depth + 1)
        return found

    def number_lengths(self, elements: Sequence[_Element], depth: int) -> list[int]:
        """Return the lengths of all numbers in these values, in bytes."""
        found = [one.end - one.start for one in elements if one.tag == _INTEGER]
        for inside in self._within(elements, depth):
            found += self.number_lengths(inside, depth + 1)
        return found

    def mac(self, top: _Element) -> Derivation:
        """Return the work of the MAC of a PKCS12 file: its rounds follow its salt."""
        parts = self._inside(top) if top.tag == _SEQUENCE else []
        if len(parts) != _PKCS12_PARTS or parts[0].tag != _INTEGER:
            return _NONE
        mac = self._inside(parts[2]) if parts[2].tag == _SEQUENCE else []
        if len(mac) != _MAC_PARTS or mac[2].tag != _INTEGER:
            return _NONE
        return Derivation(self._number(mac[2]))

    def _within(
        self, elements: Sequence[_Element], depth: int
    ) -> Iterator[list[_Element]]:
        """Yield the values inside each value, also of octets that are DER themselves.

        Ciphertext is not, or only by chance and then without an algorithm's name.
        """
        self._left -= len(elements)
        if self._left < 0 or depth > _MOST_DEPTH:
            raise _NotDerError
        for one in elements:
            if one.tag & _CONSTRUCTED:
                yield self._inside(one)
            elif one.tag == _OCTETS:
                try:
                    inside = self._inside(one)
                except _NotDerError:
                    continue
                yield inside

    def _of_algorithm(self, parts: Sequence[_Element]) -> Derivation:
        """Return the work of one algorithm, if these values are its name and its
        parameters.
        """
        if len(parts) < 2 or parts[0].tag != _OID or parts[1].tag != _SEQUENCE:
            return _NONE
        name = self._text[parts[0].start : parts[0].end]
        given = self._inside(parts[1])[1:]
        numbers = [self._number(one) for one in given if one.tag == _INTEGER]
        if name == _SCRYPT and len(numbers) >= _SCRYPT_NUMBERS:
            cost, block, parallel = numbers[:_SCRYPT_NUMBERS]
            memory_bytes = 128 * block * (cost + parallel)
            return Derivation(cost * block * parallel, memory_bytes)
        if (name in _SALT_AND_ROUNDS or name == _PBKDF2) and numbers:
            return Derivation(numbers[0])
        return _NONE

    def _inside(self, one: _Element) -> list[_Element]:
        return list(_elements(self._text, one.start, one.end))

    def _number(self, one: _Element) -> int:
        content = self._text[one.start : one.end][:_MOST_NUMBER_BYTES]
        return max(int.from_bytes(content, "big", signed=True), 0)
