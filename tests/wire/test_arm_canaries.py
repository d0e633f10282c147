"""No secret leaves the client but in the request it is for: every path, every form.

The client secret, a certificate's password and key, a federated token, Azure's tokens
and the values in a body: in no text of an exception, no repr, no pickle, no log at
DEBUG, no metric, no poller token.
"""

import logging
import pickle
import traceback

import attrs
import pytest
from keypairs import certificate_pem, pem, rsa_key
from prometheus_client import CollectorRegistry, generate_latest

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import ClientSecret, CloudConfig
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import WorkloadIdentity
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.outcomes import Pending
from asoreconcile.azure.arm.tokens import dumps
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.arm.envelopes import NAMES
from asoreconcile.testing.http import HttpResponse

PAYLOAD = "canary-payload-3f9d"
PASSWORD = "canary-password-71ac"
ASSERTION = "eyJjYW5hcnkiOiAx.eyJjYW5hcnkiOiAyfQ.Y2FuYXJ5"
BODY = {"location": "westeurope", "properties": {"administratorLoginPassword": PAYLOAD}}
API = "2024-08-01"


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer(lro=3600.0) as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        group = f"/subscriptions/{server.subscription_id}/resourceGroups/rg"
        server.seed(group, {"location": "westeurope"})
        yield server


@pytest.fixture
def server_id(azure):
    group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    return f"{group}/providers/Microsoft.DBforPostgreSQL/flexibleServers/pg-db"


@pytest.fixture
def cloud(azure):
    return CloudConfig(authority_host=azure.authority, endpoint=azure.url)


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def source(azure, cloud):
    return ClientSecret(
        azure.tenant_id, azure.client_id, azure.client_secret, cloud=cloud
    )


class Watched:
    """All that a client lets be seen, to look for canaries in."""

    def __init__(self, azure, source, registry, caplog):
        caplog.set_level(logging.DEBUG)
        self._azure, self._caplog, self._registry = azure, caplog, registry
        self._known = [PAYLOAD, PASSWORD, ASSERTION, azure.client_secret]
        clock = SystemClock()
        metrics = ArmMetrics(registry)
        self.client = ArmClient(
            azure.url,
            source.credential(),
            scope=source.cloud.scope,
            clock=clock,
            metrics=metrics,
            budget=Budget(clock, gauge=metrics.remaining),
        )
        self.seen = [repr(source), str(source), repr(self.client)]

    def fails(self, call):
        """Run what must fail; keep everything its exception says and holds."""
        with pytest.raises(AsoreconcileError) as caught:
            call()
        error = caught.value
        self.seen += traceback.format_exception(error)
        self.seen += [str(error), repr(error), str(error.args), str(_inside(error))]
        self.seen.append(_pickled(error))
        return error

    def shows(self, *values):
        self.seen += [form(v) for v in values for form in (repr, str, _pickled)]

    def assert_clean(self):
        text = "".join(self.seen) + self._caplog.text
        text += "".join(str(vars(record)) for record in self._caplog.records)
        text += generate_latest(self._registry).decode()
        canaries = [*self._known, *self._azure.entra.tokens()]
        assert len(text) > 1000
        assert [canary for canary in canaries if canary in text] == []


def _inside(error):
    """What the exception and its causes hold in their attributes."""
    held = []
    while error is not None:
        held.append(dict(vars(error)))
        error = error.__cause__ or error.__context__
    return held


def _pickled(value):
    """What a pickle of it would hold; "" for what cannot be pickled at all."""
    try:
        return pickle.dumps(value).decode("latin-1")
    except (pickle.PicklingError, TypeError, AttributeError):
        return ""


@pytest.fixture
def watched(azure, source, registry, caplog):
    made = Watched(azure, source, registry, caplog)
    yield made
    made.client.close()


def calls(client, id_):
    return [
        lambda: client.put(id_, API, BODY),
        lambda: client.get(id_, API),
        lambda: client.delete(id_, API),
        lambda: client.post(f"{id_}/listKeys", API, BODY),
        lambda: list(client.list(id_, API)),
        lambda: client.head(id_, API),
    ]


VERBS = ("PUT", "GET", "DELETE", "POST", "GET", "HEAD")


@pytest.mark.parametrize("envelope", NAMES)
def test_no_error_of_any_shape_shows_a_secret(azure, watched, server_id, envelope):
    for verb, call in zip(VERBS, calls(watched.client, server_id), strict=True):
        azure.faults.answer(
            verb, "flexibleServers", 400, code="Bad", message="No.", envelope=envelope
        )
        watched.fails(call)
    watched.assert_clean()


@pytest.mark.parametrize("phase", ["before", "after"])
def test_no_broken_connection_shows_a_secret(azure, watched, server_id, phase):
    for verb, call in zip(VERBS, calls(watched.client, server_id), strict=True):
        azure.faults.drop(verb, "flexibleServers", phase=phase)
        watched.fails(call)
    watched.assert_clean()


