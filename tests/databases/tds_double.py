"""A server with the part of TDS that a sign-in and some statements need.

As in Azure SQL, TLS is inside PRELOGIN packets until the handshake is over. The server
records the statements, and answers queries about the users that they create.
"""

import re
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from protocoldouble import ProtocolDouble, exactly

PRELOGIN, LOGIN, BATCH, RPC, RESPONSE = 0x12, 0x10, 0x01, 0x03, 0x04
_LAST = 0x01
_COLLATION = bytes.fromhex("0904d00034")


class TdsDouble(ProtocolDouble):
    """The server. Use as a context manager.

    refuse: (number, message) for a sign-in or statement that matches a pattern.
    """

    def __init__(
        self,
        certificate_file: Path | str,
        key_file: Path | str,
        *,
        user: str,
        password: str,
    ) -> None:
        super().__init__(certificate_file, key_file)
        self._signs_in = (user, password)
        self.refuse: dict[str, tuple[int, str]] = {}
        self.databases: list[str] = []
        self.statements: list[str] = []
        self.roles: dict[str, set[str]] = {}
        self.hides_users = False

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError, EOFError), connection:
            _receive(lambda size: exactly(connection, size))
            connection.sendall(_packet(RESPONSE, _prelogin()))
            stream = _Secured(connection, self._context)
            _, login = _receive(stream.read)
            user = _login_field(login, 1).decode("utf-16-le")
            self.databases.append(_login_field(login, 8).decode("utf-16-le"))
            if (user, _clear(_login_field(login, 2))) != self._signs_in:
                refused = _error(18456, f"Login failed for user '{user}'.")
                stream.write(_packet(RESPONSE, refused + _done(error=True)))
                return
            if "sign-in" in self.refuse:
                refused = _error(*self.refuse["sign-in"])
                stream.write(_packet(RESPONSE, refused + _done(error=True)))
                return
            stream.write(_packet(RESPONSE, _login_ack() + _done()))
            while True:
                kind, payload = _receive(stream.read)
                stream.write(_packet(RESPONSE, self._answer(kind, payload)))

    def _answer(self, kind: int, payload: bytes) -> bytes:
        headers = struct.unpack("<I", payload[:4])[0]
        if kind == RPC:
            return self._rows(_texts(payload[headers:])) + _done()
        text = payload[headers:].decode("utf-16-le")
        if "SELECT" in text:
            return self._rows([text]) + _done()
        if not re.match("(CREATE|ALTER|DROP) ", text):  # SET LOCK_TIMEOUT
            return _done()
        self.statements.append(text)
        for pattern, refusal in self.refuse.items():
            if re.search(pattern, text):
                return _error(*refusal) + _done(error=True)
        self._do(text)
        return _done()

    def _do(self, text: str) -> None:
        if found := re.match(r"CREATE USER \[(.+?)\] WITH", text):
            self.roles[found[1]] = set()
        if found := re.match(r"ALTER ROLE \[(.+?)\] (ADD|DROP) MEMBER \[(.+)\]", text):
            change = set.add if found[2] == "ADD" else set.discard
            change(self.roles[found[3]], found[1])
        if found := re.match(r"DROP USER IF EXISTS \[(.+)\]", text):
            self.roles.pop(found[1], None)

    def _rows(self, texts: Sequence[str]) -> bytes:
        query, name = texts[0], texts[-1]
        if "FROM sys.database_principals AS users" in query:
            shown = () if self.hides_users else self.roles
            kept = next((r for r in shown if r.lower() == name.lower()), None)
            found = (
                [["S", "DATABASE", kept, f"0x{kept}", "", "yes", ""]] if kept else []
            )
            columns = ("type", "authentication", "name", "sid", "me", "connects", "may")
            return _table(columns, found)
        if "HAS_PERMS_BY_NAME" in query:
            return _table(["sees"], [["" if self.hides_users else "yes"]])
        if "above" in query:
            above = sorted(self.roles.get(name, ()))
            return _table(["via", "name"], [[role, role] for role in above])
        return _table(["name"], [[role] for role in sorted(self.roles.get(name, ()))])


