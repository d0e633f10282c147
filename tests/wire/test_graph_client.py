"""The client of Microsoft Graph, over HTTPS against the simulator's."""

import pytest
from azure.core.credentials import AccessToken
from prometheus_client import CollectorRegistry

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.budget import Budget, ThrottledError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.azure.graph.client import GraphClient, is_absent
from asoreconcile.azure.graph.collections import GROUPS
from asoreconcile.azure.graph.metrics import resource_label
from asoreconcile.base import jsontext
from asoreconcile.runtime.leaderelection.fence import NotLeadingError
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse

NOBODY = "00000000-0000-0000-0000-000000000001"
BODY = {
    "displayName": "Shop's team",
    "mailNickname": "shop",
    "mailEnabled": False,
    "securityEnabled": True,
    "groupTypes": [],
}


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def azure(clock, tmp_path, monkeypatch):
    with ArmServer(clock=clock, page_size=3) as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        yield server


@pytest.fixture
def graph(azure):
    return azure.graph


class SignedIn:
    """Signs in for whatever scope is asked, as azure-identity does."""

    def __init__(self, azure):
        self.azure, self.scopes = azure, []

    def get_token(self, *scopes, **_options):
        self.scopes += scopes
        audience = scopes[0].removesuffix("/.default").lower()
        token = self.azure.entra.issue(self.azure.client_id, audience=audience)
        return AccessToken(token, 1 << 40)


@pytest.fixture
def identity(azure):
    return SignedIn(azure)


@pytest.fixture
def make(azure, identity, clock):
    made = []

    def make(**options):
        client = GraphClient(azure.graph.url, identity, clock=clock, **options)
        made.append(client)
        return client

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(make):
    return make()


def test_a_group_is_created_once_whoever_asks_again(client, graph):
    made = client.create(GROUPS, BODY, unique_name="mark")
    assert made["displayName"] == "Shop's team"
    assert (
        client.create(GROUPS, {**BODY, "description": "new"}, unique_name="mark")
        is None
    )
    (group,) = graph.groups().values()
    assert (group["uniqueName"], group["description"]) == ("mark", "new")


def test_a_lost_answer_of_a_creation_makes_no_second_group(client, graph):
    graph.faults.drop("PATCH", "uniqueName", phase="after")
    with pytest.raises(ArmTransportError) as lost:
        client.create(GROUPS, BODY, unique_name="mark")
    assert lost.value.sent == "maybe"
    assert client.create(GROUPS, BODY, unique_name="mark") is None
    assert client.keyed(GROUPS, "uniqueName", "mark")["id"] in graph.groups()
    assert len(graph.groups()) == 1


def test_a_group_is_read_by_id_and_by_name(client, graph):
    id_ = client.create(GROUPS, BODY, unique_name="mark")["id"]
    assert client.one(GROUPS, id_) == client.keyed(GROUPS, "uniqueName", "mark")
    assert client.one(GROUPS, id_)["mailNickname"] == "shop"
    assert client.one(GROUPS, NOBODY) is None
    assert client.keyed(GROUPS, "uniqueName", "another") is None


def test_groups_are_found_by_display_name_without_case_and_with_quotes(client, graph):
    ids = {graph.seed(displayName="Shop's team", mailNickname=f"n{n}") for n in "abcd"}
    graph.seed(displayName="Shop")
    found = client.found(GROUPS, "displayName", "shop's TEAM")
    assert {group["id"] for group in found} == ids
    assert client.found(GROUPS, "displayName", "nobody' or displayName eq 'Shop") == []


def test_only_the_changes_are_written(client, graph, azure):
    id_ = graph.seed(displayName="Shop", description="old")
    client.update(GROUPS, id_, {"description": "new"})
    (sent,) = azure.requests("PATCH")
    assert sent.body == {"description": "new"}
    assert graph.groups()[id_]["description"] == "new"


def test_a_deleted_group_can_be_deleted_again(client, graph):
    id_ = graph.seed(displayName="Shop")
    client.delete(GROUPS, id_)
    client.delete(GROUPS, id_)
    assert not graph.groups()


@pytest.mark.parametrize("link", ["members", "owners"])
def test_links_are_listed_over_pages_added_and_removed(client, graph, azure, link):
    id_ = graph.seed(displayName="Shop")
    people = [graph.add_object() for _ in range(7)]
    for person in people:
        client.add(id_, link, person)
    assert not client.add(id_, link, people[0])  # is there already
    assert client.linked(id_, link) == people
    assert len([e for e in azure.requests("GET", link) if e.status == 200]) == 3
    client.remove(id_, link, people[0])
    client.remove(id_, link, people[0])  # is out already
    assert client.linked(id_, link) == people[1:]


@pytest.mark.parametrize("link", ["members", "owners"])
def test_objects_of_every_type_are_listed(client, graph, link):
    id_ = graph.seed(displayName="Shop")
    types = ("device", "servicePrincipal", "user")
    ids = [graph.add_object(type_=type_) for type_ in types]
    ids.append(graph.seed(displayName="Team within"))
    for each in ids:
        client.add(id_, link, each)
    assert client.linked(id_, link) == ids


