"""Tokens of a namespace's ServiceAccount: cached, renewed, and refused with a remedy."""

from datetime import timedelta

import pytest

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.controllers.workload_tokens import WorkloadTokens
from asoreconcile.kube.errors import ForbiddenError, NotFoundError, TransportError

HOUR = 3600.0
GONE = NotFoundError("no", status=404)
DENIED = ForbiddenError("no", status=403)
LOST = TransportError("reset", lost=False)


class Requests:
    """An API server that makes tokens of an hour, or raises."""

    def __init__(self, clock):
        self.asked = []
        self.error = None
        self._clock = clock

    def create(self, resource, obj, *, subresource):
        meta = obj["metadata"]
        path = f"{meta['namespace']}/{resource.plural}/{meta['name']}/{subresource}"
        self.asked.append((path, obj["spec"]["audiences"]))
        if self.error is not None:
            raise self.error
        ends = self._clock.now() + timedelta(seconds=obj["spec"]["expirationSeconds"])
        made = f"token-{len(self.asked)}"
        return {"status": {"token": made, "expirationTimestamp": ends.isoformat()}}


@pytest.fixture
def requests(clock):
    return Requests(clock)


@pytest.fixture
def tokens(requests, clock):
    return WorkloadTokens(requests, clock)


def test_a_token_is_requested_once_for_each_namespace(tokens, requests):
    assert [tokens("a"), tokens("a"), tokens("b")] == ["token-1", "token-1", "token-2"]
    assert requests.asked == [
        (f"{name}/serviceaccounts/aso-workload/token", ["api://AzureADTokenExchange"])
        for name in ("a", "b")
    ]


def test_a_token_is_renewed_before_it_ends(tokens, clock):
    tokens("a")
    clock.advance(0.79 * HOUR)
    assert tokens("a") == "token-1"
    clock.advance(0.02 * HOUR)
    assert tokens("a") == "token-2"


def test_a_valid_token_outlasts_an_api_server_that_does_not_answer(
    tokens, requests, clock
):
    tokens("a")
    requests.error = LOST
    clock.advance(0.9 * HOUR)
    assert [tokens("a"), tokens("a")] == ["token-1", "token-1"]
    assert len(requests.asked) == 2  # not again for each caller
    clock.advance(0.1 * HOUR)
    with pytest.raises(CredentialError) as raised:
        tokens("a")
    assert raised.value.is_passing


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (GONE, "create the ServiceAccount aso-workload in namespace a"),
        (GONE, "system:serviceaccount:a:aso-workload"),
        (DENIED, "grant the operator `create` on serviceaccounts/token"),
    ],
)
def test_a_refusal_says_what_to_do_and_ends_the_use_of_the_token(
    tokens, requests, clock, error, remedy
):
    tokens("a")
    clock.advance(0.9 * HOUR)
    requests.error = error
    with pytest.raises(CredentialError, match=remedy) as raised:
        tokens("a")
    assert not raised.value.is_passing
    requests.error = LOST
    with pytest.raises(CredentialError):
        tokens("a")
