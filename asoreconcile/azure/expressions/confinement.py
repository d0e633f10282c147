"""Confine a process to its libraries: no other file, no process, no network.

The engine evaluates text of tenants in C++. If an expression took over its process,
that process should find neither the operator's tokens nor its environment. Linux only;
Landlock needs a kernel of 5.13.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# The same numbers on all processors.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_BENEATH = 1
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38

_READS = 0b1101  # execute, read a file, read a folder
_READS_A_FILE = 0b0101
# How many rights over files a version of Landlock knows.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_FILE_RIGHTS = 16
_NETWORK_VERSION, _SCOPE_VERSION = 4, 6
_CONNECT_AND_BIND = 0b11
_SIGNALS_AND_SOCKETS = 0b11

_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")


def forbid_dumps() -> None:
    """Prevent other processes of this user from reading the memory and the environment
    of this one.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def confine() -> bool:
    """Allow this thread to read programs and libraries, and nothing else: no other
    file, no process, no TCP connection. Return False if the system cannot do that.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if version < 1:
        return False
    rules = libc.syscall(_CREATE_RULESET, *_sized(_ruleset(version)), 0)
    if rules < 0:
        return False
    try:
        for path in _readable():
            _allow(libc, rules, path)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _ruleset(version: int) -> bytes:
    """Return the rights that are forbidden unless a rule allows them."""
    files = (1 << _FILE_RIGHTS.get(version, _LATEST_FILE_RIGHTS)) - 1
    fields = [files]
    if version >= _NETWORK_VERSION:
        fields.append(_CONNECT_AND_BIND)
    if version >= _SCOPE_VERSION:
        fields.append(_SIGNALS_AND_SOCKETS)
    return struct.pack(f"={len(fields)}Q", *fields)


def _sized(content: bytes) -> tuple[bytes, int]:
    return content, len(content)


def _readable() -> Iterable[Path]:
    """Return the folders of the interpreter and its libraries. Modules may be
    loaded late.
    """
    return [Path(one) for one in (sys.prefix, sys.base_prefix, *sys.path, *_SYSTEM)]


def _allow(libc: ctypes.CDLL, rules: int, path: Path) -> None:
    with suppress(FileNotFoundError):
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            rights = _READS if path.is_dir() else _READS_A_FILE
            rule = struct.pack("=Qi", rights, opened)
            libc.syscall(_ADD_RULE, rules, _BENEATH, rule, 0)
        finally:
            os.close(opened)