def test_a_member_that_is_no_object_is_refused_in_graphs_words(client, graph):
    id_ = graph.seed(displayName="Shop")
    with pytest.raises(ArmError, match=NOBODY) as refused:
        client.add(id_, "members", NOBODY)
    assert is_absent(refused.value)
    assert refused.value.request_id


def test_a_refusal_other_than_being_there_already_is_raised(client, graph):
    id_ = graph.seed(displayName="Shop")
    owner = graph.add_object()
    client.add(id_, "owners", owner)
    with pytest.raises(ArmError, match="at least one owner"):
        client.remove(id_, "owners", owner)


def test_the_next_page_is_read_from_graphs_host_only(client, graph, azure):
    foreign = {"value": [], "@odata.nextLink": "https://example.com/v1.0/groups"}
    id_ = graph.seed(displayName="Shop")
    graph.faults.respond("GET", "members", HttpResponse(200, _json(foreign)))
    with pytest.raises(ForeignHostError):
        client.linked(id_, "members")


def test_a_list_that_leads_in_a_circle_is_an_error(client, graph):
    id_ = graph.seed(displayName="Shop")
    link = f"{graph.url}/beta/groups/{id_}/members?$select=id&$top=999"
    circle = {"value": [], "@odata.nextLink": link}
    graph.faults.respond("GET", "members", HttpResponse(200, _json(circle)), times=3)
    with pytest.raises(ArmError, match="circle"):
        client.linked(id_, "members")


def test_the_token_is_of_graphs_audience(client, graph, identity):
    client.one(GROUPS, NOBODY)
    assert identity.scopes == [f"{graph.url}/.default"]


def test_graph_takes_no_token_of_arms_and_arm_none_of_graphs(azure, graph, clock):
    class Wrong(SignedIn):
        def get_token(self, *_scopes, **_options):
            return super().get_token(f"{self.audience}/.default")  # type: ignore[attr-defined]

    wrong = Wrong(azure)
    wrong.audience = "https://management.azure.com"  # type: ignore[attr-defined]
    client = GraphClient(graph.url, wrong, clock=clock)
    with pytest.raises(ArmError, match="Invalid audience") as refused:
        client.one(GROUPS, NOBODY)
    assert refused.value.status == 401
    client.close()
    wrong.audience = "https://graph.microsoft.com"  # type: ignore[attr-defined]
    arm = ArmClient(azure.url, wrong, scope="s", clock=clock)
    with pytest.raises(ArmError) as refused:
        arm.get(f"/subscriptions/{azure.subscription_id}", "2020-01-01")
    assert refused.value.status == 401
    arm.close()


def test_an_expired_token_is_replaced_once(client, graph, azure, identity):
    client.one(GROUPS, NOBODY)
    azure.entra.revoke_all()
    assert client.one(GROUPS, NOBODY) is None
    assert len(identity.scopes) == 2


def test_a_throttling_holds_back_the_same_for_as_long_as_graph_says(
    make, graph, clock, azure
):
    client = make(budget=Budget(clock, jitter=lambda: 0.0))
    id_ = graph.seed(displayName="Shop")
    graph.faults.throttle("GET", id_, retry_after=17)
    with pytest.raises(ArmError) as throttled:
        client.one(GROUPS, id_)
    assert throttled.value.retry_after_seconds == 17
    with pytest.raises(ThrottledError) as held:
        client.one(GROUPS, id_)
    assert 10 < held.value.after_seconds <= 18
    assert len(azure.requests("GET", id_)) == 1
    clock.advance(20)
    assert client.one(GROUPS, id_)["id"] == id_


def test_a_404_of_a_proxy_is_no_word_of_graphs(client, graph):
    page = HttpResponse(404, b"<html>gone</html>", {"Content-Type": "text/html"})
    graph.faults.respond("GET", NOBODY, page)
    with pytest.raises(ArmError) as refused:
        client.one(GROUPS, NOBODY)
    assert not is_absent(refused.value)
    empty = HttpResponse(404, b"", {})
    graph.faults.respond("DELETE", NOBODY, empty)
    with pytest.raises(ArmError):
        client.delete(GROUPS, NOBODY)


def test_a_page_in_place_of_a_success_is_an_error(client, graph):
    page = HttpResponse(200, b"<html>sign in</html>", {"Content-Type": "text/html"})
    for method in ("GET", "PATCH", "DELETE"):
        graph.faults.respond(method, "", page)
    for call in (
        lambda: client.one(GROUPS, NOBODY),
        lambda: client.update(GROUPS, NOBODY, {}),
        lambda: client.delete(GROUPS, NOBODY),
    ):
        with pytest.raises(ArmError):
            call()


def test_a_creation_without_an_id_is_an_error(client, graph):
    graph.faults.respond("PATCH", "uniqueName", HttpResponse(201, b"{}"))
    with pytest.raises(ArmError, match="without its id"):
        client.create(GROUPS, BODY, unique_name="mark")


