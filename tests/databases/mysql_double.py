"""A server with the part of MySQL's protocol that a sign-in with a token needs.

As Azure's server, it demands the password in plain text (mysql_clear_password), and
only within TLS. It records the statements, and knows the users that they create.
"""

import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path

from protocoldouble import ProtocolDouble, exactly

_PLUGIN = b"mysql_clear_password"
_CAPABILITIES = 0x00000001 | 0x200 | 0x800 | 0x8000 | 0x80000 | 0x8 | 0x2000
_OK = b"\x00\x00\x00\x02\x00\x00\x00"
_STRING = 0xFD


class MySqlDouble(ProtocolDouble):
    """The server. Use as a context manager."""

    def __init__(
        self, certificate_file: Path | str, key_file: Path | str, *, token: str
    ) -> None:
        super().__init__(certificate_file, key_file)
        self._token = token
        self.statements: list[str] = []
        self.passwords: list[str] = []
        self.users: list[str] = []
        self.users_plugins: dict[str, str] = {}

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError, EOFError), connection:
            _send(connection, 0, self._greeting())
            _receive(connection)  # SSLRequest: only TLS may follow
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self._open.append(secured)
                number, hello = _receive(secured)
                self.users.append(hello[32:].split(b"\0", 1)[0].decode())
                _send(secured, number + 1, b"\xfe" + _PLUGIN + b"\0\0")
                number, sent = _receive(secured)
                password = sent.rstrip(b"\0").decode()
                self.passwords.append(password)
                if password != self._token:
                    _send(secured, number + 1, _error(1045, "Access denied for user"))
                    return
                _send(secured, number + 1, _OK)
                self._answer(secured)

    def _greeting(self) -> bytes:
        return (
            b"\x0a8.0.40-azure\0"
            + struct.pack("<I", 7)
            + b"12345678\0"
            + struct.pack("<H", _CAPABILITIES & 0xFFFF)
            + b"\x2d"
            + struct.pack("<H", 2)
            + struct.pack("<H", _CAPABILITIES >> 16)
            + b"\x15"
            + b"\0" * 10
            + b"123456789012\0"
            + _PLUGIN
            + b"\0"
        )

    def _answer(self, connection: socket.socket) -> None:
        while True:
            _, command = _receive(connection)
            if command[:1] == b"\x01":
                return
            text = command[1:].decode()
            if text.lstrip().startswith("SELECT"):
                self._select(connection, text)
                continue
            if not text.startswith("SET "):
                self.statements.append(text)
            if text.startswith("CREATE AADUSER"):
                name = text.split("'")[-2]
                self.users_plugins[name] = "aad_auth"
            elif text.startswith("CREATE USER"):
                self.users_plugins[text.split("'")[1]] = "caching_sha2_password"
            _send(connection, 1, _OK)

    def _select(self, connection: socket.socket, text: str) -> None:
        rows: list[list[str]] = []
        if "VERSION()" in text:
            rows, columns = [["8.0.40-azure", "admins@%", "1"]], ["v", "u", "l"]
        elif "FROM mysql.user" in text:
            name = text.split("User = '")[1].split("'", maxsplit=1)[0]
            if name in self.users_plugins:
                rows = [[name, "%", self.users_plugins[name], "0", "0", "0"]]
            columns = ["User", "Host", "plugin", "locked", "expired", "limited"]
        elif "FROM mysql.role_edges" in text:
            columns = ["FROM_USER", "FROM_HOST"]
        else:
            columns = ["grantee", "place", "privilege_type", "is_grantable"]
            whose = (
                text.split("grantee = '")[1]
                .split("' AND", maxsplit=1)[0]
                .replace("''", "'")
            )
            for said in self.statements:
                if said.startswith("GRANT"):
                    place = said.split("`")[1] if "`" in said else ""
                    rows.append([whose, place, said.split()[1], "NO"])
        number = 1
        for part in (
            bytes([len(columns)]),
            *(_column(name) for name in columns),
            b"\xfe\x00\x00\x02\x00",
            *(b"".join(map(_text, row)) for row in rows),
            b"\xfe\x00\x00\x02\x00",
        ):
            _send(connection, number, part)
            number += 1


def _text(value: str) -> bytes:
    data = value.encode()
    return bytes([len(data)]) + data


def _column(name: str) -> bytes:
    return (
        b"".join(map(_text, ("def", "", "", "", name, name)))
        + b"\x0c"
        + struct.pack("<HIBHB", 45, 255, _STRING, 0, 0)
        + b"\0\0"
    )


def _error(code: int, message: str) -> bytes:
    return b"\xff" + struct.pack("<H", code) + b"#28000" + message.encode()


def _send(connection: socket.socket, number: int, payload: bytes) -> None:
    connection.sendall(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)


def _receive(connection: socket.socket) -> tuple[int, bytes]:
    head = exactly(connection, 4)
    size = struct.unpack("<I", head[:3] + b"\0")[0]
    return head[3], exactly(connection, size)
