"""Who may read the metrics, as the API server says."""

import pytest

from asoreconcile.kube.errors import TransportError
from asoreconcile.runtime.metrics_authorization import MetricsAuthorizationFilter
from asoreconcile.serving.messages import ServerRequest

CANARY = "canary-token"
USER = {"username": "system:serviceaccount:monitoring:scraper", "groups": ["system:a"]}


class Cluster:
    """The API server's two reviews. allowed: the paths that the user may get."""

    def __init__(self):
        self.tokens = {CANARY: USER}
        self.allowed = {"/metrics"}
        self.asked = []
        self.away = False

    def create(self, resource, obj):
        self.asked.append(resource.kind)
        if self.away:
            raise TransportError("the API server does not answer")
        if resource.kind == "TokenReview":
            user = self.tokens.get(obj["spec"]["token"])
            return {"status": {"authenticated": user is not None, "user": user or {}}}
        spec = obj["spec"]
        assert (spec["user"], spec["groups"]) == (USER["username"], USER["groups"])
        wanted = spec["nonResourceAttributes"]
        allowed = wanted["verb"] == "get" and wanted["path"] in self.allowed
        return {"status": {"allowed": allowed}}


@pytest.fixture
def cluster():
    return Cluster()


@pytest.fixture
def scrapers(cluster, clock):
    return MetricsAuthorizationFilter(cluster, clock=clock)


def scrape(scrapers, authorization=f"Bearer {CANARY}", target="/metrics"):
    headers = {"authorization": authorization} if authorization else {}
    refusal = scrapers.refusal(ServerRequest("GET", target, headers))
    return refusal.status if refusal else 200


def test_a_user_that_is_named_but_not_vouched_for_is_nobody(scrapers, cluster):
    """An authenticator may name whose token has run out."""

    def create(resource, obj):
        return {"status": {"authenticated": False, "user": USER}}

    cluster.create = create
    assert scrape(scrapers) == 401


def test_who_is_known_and_allowed_comes_in(scrapers, cluster):
    assert scrape(scrapers, target="/metrics?name=up") == 200
    assert cluster.asked == ["TokenReview", "SubjectAccessReview"]


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", f"Basic {CANARY}", "Bearer other"],
    ids=["none", "no token", "blank", "basic", "unknown"],
)
def test_who_is_not_known_stays_out(scrapers, authorization):
    assert scrape(scrapers, authorization) == 401


def test_who_is_not_allowed_stays_out(scrapers):
    assert scrape(scrapers, target="/debug") == 403


def test_answers_hold_for_their_time(scrapers, cluster, clock):
    scrape(scrapers)
    cluster.allowed.clear()
    cluster.asked.clear()
    clock.advance(59)
    assert (scrape(scrapers), cluster.asked) == (200, [])
    clock.advance(2)
    assert (scrape(scrapers), cluster.asked) == (200, ["TokenReview"])
    clock.advance(240)
    assert scrape(scrapers) == 403
    cluster.allowed.add("/metrics")
    clock.advance(29)
    assert scrape(scrapers) == 403
    clock.advance(2)
    assert scrape(scrapers) == 200


def test_a_new_token_is_known_after_a_moment(scrapers, cluster, clock):
    assert scrape(scrapers, "Bearer new") == 401
    cluster.tokens["new"] = USER
    clock.advance(11)
    assert scrape(scrapers, "Bearer new") == 200


def test_an_api_server_that_cannot_be_asked_lets_nobody_in(scrapers, cluster, caplog):
    cluster.away = True
    assert scrape(scrapers) == 500
    assert CANARY not in caplog.text
    cluster.away = False
    assert scrape(scrapers) == 200


def test_strangers_do_not_fill_the_memory(scrapers, cluster):
    for number in range(3000):
        assert scrape(scrapers, f"Bearer {number}") == 401
    assert len(scrapers._users._kept) <= 1000
    assert CANARY not in repr(scrapers._users._kept)