OTHER = "00000000-0000-0000-0000-000000000002"
ODD_GROUPS = {
    "no id": {"id": None},
    "an id with further parts": {"id": f"{NOBODY}/members"},
    "another group": {"id": OTHER, "uniqueName": "other", "displayName": "Other"},
    "a name that is no text": {"displayName": 5},
    "types that are no list": {"groupTypes": True},
}


@pytest.mark.parametrize("odd", ODD_GROUPS.values(), ids=ODD_GROUPS)
def test_what_is_no_group_or_another_one_is_an_error(client, graph, odd):
    shown = {"id": NOBODY, "uniqueName": "mark", "displayName": "Shop", **odd}
    for call, name, document in (
        (client.one, (NOBODY,), shown),
        (client.keyed, ("uniqueName", "mark"), shown),
        (client.found, ("displayName", "Shop"), {"value": [shown]}),
    ):
        graph.faults.respond("GET", "", HttpResponse(200, jsontext.dumps(document)))
        with pytest.raises(ArmError, match=r"the answer shows|found another"):
            call(GROUPS, *name)


@pytest.mark.parametrize(
    "page", [{}, {"value": None}, {"value": [{"id": "../x"}]}, {"value": [{}]}]
)
def test_a_page_without_ids_or_value_is_no_shorter_list(client, graph, page):
    body = jsontext.dumps(page)
    graph.faults.respond("GET", "", HttpResponse(200, body), times=2)
    for call in (
        lambda: client.linked(NOBODY, "members"),
        lambda: client.found(GROUPS, "displayName", "Shop"),
    ):
        with pytest.raises(ArmError, match=r"is no list|without its id"):
            call()


@pytest.mark.parametrize("name", ["CAFÉ", "Cafe\u0301", "cafe"])
def test_a_name_is_the_same_without_case_and_marks(client, graph, name):
    body = jsontext.dumps({"value": [{"id": NOBODY, "displayName": name}]})
    graph.faults.respond("GET", "", HttpResponse(200, body))
    assert client.found(GROUPS, "displayName", "Café")[0]["id"] == NOBODY


def test_le5_who_leads_no_more_sends_no_write(make, graph, azure):
    def stopped():
        raise NotLeadingError("leads no more")

    transport = ArmTransport(url=graph.url, before_write=stopped)
    client = make(transport=transport)
    id_ = graph.seed(displayName="Shop")
    assert client.one(GROUPS, id_)
    writes = (
        lambda: client.create(GROUPS, BODY, unique_name="mark"),
        lambda: client.update(GROUPS, id_, {"description": "x"}),
        lambda: client.delete(GROUPS, id_),
        lambda: client.add(id_, "members", graph.add_object()),
        lambda: client.remove(id_, "members", NOBODY),
    )
    for write in writes:
        with pytest.raises(NotLeadingError):
            write()
    assert {entry.method for entry in azure.journal} == {"GET"}


def test_requests_are_counted_by_what_they_are_about(make, graph):
    registry = CollectorRegistry()
    client = make(metrics=ArmMetrics(registry).labelled(resource_label))
    id_ = graph.seed(displayName="Shop")
    client.one(GROUPS, id_)
    client.keyed(GROUPS, "uniqueName", "mark")
    client.linked(id_, "owners")
    graph.faults.drop("GET", id_, times=2)
    with pytest.raises(ArmTransportError):
        client.one(GROUPS, id_)

    def count(name, **labels):
        return registry.get_sample_value(name, labels)

    of = "azure_successful_requests_total"
    groups, owners = "Microsoft.Graph/groups", "Microsoft.Graph/groups/owners"
    assert count(of, resource=groups, requestType="GET", responseCode="200") == 1
    assert count(of, resource=groups, requestType="GET", responseCode="404") == 1
    assert count(of, resource=owners, requestType="GET", responseCode="200") == 1
    failed = "azure_failed_requests_total"
    assert count(failed, resource=groups, requestType="GET") == 1


def test_support_finds_a_request_by_the_id_that_its_error_has(client, graph, azure):
    azure.graph.deny(azure.client_id)
    with pytest.raises(ArmError, match="Insufficient privileges") as refused:
        client.one(GROUPS, NOBODY)
    (sent,) = azure.requests("GET", NOBODY)
    assert sent.headers["client-request-id"] == refused.value.client_request_id
    assert refused.value.code == "Authorization_RequestDenied"


def test_a_new_group_is_read_later_and_not_made_twice(client, graph, clock):
    graph.lag(30.0)
    id_ = client.create(GROUPS, BODY, unique_name="mark")["id"]
    assert client.one(GROUPS, id_) is None
    assert client.keyed(GROUPS, "uniqueName", "mark") is None
    assert client.create(GROUPS, BODY, unique_name="mark") is None
    clock.advance(31)
    assert client.one(GROUPS, id_)["id"] == id_


def _json(body):
    import json

    return json.dumps(body).encode()
