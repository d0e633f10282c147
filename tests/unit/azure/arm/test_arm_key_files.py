"""Keys that take minutes to open are refused, or opened in a bounded process."""

import base64
import hashlib
import os
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from keypairs import certificate_pem, key12, key_pem, pem, rsa_key

from asoreconcile.azure.arm import key_files
from asoreconcile.azure.arm.key_derivation import derivation_of, is_quickly_checked
from asoreconcile.azure.arm.key_files import UnusableKeyError, open_key
from asoreconcile.base.fair_share import EngineBusyError

MANY = 2**31 - 1
SALT = b"saltsalt"


def tlv(tag, *parts):
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 + len(length)]) + length + body


def number(value):
    return tlv(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def sequence(*parts):
    return tlv(0x30, *parts)


def octets(content):
    return tlv(4, content)


def oid(hexadecimal):
    return tlv(6, bytes.fromhex(hexadecimal))


AES = sequence(oid("60864801650304012a"), octets(bytes(16)))
PBES2, PBKDF2 = oid("2a864886f70d01050d"), oid("2a864886f70d01050c")
SCRYPT = oid("2b06010401da47040b")
SHA256 = sequence(oid("2a864886f70d0209"), tlv(5))
DATA, SEALED = oid("2a864886f70d010701"), oid("2a864886f70d010706")
SHROUDED = oid("2a864886f70d010c0a0102")


def pbes2(derivation):
    return sequence(PBES2, sequence(derivation, AES))


def pbkdf2(rounds):
    return sequence(PBKDF2, sequence(octets(SALT), number(rounds), SHA256))


def scrypt(cost, block=8, parallel=1):
    numbers = map(number, (cost, block, parallel))
    return sequence(SCRYPT, sequence(octets(SALT), *numbers))


def older(name, rounds):
    return sequence(oid(name), sequence(octets(SALT), number(rounds)))


def pkcs8(algorithm):
    return sequence(algorithm, octets(os.urandom(64)))


def armored(der, label="ENCRYPTED PRIVATE KEY"):
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n".encode()


def content_info(content):
    return sequence(DATA, tlv(0xA0, octets(content)))


def bag(rounds):
    return sequence(SHROUDED, tlv(0xA0, pkcs8(pbes2(pbkdf2(rounds)))))


def sealed(content, password, rounds=1):
    """Encrypted data of PKCS12 that the password opens after a few rounds."""
    key = hashlib.pbkdf2_hmac("sha256", password, SALT, rounds, 32)
    padding = 16 - len(content) % 16
    made = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
    text = made.update(content + bytes([padding]) * padding) + made.finalize()
    inner = sequence(DATA, pbes2(pbkdf2(rounds)), tlv(0x80, text))
    return sequence(SEALED, tlv(0xA0, sequence(number(0), inner)))


def pfx(safes, mac_rounds=1):
    if mac_rounds is None:
        return sequence(number(3), content_info(sequence(*safes)))
    digest = sequence(sequence(oid("2b0e03021a"), tlv(5)), octets(bytes(20)))
    mac = sequence(digest, octets(SALT), number(mac_rounds))
    return sequence(number(3), content_info(sequence(*safes)), mac)


FORMS = {
    "pbkdf2": lambda n: armored(pkcs8(pbes2(pbkdf2(n)))),
    "pbes1": lambda n: armored(pkcs8(older("2a864886f70d01050a", n))),
    "pkcs12's encryption": lambda n: armored(pkcs8(older("2a864886f70d010c0103", n))),
    "scrypt": lambda n: armored(pkcs8(pbes2(scrypt(2, block=1, parallel=n // 2)))),
    "not armored": lambda n: pkcs8(pbes2(pbkdf2(n))),
    "the MAC": lambda n: pfx([content_info(sequence(bag(1)))], mac_rounds=n),
    "a bag": lambda n: pfx([content_info(sequence(bag(1), bag(n)))]),
    "several bags": lambda n: pfx(
        [content_info(sequence(bag(n // 3))), content_info(sequence(bag(n // 2 + n)))]
    ),
    "a sealed part": lambda n: pfx([sealed(sequence(bag(1)), b"x", rounds=1), bag(n)]),
    "another line length": lambda n: armored(pkcs8(pbes2(pbkdf2(n)))).replace(
        b"\n", b"\r\n"
    ),
    "a second key": lambda n: pem(rsa_key()) + armored(pkcs8(pbes2(pbkdf2(n)))),
    "another label": lambda n: (
        armored(pkcs8(pbes2(pbkdf2(n))), "PRIVATE KEY") + b"ENCRYPTED"
    ),
}


def headed(headers, label="ENCRYPTED PRIVATE KEY", between="\n\n"):
    """A form with headers after its BEGIN line."""

    def made(rounds):
        begin = f"-----BEGIN {label}-----\n".encode()
        armor = armored(pkcs8(pbes2(pbkdf2(rounds))), label)
        text = f"{headers}{between}".encode()
        return armor.replace(begin, begin + text) + b"ENCRYPTED"

    return made


OLDER = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC," + "0A" * 16
FORMS |= {
    "a header": headed("X-Foo: bar"),
    "a header and CRLF": headed("X-Foo: bar", between="\r\n\r\n"),
    "two headers": headed("X-Foo: bar\nX-Foo: bar"),
    "a folded header": headed("X-Foo: bar\n  more"),
    "a header without a colon": headed("AAAA"),
    "the older headers": headed(OLDER),
    "the older headers and a plain label": headed(OLDER, "PRIVATE KEY"),
    "the older headers and the older label": headed(OLDER, "RSA PRIVATE KEY"),
    "junk before a header": lambda n: b"a: b\n\nPRIVATE KEY\n" + headed("X: y")(n),
    "an open key before a header": lambda n: (
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n" + headed("X: y")(n)
    ),
    "a plain key before a header": lambda n: pem(rsa_key()) + headed("X: y")(n),
    "a header before a plain key": lambda n: headed("X: y")(n) + pem(rsa_key()),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_rounds_of_every_form_are_read_and_refused(form):
    content = FORMS[form](MANY)
    assert derivation_of(content).rounds >= MANY - 1
    began = time.process_time()
    with pytest.raises(UnusableKeyError, match=r"in \d{10,} rounds, and at most"):
        open_key(content + b"\n", "x", sharer="a")
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *[
            (headed(headers)(1), "has headers")
            for headers in ("X-Foo: bar", "AAAA", OLDER)
        ],
        (headed(OLDER, "PRIVATE KEY")(1), "has headers"),
        (headed(OLDER + "\nX-Foo: bar", "RSA PRIVATE KEY")(1), "has headers"),
        (headed("X-Foo: bar", "RSA PRIVATE KEY")(1), "has headers"),
        (headed("X-Foo: bar", between="\n")(1), "has headers"),
        (headed("X-Foo: -----a")(MANY), "is not base64"),
        (headed("A-A")(MANY).replace(b"\n\n", b"\n"), "is not base64"),
        (armored(b"abcd").replace(b"\n-----END", b"=\n-----END"), "is not base64"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n", "is not base64"),
        (base64.b64encode(headed("X: y")(MANY)), "is neither PEM nor PKCS12"),
        (base64.encodebytes(FORMS["pbkdf2"](MANY)), "is neither PEM nor PKCS12"),
    ],
)
def test_a_key_that_readers_may_read_in_two_ways_starts_no_process(
    content, problem, monkeypatch
):
    monkeypatch.setattr(key_files, "_opened_apart", lambda *_: pytest.fail("started"))
    with pytest.raises(UnusableKeyError, match=problem):
        open_key(content, "x", sharer="a")


def test_the_memory_of_scrypt_is_read_and_refused():
    content = armored(pkcs8(pbes2(scrypt(2**20))))
    assert derivation_of(content).memory_bytes > 2**30
    with pytest.raises(UnusableKeyError, match="bytes of memory"):
        open_key(content, "x", sharer="a")


@pytest.mark.parametrize("seed", range(20))
def test_foreign_bytes_neither_raise_nor_take_long(seed):
    content = bytearray(FORMS[list(FORMS)[seed % len(FORMS)]](1000))
    for place in range(seed, len(content), 7):
        content[place] = (content[place] * 31 + seed) % 256
    derivation_of(bytes(content))
    nested = b"\x30\x80" * 50_000
    deep = sequence(octets(b""))
    for _ in range(200):
        deep = sequence(octets(deep))
    for text in (
        nested,
        deep,
        b"\x04\x00" * 100_000,
        b"-----BEGIN" * 20_000,
        b"-----BEGIN PRIVATE KEY-----" * 20_000,
        b"-----BEGIN PRIVATE KEY-----" + b"\n: " * 100_000 + b"-----END ",
    ):
        began = time.process_time()
        derivation_of(text)
        assert time.process_time() - began < 0.5


# 2**4423 - 1 is a prime: OpenSSL takes 8 s to say so, twice.
LONG_PRIME = 2**4423 - 1


def with_long_primes():
    own = rsa_key().private_numbers()
    modulus = own.public_numbers.n
    numbers = (0, modulus, 65537, own.d, LONG_PRIME, LONG_PRIME, own.dmp1, own.dmq1)
    der = sequence(*map(number, (*numbers, own.iqmp)))
    return armored(der, "RSA PRIVATE KEY") + certificate_pem(rsa_key())


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(
            lambda: pfx([sealed(sequence(bag(MANY)), b"x")], None), id="sealed bag"
        ),
        pytest.param(with_long_primes, id="long primes"),
    ],
)
def test_work_that_no_number_shows_is_ended_after_its_time(content, monkeypatch):
    monkeypatch.setattr(key_files, "CPU_SECONDS", 1)
    assert derivation_of(content()).rounds < 10
    began = time.process_time()
    for _ in range(2):  # the second time without another process
        with pytest.raises(UnusableKeyError, match="takes more than 1 s"):
            open_key(content(), "x", sharer="a")
    assert time.process_time() - began < 1.0


def test_an_ordinary_key_is_read_here_and_any_other_apart(monkeypatch):
    monkeypatch.setattr(key_files, "_opened_apart", lambda *_: b"apart")
    plain = pem(rsa_key())
    assert is_quickly_checked(plain)
    assert open_key(plain, "superfluous", sharer="a") == plain
    assert not is_quickly_checked(with_long_primes())
    for content in (pem(rsa_key(), "pw"), key12("pw"), key12(), with_long_primes()):
        assert open_key(content, "pw", sharer="a") == b"apart"


@pytest.mark.parametrize("form", ["pkcs8", "traditional", "pkcs12"])
def test_an_encrypted_key_is_opened_once_with_its_certificates(form):
    traditional = rsa_key().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.BestAvailableEncryption(b"pw"),
    )
    chain = certificate_pem(rsa_key())
    content = {
        "pkcs8": chain + pem(rsa_key(), "pw"),
        "traditional": traditional + chain + chain,
        "pkcs12": key12("pw"),
    }[form]
    opened = open_key(content, "pw", sharer="a")
    assert key_pem(rsa_key()) in opened
    assert opened.count(b"BEGIN CERTIFICATE") == (1 if form == "pkcs12" else 2)
    assert b"ENCRYPTED" not in opened
    with pytest.raises(UnusableKeyError, match="is wrong"):
        open_key(content, "other", sharer="a")


def test_a_long_key_is_refused(monkeypatch):
    monkeypatch.setattr("asoreconcile.azure.arm.key_content.MOST_BITS", 1024)
    with pytest.raises(UnusableKeyError, match="has 2048 bits"):
        open_key(pem(rsa_key()), "", sharer="a")


def test_a_namespace_waits_for_its_own_keys_and_not_for_those_of_others():
    turns = key_files._processes(os.getpid())
    turns.acquire("slow")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("asoreconcile.base.fair_share.MAX_WAIT_SECONDS", 0.01)
        with pytest.raises(EngineBusyError, match="encrypted keys of this namespace"):
            open_key(key12("busy"), "busy", sharer="slow")
        patched.setattr(key_files, "_opened_apart", lambda *_: b"apart")
        assert open_key(key12("free"), "free", sharer="other") == b"apart"
    turns.release(0, "slow", 0.0)
