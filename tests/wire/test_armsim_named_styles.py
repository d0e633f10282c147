"""Any type in any of the 26 ways, and the client brings each to its end."""

import os
from unittest import mock

import pytest
from azure.core.credentials import AccessToken

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import (
    Failed,
    OperationDone,
    Pending,
    ReadResource,
    Restart,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.named_styles import NAMED
from asoreconcile.testing.clock import FakeClock

BODY = {"location": "westeurope", "properties": {}}
TYPE = "Microsoft.Example/things"
API = "2024-01-01"


class SignedIn:
    def __init__(self, azure):
        self.token = azure.entra.issue(azure.client_id)

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, 1 << 40)


@pytest.fixture(scope="module")
def clock():
    return FakeClock()


@pytest.fixture(scope="module")
def azure(clock):
    # Every type is made with the same short body.
    with ArmServer(clock=clock, lro=40.0, strict=False) as server:
        yield server


@pytest.fixture(scope="module")
def client(azure, clock, tmp_path_factory):
    bundle = tmp_path_factory.mktemp("azure") / "ca.pem"
    azure.write_ca(bundle)
    with mock.patch.dict(os.environ, {"REQUESTS_CA_BUNDLE": str(bundle)}):
        made = ArmClient(azure.url, SignedIn(azure), scope="s", clock=clock)
    yield made
    made.close()


class Driver:
    """Drives one resource to an end as the operator does, without a cluster."""

    def __init__(self, client, clock, id_):
        self.client, self.clock, self.id = client, clock, id_

    def put(self):
        return self._end(lambda: self.client.put(self.id, API, BODY))

    def delete(self):
        return self._end(lambda: self.client.delete(self.id, API))

    def _end(self, begin):
        outcome = None
        for _ in range(400):
            try:
                outcome = self._next(outcome, begin)
            except ArmError as error:
                self.clock.advance(error.retry_after_seconds or 5.0)
                outcome = None
            if isinstance(outcome, OperationDone):
                return outcome
        raise AssertionError(outcome)

    def _next(self, outcome, begin):
        match outcome:
            case Pending():
                self.clock.advance(outcome.delay_seconds)
                return self.client.poll(outcome.token, outcome.progress)
            case ReadResource():
                self.clock.advance(outcome.delay_seconds)
                return self.client.judge(self.id, API, deleting=outcome.deleting)
            case Failed() | Restart() | None:
                return begin()


@pytest.mark.parametrize("name", NAMED)
def test_every_way_to_answer_comes_to_a_good_end(azure, client, clock, group, name):
    type_ = f"{TYPE}{name}"
    azure.style(type_, name)
    driver = Driver(client, clock, f"{group}/providers/{type_}/it")
    driver.put()
    assert client.head(driver.id, API)
    driver.put()
    driver.delete()
    assert not client.head(driver.id, API)


def test_an_unknown_way_is_refused_with_those_there_are(azure):
    with pytest.raises(ValueError, match=r"'W99': they are W1, W2"):
        azure.style(TYPE, "W99")


def chain(azure, arm_type, group):
    """The path of a resource of a type; what it is below is there."""
    namespace, *types = arm_type.split("/")
    path = f"{group}/providers/{namespace}"
    for part in types[:-1]:
        path += f"/{part}/it"
        azure.seed(path, BODY)
    return f"{path}/{types[-1]}/it"


def test_every_kind_of_the_catalogue_can_be_made_read_and_deleted(azure, group):
    types = {
        version.arm_type
        for kind in builtin().kinds()
        if kind.is_arm
        for version in [kind.version()]
        if version.arm_type.lower() != "microsoft.resources/resourcegroups"
    }
    assert len(types) > 150
    wrong = []
    headers = {"If-Match": "*"}
    with azure.session() as session:
        for arm_type in sorted(types):
            path = chain(azure, arm_type, group)
            statuses = [session.put(path, json=BODY).status_code]
            azure.advance(3600.0)
            statuses.append(session.head(path).status_code)
            statuses.append(session.delete(path, headers=headers).status_code)
            azure.advance(3600.0)
            statuses.append(session.head(path).status_code)
            azure.remove(group)
            azure.seed(group, {"location": "westeurope"})
            if not (
                statuses[0] in (200, 201, 202)
                and statuses[1:] == [204, statuses[2], 404]
                and statuses[2] in (200, 202, 204)
            ):
                wrong.append((arm_type, statuses))
    assert wrong == []
