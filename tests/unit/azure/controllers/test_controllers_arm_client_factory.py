"""Clients of ARM for many credentials, over few connections."""

import attrs
import pytest

from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
)
from asoreconcile.azure.controllers import arm_client_factory as module
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.base.clock import SystemClock

PUBLIC = ClientSecret("tenant", "client", "secret", "sub")
OTHER = attrs.evolve(
    PUBLIC,
    cloud=CloudConfig(
        authority_host="https://login.example", endpoint="https://arm.example"
    ),
)


class Transport:
    def __init__(self, url):
        self.url = url
        self.closed = False

    def close(self):
        self.closed = True


@pytest.fixture
def made(monkeypatch):
    made = []

    def make(url, connections=0):
        made.append(Transport(url))
        made[-1].connections = connections  # type: ignore[attr-defined]
        return made[-1]

    monkeypatch.setattr(
        module,
        "ArmTransport",
        lambda *, url, connections, **_: make(url, connections),
    )
    monkeypatch.setattr(
        module, "sign_in_transport", lambda cloud: make(cloud.authority_host)
    )
    return made


def test_credentials_of_one_cloud_share_its_connections(made):
    connect = ArmClientFactory(clock=SystemClock())
    sources = [attrs.evolve(PUBLIC, client_id=str(n)) for n in range(3)]
    connections = [connect(source, f"ns{n}/s") for n, source in enumerate(sources)]
    assert len({id(connection.client) for connection in connections}) == 3
    assert [connection.source for connection in connections] == [
        "ns0/s",
        "ns1/s",
        "ns2/s",
    ]
    assert {t.url for t in made} == {
        PUBLIC.cloud.endpoint,
        PUBLIC.cloud.authority_host,
    }
    assert len(made) == 2
    connect(OTHER, "ns/other")
    assert len(made) == 4


def test_t10_the_pool_is_as_large_as_told(made):
    ArmClientFactory(clock=SystemClock(), connections=96)(PUBLIC, "a")
    assert {t.url: t.connections for t in made}[PUBLIC.cloud.endpoint] == 96


def test_t2_one_principal_has_one_budget_whatever_secret_names_it(made, monkeypatch):
    budgets = []
    monkeypatch.setattr(
        module, "Budget", lambda clock, gauge: budgets.append(clock) or object()
    )
    given = []
    monkeypatch.setattr(
        module, "ArmClient", lambda *_, budget, **__: given.append(budget)
    )
    connect = ArmClientFactory(clock=SystemClock())
    for source in (PUBLIC, attrs.evolve(PUBLIC, client_secret="new"), OTHER):
        connect(source, "ns/s")
    assert given[0] is given[1]
    assert given[2] is not given[0]


def test_pr4_one_principal_asks_once_whatever_secret_names_it(made, monkeypatch):
    given = []
    monkeypatch.setattr(
        module, "ArmClient", lambda *_, registrations, **__: given.append(registrations)
    )
    connect = ArmClientFactory(clock=SystemClock())
    for source in (PUBLIC, attrs.evolve(PUBLIC, client_secret="new"), OTHER):
        connect(source, "ns/s")
    assert given[0] is given[1]
    assert given[2] is not given[0]


def test_close_closes_all(made):
    connect = ArmClientFactory(clock=SystemClock())
    connect(PUBLIC, "a")
    connect(OTHER, "b")
    connect.close()
    assert [t.closed for t in made] == [True] * 4


def test_a_malformed_credential_makes_no_connection(made):
    connect = ArmClientFactory(clock=SystemClock())
    with pytest.raises(CredentialError):
        connect(attrs.evolve(PUBLIC, tenant_id="no/tenant"), "ns/s")
