"""Resource Graph: what is asked, how pages and quotas are kept, what is no answer."""

import pytest

from asoreconcile.azure.arm.budget import ThrottledError
from asoreconcile.azure.arm.bulk_sources import Wanted
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.graph_rows import (
    API_VERSION,
    RESOURCE_GRAPH,
    GraphRows,
    NotAnsweredError,
    quota_resets_after,
)
from asoreconcile.testing.clock import FakeClock

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
NETWORK = (
    f"/subscriptions/{SUBSCRIPTION}/resourceGroups/Web-1/providers"
    "/Microsoft.Network/virtualNetworks/net"
)


class Answers:
    """A client that is answered in turn; exceptions are raised."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked = []

    def query(self, path, api_version, body):
        self.asked.append((path, api_version, body))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def page(*rows, token=None, headers=None, **members):
    body = {"data": list(rows), "resultTruncated": "false", **members}
    if token is not None:
        body["$skipToken"] = token
    return body, headers or {}


def refused(status, retry_after=None):
    said = ErrorBody("RateLimiting", "later", ("RateLimiting",))
    return ArmError(said, status=status, retry_after_seconds=retry_after)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def rows(clock):
    return GraphRows(clock)


def wanted(rows, *, credential="one", groups=()):
    address = rows.address(NETWORK)
    return Wanted(address, "v", credential=credential, groups=frozenset(groups))


def read(rows, client, **options):
    return list(rows.pages(client, wanted(rows, **options)))


def test_q4_one_query_asks_for_a_type_in_a_subscription(rows):
    client = Answers(page({"id": "a"}))
    assert read(rows, client) == [[{"id": "a"}]]
    (path, api_version, body) = client.asked[0]
    assert (path, api_version) == (RESOURCE_GRAPH, API_VERSION)
    assert body["subscriptions"] == [SUBSCRIPTION]
    assert body["options"] == {"resultFormat": "objectArray", "$top": 1000}
    assert "where type =~ 'microsoft.network/virtualnetworks' |" in body["query"]
    assert body["query"].endswith("order by id asc")


def test_q4_groups_narrow_it(rows):
    client = Answers(page())
    read(rows, client, groups=["web-1", "api"])
    assert "resourceGroup in~ ('api', 'web-1')" in client.asked[0][2]["query"]


def test_q4_further_pages_are_asked_for_by_their_token(rows):
    client = Answers(page({"id": "a"}, token="t1"), page({"id": "b"}))
    assert read(rows, client) == [[{"id": "a"}], [{"id": "b"}]]
    first, second = (body for _, _, body in client.asked)
    assert second == {**first, "options": {**first["options"], "$skipToken": "t1"}}


@pytest.mark.parametrize(
    "answers",
    [
        (page({"id": "a"}, resultTruncated="true"),),
        (page({"id": "a"}, token="t"), page({"id": "b"}, token="t")),
        (page(token=7),),
        (({"data": {"rows": []}}, {}),),
        (({"data": ["a"]}, {}),),
        (({}, {}),),
        (ArmTransportError("no", sent="maybe", method="POST", url="https://a"),),
        (refused(500),),
        (refused(400),),
    ],
)
def test_q9_what_is_no_whole_answer_is_none(rows, answers):
    with pytest.raises(NotAnsweredError) as found:
        read(rows, Answers(*answers))
    assert found.value.after_seconds > 0


def test_q4_after_the_last_of_a_quota_nothing_is_asked_until_it_resets(rows, clock):
    last = {
        "x-ms-user-quota-remaining": "0",
        "x-ms-user-quota-resets-after": "00:00:03",
    }
    client = Answers(page(headers=last), page(), page())
    read(rows, client)
    with pytest.raises(NotAnsweredError) as held:
        read(rows, client)
    assert held.value.after_seconds == 3.0
    assert len(client.asked) == 1
    # Another principal has a quota of its own.
    read(rows, client, credential="two")
    clock.advance(3.0)
    read(rows, client)
    assert len(client.asked) == 3


def test_q4_a_429_closes_it_for_as_long_as_it_says(rows, clock):
    client = Answers(refused(429, 4.0), page())
    with pytest.raises(NotAnsweredError):
        read(rows, client)
    clock.advance(3.0)
    with pytest.raises(NotAnsweredError):
        read(rows, client)
    clock.advance(1.0)
    assert read(rows, client) == [[]]
    assert len(client.asked) == 2


def test_q9_what_the_budget_holds_back_is_read_otherwise(rows):
    client = Answers(ThrottledError("closed", after_seconds=9.0))
    with pytest.raises(NotAnsweredError) as held:
        read(rows, client)
    assert held.value.after_seconds == 9.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:05", 5.0), ("00:02:03", 123.0), ("99:59:59", 3600.0), ("soon", 5.0)]
    + [(odd, 5.0) for odd in ("", "-1:00:00", "1e9", "00:00:05, 00:00:07")],
)
def test_q4_the_reset_is_a_span_of_time(text, seconds):
    headers = {"x-ms-user-quota-resets-after": text}
    assert quota_resets_after(headers) == seconds


@pytest.mark.parametrize(
    "arm_id",
    [
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg",
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/a'b/providers/X.Y/zs/z",
        f"{NETWORK}/providers/Microsoft.Authorization/locks/one",
        f"/subscriptions/{SUBSCRIPTION}/providers/X.Y/zs/z",
        "no id",
    ],
)
def test_q9_what_rows_are_not_relied_on_for_has_no_query(rows, arm_id):
    assert rows.address(arm_id) is None


def test_q9_all_groups_of_a_type_share_one_query(rows):
    other = NETWORK.replace("Web-1", "api")
    assert rows.address(NETWORK).path == rows.address(other).path
    assert rows.address(NETWORK).group == "web-1"