@pytest.mark.parametrize(
    "response",
    [
        HttpResponse(200, b'{"id": '),
        HttpResponse(200, b"<html>", {"Content-Type": "text/html"}),
        HttpResponse(302, b"", {"Location": "https://evil.example/"}),
        HttpResponse(429, b"{}", {"Retry-After": "17"}),
        HttpResponse(401, b"", {"WWW-Authenticate": 'Bearer claims="e30="'}),
    ],
    ids=["truncated", "html", "redirect", "throttled", "claims"],
)
def test_no_broken_answer_shows_a_secret(azure, watched, server_id, response):
    azure.faults.respond("GET", "flexibleServers", response, times=2)
    watched.fails(lambda: watched.client.get(server_id, API))
    watched.assert_clean()


def test_no_operation_shows_a_secret(azure, watched, server_id):
    client = watched.client
    outcome = client.put(server_id, API, BODY)
    assert isinstance(outcome, Pending)
    watched.shows(outcome, outcome.token, outcome.progress)
    watched.seen.append(dumps(outcome.token))
    azure.faults.break_polls("flexibleServers")
    troubled = client.poll(outcome.token, outcome.progress)
    assert troubled.read_error is not None
    watched.shows(troubled, client.judge(server_id, API, deleting=False))
    watched.assert_clean()


def test_signatures_of_monitors_are_shown_nowhere(azure, watched, server_id):
    outcome = watched.client.put(server_id, API, BODY)
    azure.faults.drop("GET", "azureAsyncOperation")
    troubled = watched.client.poll(outcome.token, outcome.progress)
    signature = outcome.token.url.partition("&s=")[2].partition("&")[0]
    assert len(signature) > 30
    text = repr([outcome, troubled]) + str(troubled.read_error) + "".join(watched.seen)
    assert signature not in text + watched._caplog.text


def test_no_keys_that_azure_gives_out_are_shown(azure, watched, server_id):
    account = server_id.replace("DBforPostgreSQL/flexibleServers", "Search/services")
    azure.seed(account, {"location": "westeurope"})
    outcome = watched.client.post(f"{account}/listKeys", API)
    watched._known.append(outcome.body["primaryKey"])
    watched.seen += [repr(outcome), str(outcome)]
    watched.seen += ["."] * 1000
    watched.assert_clean()


def test_a_refused_secret_is_not_shown(azure, source, registry, caplog):
    source = attrs.evolve(source, client_secret=PASSWORD)
    watched = Watched(azure, source, registry, caplog)
    error = watched.fails(lambda: watched.client.get("/subscriptions/s", API))
    assert "AADSTS7000215" in str(error)
    watched.assert_clean()
    watched.client.close()


@pytest.mark.parametrize("registered", [True, False])
def test_a_certificate_is_not_shown(
    azure, cloud, registry, caplog, server_id, registered
):
    certificates = (certificate_pem(rsa_key()),) if registered else ()
    azure.entra.register(EntraApplication("app", certificates=certificates))
    source = ClientCertificate(
        azure.tenant_id, "app", pem(rsa_key(), PASSWORD), PASSWORD, cloud=cloud
    )
    watched = Watched(azure, source, registry, caplog)
    watched._known.append("PRIVATE KEY")
    watched.fails(lambda: watched.client.get(server_id, API))
    watched.assert_clean()
    watched.client.close()


def test_a_federated_token_is_not_shown(azure, cloud, registry, caplog, tmp_path):
    azure.entra.register(EntraApplication("app"))
    (tmp_path / "token").write_text(ASSERTION)
    source = WorkloadIdentity(
        azure.tenant_id, "app", cloud=cloud, token_file=str(tmp_path / "token")
    )
    watched = Watched(azure, source, registry, caplog)
    error = watched.fails(lambda: watched.client.get("/subscriptions/s", API))
    assert "AADSTS" in str(error)
    watched.assert_clean()
    watched.client.close()


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_an_authority_in_trouble_shows_no_secret(
    azure, source, registry, caplog, status
):
    page = HttpResponse(status, b"<html>trouble</html>", {"Content-Type": "text/html"})
    azure.token_faults.respond("POST", "/token", page, times=9)
    watched = Watched(azure, source, registry, caplog)
    watched.fails(lambda: watched.client.get("/subscriptions/s", API))
    watched.assert_clean()
    watched.client.close()


def test_credentials_are_not_pickled(azure, source, cloud):
    certificate = ClientCertificate("t", "c", pem(rsa_key()), PASSWORD, cloud=cloud)
    for kept in (source, certificate):
        with pytest.raises(TypeError, match="is not pickled"):
            pickle.dumps(kept)
    assert azure.client_secret not in repr(attrs.evolve(source, origin="x"))
    assert azure.client_secret not in repr(source.credential())
