"""Requests after the close of an ARM client or of its transport."""

import pytest
from azure.core.credentials import AccessToken
from azure.core.rest import HttpRequest

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.base.errors import StoppedError
from asoreconcile.testing.clock import FakeClock


class ReadyToken:
    def get_token(self, *_scopes, **_options):
        return AccessToken("token", 1 << 40)


def test_a_closed_client_sends_nothing(clock: FakeClock):
    client = ArmClient("https://127.0.0.1:9", ReadyToken(), scope="s", clock=clock)
    client.close()
    with pytest.raises(StoppedError, match="are closed"):
        client.get("/subscriptions/s", "2024-01-01")


def test_a_closed_transport_opens_no_connection_to_a_further_host():
    transport = ArmTransport(url="https://127.0.0.1:9")
    transport.close()
    with pytest.raises(StoppedError, match="are closed"):
        transport.send(HttpRequest("GET", "https://127.0.0.2:9/"))
