"""Programs that answer like no database server before TLS: drivers fail soon, and their
errors are short.
"""

import ssl

import pytest
from scriptedpeer import Peer

from asoreconcile.azure.sql_users.drivers import azure_sql, mysql, postgresql
from asoreconcile.azure.sql_users.server import DatabaseServer, ServerError, SignIn

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
    body = b"\xff\x15\x04#28000" + b"no! " * 50_000
    packet = len(body).to_bytes(3, "little") + b"\x00" + body
    error = refused("mysql", lambda _peer, connection: connection.sendall(packet))
    assert (error.trouble, error.code) == ("sign-in", "1045")
    assert len(str(error)) < 5000