class _Secured:
    """TLS whose handshake is inside PRELOGIN packets, followed by a plain
    TLS stream.
    """

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self._connection = connection
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush(inside=True)
                _, data = _receive(lambda size: exactly(connection, size))
                self._in.write(data)
            else:
                self._flush(inside=True)
                return

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                more = self._tls.read(size - len(data))
                if not more:
                    raise EOFError
                data += more
            except ssl.SSLWantReadError:
                more = self._connection.recv(65536)
                if not more:
                    raise EOFError from None
                self._in.write(more)
        return data

    def write(self, data: bytes) -> None:
        self._tls.write(data)
        self._flush(inside=False)

    def _flush(self, *, inside: bool) -> None:
        data = self._out.read()
        if data:
            self._connection.sendall(_packet(PRELOGIN, data) if inside else data)


def _packet(kind: int, payload: bytes) -> bytes:
    return struct.pack(">BBHHBB", kind, _LAST, len(payload) + 8, 0, 1, 0) + payload


def _receive(read: Callable[[int], bytes]) -> tuple[int, bytes]:
    """Return one message: its type, and the payload of all its packets."""
    whole = b""
    while True:
        kind, status, size, _, _, _ = struct.unpack(">BBHHBB", read(8))
        whole += read(size - 8)
        if status & _LAST:
            return kind, whole


def _prelogin() -> bytes:
    """Return the options VERSION and ENCRYPTION, which is on."""
    return (
        struct.pack(">BHH", 0, 11, 6)
        + struct.pack(">BHH", 1, 17, 1)
        + b"\xff"
        + struct.pack(">BBHH", 12, 0, 2000, 0)
        + b"\x01"
    )


def _login_field(login: bytes, number: int) -> bytes:
    """Return the bytes of a text of LOGIN7 by its offset: host, user, password, ..."""
    at = 36 + 4 * number
    offset, characters = struct.unpack("<HH", login[at : at + 4])
    return login[offset : offset + 2 * characters]


def _clear(password: bytes) -> str:
    swapped = (byte ^ 0xA5 for byte in password)
    return bytes((b >> 4 | b << 4) & 0xFF for b in swapped).decode("utf-16-le")


def _login_ack() -> bytes:
    name = "Azure SQL".encode("utf-16-le")
    content = (
        b"\x01" + struct.pack(">I", 0x74000004) + bytes([len(name) // 2]) + name
    ) + b"\x0c\x00\x07\xd0"
    return b"\xad" + struct.pack("<H", len(content)) + content


def _done(*, error: bool = False) -> bytes:
    return struct.pack("<BHHQ", 0xFD, 0x0002 if error else 0, 0, 0)


def _error(number: int, message: str) -> bytes:
    text, server = message.encode("utf-16-le"), b""
    content = (
        struct.pack("<IBB", number, 1, 14)
        + struct.pack("<H", len(text) // 2)
        + text
        + bytes([len(server)])
        + bytes([0])
        + struct.pack("<I", 1)
    )
    return b"\xaa" + struct.pack("<H", len(content)) + content


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    nvarchar = b"\xe7" + struct.pack("<H", 512) + _COLLATION
    data = b"\x81" + struct.pack("<H", len(columns))
    for name in columns:
        text = name.encode("utf-16-le")
        data += struct.pack("<IH", 0, 1) + nvarchar + bytes([len(name)]) + text
    for row in rows:
        data += b"\xd1"
        for value in row:
            text = value.encode("utf-16-le")
            data += struct.pack("<H", len(text)) + text
    return data


def _texts(payload: bytes) -> list[str]:
    """Return the NVARCHAR values of a call of sp_executesql: the query and
    its values.
    """
    found = []
    at = payload.find(b"\xe7")
    while at >= 0:
        head = at + 1 + 2 + 5
        size, most = (
            struct.unpack("<H", payload[head : head + 2])[0],
            payload[at + 1 : at + 3],
        )
        start = head + 2
        if most == b"\xff\xff":  # the value has chunks, and a length before the first
            size = struct.unpack("<I", payload[head + 8 : head + 12])[0]
            start = head + 12
        found.append(payload[start : start + size].decode("utf-16-le", "replace"))
        at = payload.find(b"\xe7", start + size)
    return found
