"""Programs that answer like no database server before TLS: drivers fail soon, and their
errors are short.
"""

import socket
import ssl
from contextlib import suppress

import pytest
from scriptedpeer import Peer

from asoreconcile.azure.sql_users.drivers import azure_sql, mysql, postgresql
from asoreconcile.azure.sql_users.drivers.azure_sql import is_same_or_beside
from asoreconcile.azure.sql_users.drivers.bounded import BoundedSocket, ByteBound
from asoreconcile.azure.sql_users.server import DatabaseServer, ServerError, SignIn
from asoreconcile.testing.throwaway_certificates import certificate_authority

SIGN_IN = SignIn("admin", "first-password")
CONNECT = {
    "mysql": lambda server: mysql.connect(
        server, SIGN_IN, ssl.create_default_context()
    ),
    "postgresql": lambda server: postgresql.connect(
        server, SIGN_IN, ssl.create_default_context()
    ),
    "azure-sql": lambda server: azure_sql.connect(server, SIGN_IN),
}
# The head of a packet whose body never ends.
BEGINNING = {
    "mysql": b"\xff\xff\x00\x00",
    "postgresql": b"S\x16\x03\x03\x40\x00",
    "azure-sql": b"\x04\x01\x7f\xff\x00\x00\x00\x00",
}


@pytest.fixture
def refused(monkeypatch):
    """The error of a driver that meets a server which does what a script says."""
    for driver in (mysql, postgresql, azure_sql):
        monkeypatch.setattr(driver, "CONNECT_SECONDS", 0.3)

    def refused(driver, script):
        peer = Peer(script)
        try:
            host, port = peer.address.split(":")
            with pytest.raises(ServerError) as caught:
                CONNECT[driver](DatabaseServer(host, int(port), "d"))
            return caught.value
        finally:
            peer.close()

    return refused


@pytest.mark.parametrize("driver", CONNECT)
def test_a_server_that_says_a_byte_at_a_time_holds_nobody_up(refused, driver):
    def drip(peer, connection):
        connection.sendall(BEGINNING[driver])
        while not peer.ended.wait(0.02):
            connection.sendall(b"\x02")

    assert refused(driver, drip).trouble == "unreachable"


@pytest.mark.parametrize("driver", CONNECT)
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 99]
)
def test_what_is_no_such_server_is_an_error(refused, driver, said):
    error = refused(driver, lambda _peer, connection: connection.sendall(said))
    assert error.trouble in ("unreachable", "tls")
    assert "first-password" not in str(error)


def test_a_server_that_says_much_is_cut_short(refused):
    body = b"\xff\x15\x04#28000" + b"no! " * 10_000
    packet = len(body).to_bytes(3, "little") + b"\x00" + body
    error = refused("mysql", lambda _peer, connection: connection.sendall(packet))
    assert (error.trouble, error.code) == ("sign-in", "1045")
    assert len(str(error)) < 5000


def tls_of(tmp_path):
    """Return the context of a server that clients trust, and that of a client."""
    authority = certificate_authority("databases")
    certificate, key = authority.issue(["127.0.0.1", "localhost"])
    (tmp_path / "cert.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return made, ssl.create_default_context(cadata=authority.pem.decode())


def test_a_postgresql_server_of_a_stranger_may_send_little(refused, tmp_path):
    """It announces a message of a gigabyte, within TLS that is verified."""
    server_context, client_context = tls_of(tmp_path)

    def script(peer, connection):
        connection.recv(8)
        connection.sendall(b"S")
        with (
            server_context.wrap_socket(connection, server_side=True) as secured,
            suppress(OSError),
        ):
            secured.recv(1000)
            secured.sendall(b"R" + (2**30).to_bytes(4, "big"))
            while not peer.ended.is_set():
                secured.sendall(bytes(10_000))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(postgresql, "CONNECT_SECONDS", 10.0)
        patched.setitem(
            CONNECT,
            "postgresql",
            lambda server: postgresql.connect(server, SIGN_IN, client_context),
        )
        error = refused("postgresql", script)
    assert error.trouble == "unreachable"
    assert "more than 65536 bytes before the sign-in" in str(error)


def test_a_mysql_server_may_send_little_before_tls(refused):
    def script(peer, connection):
        with suppress(OSError):
            connection.sendall(b"\xff\xff\xff\x00")
            while not peer.ended.is_set():
                connection.sendall(bytes(10_000))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mysql, "CONNECT_SECONDS", 10.0)
        error = refused("mysql", script)
    assert error.trouble == "unreachable"
    assert "more than 65536 bytes before the sign-in" in str(error)


def test_all_that_a_connection_receives_counts():
    ours, theirs = socket.socketpair()
    with theirs, BoundedSocket(ours) as bounded:
        for _ in range(8):
            theirs.sendall(bytes(8192))
            assert bounded.recv_into(bytearray(4096)) == 4096
            assert len(bounded.recv(4096)) == 4096
        theirs.sendall(b"x")
        with pytest.raises(ServerError, match="before the sign-in"):
            bounded.recv(1)


def test_each_request_may_have_an_answer_of_16_mib():
    bound = ByteBound()
    bound.received(64 * 1024)
    with pytest.raises(ServerError, match="before the sign-in"):
        bound.received(1)
    bound.signed_in()
    for _ in range(2):
        bound.received(16 * 1024 * 1024)
        bound.sent()
    with pytest.raises(ServerError, match="sent more than 16777216 bytes"):
        bound.received(16 * 1024 * 1024 + 1)


@pytest.mark.parametrize(
    ("host", "is_let"),
    [
        ("shop.database.windows.net", True),
        ("SHOP.database.windows.net.", True),
        ("x1.tr9.eastus1-a.worker.database.windows.net", True),
        ("10.0.0.7", False),
        ("localhost", False),
        ("database.windows.net.example.com", False),
        ("evildatabase.windows.net", False),
    ],
)
def test_a_sign_in_is_sent_on_within_the_domain_only(host, is_let):
    assert is_same_or_beside(host, "shop.database.windows.net") == is_let
