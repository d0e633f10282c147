"""Open a certificate's private key, within limits of time and memory.

    content, password -> plain PEM: the key without a password, and the certificates

OpenSSL opens a key in one call that holds the interpreter's lock, for as long as the
file wants. So only an ordinary key without a password is read in this process. Any
other is opened once, in a child process with limits of CPU time and memory
(`key_worker`), of which the namespaces share two.
"""

import base64
import hashlib
import os
import subprocess
import sys
import time
from functools import cache

from asoreconcile.azure.arm.key_derivation import (
    Derivation,
    armor_problem,
    derivation_of,
    is_quickly_checked,
)
from asoreconcile.base import jsontext
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import RetryError
from asoreconcile.base.fair_share import FairShare
from asoreconcile.base.lru import LruCache

PASSWORD = "AZURE_CLIENT_CERTIFICATE_PASSWORD"  # noqa: S105 - a setting's name
MOST_ROUNDS = 10_000_000
"""The most rounds of key derivation in a file: 5 s of work."""
MOST_BYTES = 128 * 1024 * 1024
CPU_SECONDS = 15
"""The limit of CPU time of a child process."""
_WAIT_SECONDS = 90.0  # a busy machine gives a process little of its time
_AGAIN_SECONDS = 10.0
_PROCESSES = 2
# Texts of this module, by a hash of the content.
_PROBLEMS = LruCache[bytes, str](1024)
_KEPT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OPENSSL_CONF")
PEM = b"-----BEGIN"
_DER = b"\x30"


class UnusableKeyError(Exception):
    """A certificate or its key cannot be used; the text says why."""


def open_key(content: bytes, password: str, *, sharer: str) -> bytes:
    """Return the key without its password and the certificates, as PEM.

    content: PEM or PKCS12. password: "" for none. sharer: namespace that the child
    process works for. Blocks for up to 10 s until a process is free, and while it
    works.
    Raises UnusableKeyError, and RetryError if the namespace has to wait for longer or
    the process does not start.
    """
    _require_bounded(derivation_of(content))
    if PEM in content:
        if armor := armor_problem(content):
            raise UnusableKeyError(
                f"its private key {armor}: write it anew, as in `openssl pkcs8 -topk8`"
            )
        if not is_encrypted(content) and is_quickly_checked(content):
            from asoreconcile.azure.arm.key_content import checked

            return checked(content)
    elif not content.startswith(_DER):
        raise UnusableKeyError("it is neither PEM nor PKCS12")
    # Many objects may use one Secret, and each would open a wrong key again.
    digest = hashlib.sha256(content + b"\0" + password.encode()).digest()
    if problem := _PROBLEMS.get(digest):
        raise UnusableKeyError(problem)
    processes = _processes(os.getpid())
    number, _ = processes.acquire(sharer)
    began = time.monotonic()
    try:
        return _opened_apart(content, password)
    except UnusableKeyError as error:
        _PROBLEMS.put(digest, str(error))
        raise
    finally:
        processes.release(number, sharer, time.monotonic() - began)


def is_encrypted(pem: bytes) -> bool:
    """Return whether a PEM key is encrypted: PKCS8 and the older form both say so."""
    return b"ENCRYPTED" in pem


def _require_bounded(work: Derivation) -> None:
    remedy = (
        "encrypt the key anew with fewer, as in `openssl pkcs8 -topk8 -iter 100000`"
    )
    if work.rounds > MOST_ROUNDS:
        raise UnusableKeyError(
            f"its password is derived in {work.rounds} rounds, and at most "
            f"{MOST_ROUNDS} are allowed: {remedy}"
        )
    if work.memory_bytes > MOST_BYTES:
        raise UnusableKeyError(
            f"its password is derived with {work.memory_bytes} bytes of memory, and at "
            f"most {MOST_BYTES} are allowed: {remedy}"
        )


@cache
def _processes(_pid: int) -> FairShare[int]:
    """Return the turns of this process; a forked one has its own."""
    return FairShare(range(_PROCESSES), clock=SystemClock(), work="encrypted keys")


def _opened_apart(content: bytes, password: str) -> bytes:
    """Do the work of `key_content.opened` in a process of its own."""
    request = {"content": base64.b64encode(content).decode(), "password": password}
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [
                sys.executable,
                "-P",
                "-m",
                "asoreconcile.azure.arm.key_worker",
                str(CPU_SECONDS),
            ],
            input=jsontext.dumps(request),
            capture_output=True,
            timeout=_WAIT_SECONDS,
            check=False,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = f"the process that opens encrypted keys does not answer: {error!s:.200}"
        raise RetryError(why, after_seconds=_AGAIN_SECONDS) from None
    try:
        answer = jsontext.loads(done.stdout)
    except jsontext.JSONDecodeError:
        answer = {}
    if problem := answer.get("problem"):
        raise UnusableKeyError(str(problem))
    if "pem" not in answer:
        raise UnusableKeyError(
            f"to open it takes more than {CPU_SECONDS} s of work or too much memory: "
            "use an RSA key of 2048 to 4096 bits, and encrypt it with at most 100,000 "
            "rounds, as in `openssl pkcs12 -export -iter 100000`"
        )
    return str(answer["pem"]).encode()


def _environment() -> dict[str, str]:
    """Return the variables that an interpreter needs to start, without credentials."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
