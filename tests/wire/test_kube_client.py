"""The Kubernetes client against a real API over TLS: methods, refusals, lost answers."""

import itertools
import threading

import pytest

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.objects import ObjectKey, key_of, resource_version, uid_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ApiServerError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    TooLargeError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
)
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse

KEY = ObjectKey("default", "one")
WIDGETS = ApiResource("example.com", "v1", "widgets", "Widget")
WIDGET_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer"}},
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
        ],
    },
}


class Counts:
    def __init__(self):
        self.seen = []

    def kube_request(self, code, method, host, seconds):
        assert seconds >= 0
        self.seen.append((code, method, host))


@pytest.fixture
def impatient(server, tmp_path):
    """A client on a fake clock, which a thread moves on as soon as somebody waits."""
    server.write_kubeconfig(tmp_path / "kubeconfig")
    clock = FakeClock()
    ended = threading.Event()

    def drive():
        while not ended.wait(0.002):
            clock.advance(0.25)

    thread = threading.Thread(target=drive)
    thread.start()
    config = load(str(tmp_path / "kubeconfig"))
    client = KubeClient(config, user_agent="tests/1", clock=clock)
    client.clock = clock  # type: ignore[attr-defined]
    yield client
    ended.set()
    thread.join()
    client.close()


def config_map(name="one", *, namespace="default", labels=None, **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "data": data,
    }


def refusal(status, reason="", *, headers=None, message="no"):
    body = b'{"kind":"Status","reason":"%s","message":"%s"}' % (
        reason.encode(),
        message.encode(),
    )
    return HttpResponse(status, body, headers or {})


def test_cl2_create_then_get(client):
    created = client.create(CONFIG_MAPS, config_map(v="1"))
    assert uid_of(created)
    assert client.get(CONFIG_MAPS, KEY) == created


def test_cl2_cluster_scoped_objects_have_no_namespace(client):
    created = client.create(NAMESPACES, {"metadata": {"name": "apart"}})
    assert key_of(created) == ObjectKey("", "apart")
    assert client.get(NAMESPACES, ObjectKey("", "apart"))["kind"] == "Namespace"


def test_cl2_replace_needs_the_version_that_was_read(client):
    first = client.create(CONFIG_MAPS, config_map(v="1"))
    second = client.replace(CONFIG_MAPS, {**first, "data": {"v": "2"}})
    assert second["data"] == {"v": "2"}
    with pytest.raises(ConflictError) as refused:
        client.replace(CONFIG_MAPS, {**first, "data": {"v": "3"}})
    assert refused.value.status == 409
    assert refused.value.reason == "Conflict"


def test_cl3_merge_patch_changes_only_what_it_names(client):
    client.create(CONFIG_MAPS, config_map(a="1", b="1"))
    after = client.patch(CONFIG_MAPS, KEY, {"data": {"a": None, "c": "2"}})
    assert after["data"] == {"b": "1", "c": "2"}


def test_cl3_merge_patch_with_a_version_is_optimistic(client):
    old = resource_version(client.create(CONFIG_MAPS, config_map(a="1")))
    change = {"metadata": {"resourceVersion": old}, "data": {"a": "2"}}
    client.patch(CONFIG_MAPS, KEY, change)
    with pytest.raises(ConflictError):
        client.patch(CONFIG_MAPS, KEY, change)


def test_cl3_json_patch(client):
    client.create(CONFIG_MAPS, config_map(a="1"))
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "add", "path": "/data/b", "value": "2"},
    ]
    after = client.patch(CONFIG_MAPS, KEY, steps, kind="json")
    assert after["data"] == {"a": "1", "b": "2"}


def test_cl3_apply_creates_then_refuses_a_second_owner_unless_forced(client):
    wanted = config_map(a="1")
    made = client.patch(CONFIG_MAPS, KEY, wanted, kind="apply", field_manager="first")
    assert made["data"] == {"a": "1"}
    other = config_map(a="2")
    with pytest.raises(ConflictError):
        client.patch(CONFIG_MAPS, KEY, other, kind="apply", field_manager="second")
    taken = client.patch(
        CONFIG_MAPS, KEY, other, kind="apply", field_manager="second", force=True
    )
    assert taken["data"] == {"a": "2"}


def test_cl2_status_is_written_apart_from_the_object(client):
    client.create(CUSTOM_RESOURCE_DEFINITIONS, WIDGET_CRD)
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}}
    body |= {"metadata": {"name": "one", "namespace": "default"}}
    made = client.create(WIDGETS, {**body, "status": {"ready": True}})
    assert "status" not in made
    told = client.patch(
        WIDGETS,
        KEY,
        {"spec": {"size": 9}, "status": {"ready": True}},
        subresource="status",
    )
    assert told["status"] == {"ready": True}
    assert told["spec"] == {"size": 1}
    replaced = client.replace(
        WIDGETS, {**told, "status": {"ready": False}}, subresource="status"
    )
    assert replaced["status"] == {"ready": False}


def test_cl4_dry_run_and_field_manager_reach_the_server(server, client):
    made = client.create(CONFIG_MAPS, config_map(a="1"), field_manager="tests")
    assert made["metadata"]["managedFields"][0]["manager"] == "tests"


def test_delete_holds_to_its_preconditions(client):
    made = client.create(CONFIG_MAPS, config_map())
    with pytest.raises(ConflictError):
        client.delete(CONFIG_MAPS, KEY, uid="another")
    with pytest.raises(ConflictError):
        client.delete(CONFIG_MAPS, KEY, resource_version="1")
    client.delete(
        CONFIG_MAPS, KEY, uid=uid_of(made), resource_version=resource_version(made)
    )
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)


def test_delete_of_a_finalized_object_answers_the_object(client):
    body = config_map()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    client.create(CONFIG_MAPS, body)
    held = client.delete(CONFIG_MAPS, KEY, propagation="Background")
    assert held["metadata"]["deletionTimestamp"]
    client.patch(CONFIG_MAPS, KEY, {"metadata": {"finalizers": None}})
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)


def test_list_in_pages_is_one_snapshot(client):
    for name in ("a", "b", "c"):
        client.create(CONFIG_MAPS, config_map(name))
    first = client.list_page(Selection(CONFIG_MAPS, "default"), ListOptions(limit=2))
    client.create(CONFIG_MAPS, config_map("d"))
    rest = client.list_page(
        Selection(CONFIG_MAPS, "default"),
        ListOptions(continue_token=first.continue_token),
    )
    names = [key_of(obj).name for obj in first.items + rest.items]
    assert names == ["a", "b", "c"]
    assert rest.continue_token == ""
    assert rest.resource_version == first.resource_version


def test_list_by_selectors_and_namespace(client):
    client.create(NAMESPACES, {"metadata": {"name": "apart"}})
    client.create(CONFIG_MAPS, config_map("a", labels={"tier": "x"}))
    client.create(CONFIG_MAPS, config_map("b", labels={"tier": "y"}))
    client.create(CONFIG_MAPS, config_map("a", namespace="apart", labels={"tier": "x"}))
    by_label = client.list_page(Selection(CONFIG_MAPS, label_selector="tier in (x)"))
    assert [str(key_of(obj)) for obj in by_label.items] == ["apart/a", "default/a"]
    by_field = client.list_page(
        Selection(CONFIG_MAPS, "default", field_selector="metadata.name=b")
    )
    assert [str(key_of(obj)) for obj in by_field.items] == ["default/b"]


def test_ca5_metadata_only_lists_hold_no_data(client):
    client.create(SECRETS, {"metadata": {"name": "s", "namespace": "default"}})
    client.create(CONFIG_MAPS, config_map(v="long"))
    page = client.list_page(Selection(CONFIG_MAPS, "default", metadata_only=True))
    assert page.items[0]["kind"] == "PartialObjectMetadata"
    assert "data" not in page.items[0]


def test_watch_tells_changes_after_a_version_of_what_is_selected(client):
    page = client.list_page(Selection(CONFIG_MAPS, "default"))
    client.create(CONFIG_MAPS, config_map("a", labels={"tier": "x"}))
    client.create(CONFIG_MAPS, config_map("b"))
    client.delete(CONFIG_MAPS, ObjectKey("default", "a"))
    stream = client.watch(
        Selection(CONFIG_MAPS, "default", label_selector="tier=x"),
        resource_version=page.resource_version,
        timeout_seconds=9,
        allow_bookmarks=False,
    )
    told = [(t, key_of(obj).name) for t, obj in itertools.islice(stream, 2)]
    stream.close()
    assert told == [("ADDED", "a"), ("DELETED", "a")]


def test_read_answers_any_document(client):
    assert client.read("/version")["major"] == "1"


def test_names_that_urls_must_quote_stay_one_name(server, client):
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, ObjectKey("default", "a?b#c"))
    assert server.journal[-1].path.endswith("/configmaps/a?b#c")


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", BadRequestError),
        (401, "Unauthorized", UnauthorizedError),
        (403, "Forbidden", ForbiddenError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", MethodNotAllowedError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", AlreadyExistsError),
        (410, "Expired", ExpiredError),
        (413, "RequestEntityTooLarge", TooLargeError),
        (418, "Teapot", ApiError),
        (422, "Invalid", InvalidError),
        (429, "TooManyRequests", TooManyRequestsError),
        (500, "InternalError", ApiServerError),
        (503, "ServiceUnavailable", ApiServerError),
    ],
)
def test_refusals_are_typed(server, client, status, reason, kind):
    server.faults.respond("GET", "/configmaps/", refusal(status, reason))
    with pytest.raises(kind) as refused:
        client.get(CONFIG_MAPS, KEY)
    assert type(refused.value) is kind
    assert (refused.value.status, refused.value.reason) == (status, reason)
    assert str(refused.value) == "no"


def test_refusals_of_the_server_itself_are_typed(server, client):
    with pytest.raises(NotFoundError) as missing:
        client.get(CONFIG_MAPS, KEY)
    assert missing.value.details["name"] == "one"
    client.create(CONFIG_MAPS, config_map())
    with pytest.raises(AlreadyExistsError):
        client.create(CONFIG_MAPS, config_map())
    client.create(CUSTOM_RESOURCE_DEFINITIONS, WIDGET_CRD)
    body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": "L"}}
    body |= {"metadata": {"name": "one", "namespace": "default"}}
    with pytest.raises(InvalidError) as invalid:
        client.create(WIDGETS, body)
    assert invalid.value.details["causes"][0]["field"] == "spec.size"
    page = client.list_page(NAMESPACES, ListOptions(limit=1))
    server.forget_changes()
    client.create(NAMESPACES, {"metadata": {"name": "later"}})
    server.forget_changes()
    with pytest.raises(ExpiredError):
        client.list_page(
            NAMESPACES, ListOptions(limit=1, continue_token=page.continue_token)
        )


@pytest.mark.parametrize("body", [b"", b"<html>busy</html>", b"[1]", b"{", b"\xff\xfe"])
def test_refusal_without_a_status_object_still_says_something(server, client, body):
    server.faults.respond("GET", "/configmaps/", HttpResponse(502, body))
    with pytest.raises(ApiError) as refused:
        client.get(CONFIG_MAPS, KEY)
    assert refused.value.status == 502
    assert str(refused.value)


@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b"[1]", b"null"])
def test_good_answer_that_is_no_object_is_a_transport_error(server, client, body):
    server.faults.respond("GET", "/configmaps/", HttpResponse(200, body))
    with pytest.raises(TransportError):
        client.get(CONFIG_MAPS, KEY)


def test_cl6_busy_server_is_asked_again_when_it_said(server, impatient):
    busy = refusal(429, "TooManyRequests", headers={"Retry-After": "2"})
    server.faults.respond("POST", "/configmaps", busy, times=3)
    created = impatient.create(CONFIG_MAPS, config_map())
    assert uid_of(created)
    assert impatient.clock.monotonic() >= 6.0
    assert [one.status for one in server.journal] == [429, 429, 429, 201]


def test_cl6_server_error_with_retry_after_is_asked_again(server, impatient):
    away = refusal(503, "ServiceUnavailable", headers={"Retry-After": "1"})
    server.faults.respond("GET", "/configmaps", away)
    assert impatient.list_page(CONFIG_MAPS).items == []


def test_cl6_long_retry_after_is_handed_to_the_caller(server, client):
    busy = refusal(429, "TooManyRequests", headers={"Retry-After": "60"})
    server.faults.respond("GET", "/configmaps", busy)
    with pytest.raises(TooManyRequestsError) as refused:
        client.list_page(CONFIG_MAPS)
    assert refused.value.retry_after_seconds == 60.0
    assert len(server.journal) == 1


def test_cl6_lost_read_is_repeated(server, client):
    server.faults.drop("GET", "/configmaps/")
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)


def test_cl6_read_lost_again_and_again_ends(server, impatient):
    server.faults.drop("GET", "/configmaps/", times=99)
    with pytest.raises(TransportError) as broken:
        impatient.get(CONFIG_MAPS, KEY)
    assert broken.value.lost
    assert impatient.clock.monotonic() >= 8.0


@pytest.mark.parametrize("phase", ["before", "after"])
def test_cl6_lost_write_is_not_repeated(server, client, phase):
    server.faults.drop("POST", "/configmaps", phase=phase)
    with pytest.raises(TransportError):
        client.create(CONFIG_MAPS, config_map())
    stored = client.list_page(Selection(CONFIG_MAPS, "default")).items
    assert len(stored) == (1 if phase == "after" else 0)


def test_cl9_every_answer_is_counted(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    counts = Counts()
    config = load(str(tmp_path / "kubeconfig"))
    client = KubeClient(config, user_agent="tests/1", metrics=counts)
    with pytest.raises(NotFoundError):
        client.get(CONFIG_MAPS, KEY)
    client.create(CONFIG_MAPS, config_map())
    client.watch(CONFIG_MAPS, timeout_seconds=9).close()
    server.faults.drop("POST", "/configmaps")
    with pytest.raises(TransportError):
        client.create(CONFIG_MAPS, config_map("two"))
    client.close()
    host = server.url.removeprefix("https://")
    assert counts.seen == [
        ("404", "GET", host),
        ("201", "POST", host),
        ("200", "GET", host),
        ("<error>", "POST", host),
    ]


def test_user_agent_names_us(server, client):
    client.list_page(CONFIG_MAPS)
    assert server.journal[-1].user_agent == "tests/1"


def test_closed_client_refuses(server, client):
    client.close()
    client.close()
    with pytest.raises(StoppedError):
        client.get(CONFIG_MAPS, KEY)
    with pytest.raises(StoppedError):
        client.watch(CONFIG_MAPS, timeout_seconds=1)
    assert server.journal == []


def held_call(server, call):
    """Run a call on a thread up to where the server holds it; its outcome, later."""
    outcome = []

    def run():
        try:
            outcome.append(call())
        except Exception as error:  # noqa: BLE001 - it is what the test looks at
            outcome.append(error)

    hold = server.faults.hold(method="GET", path="/configmaps")
    thread = threading.Thread(target=run)
    thread.start()
    assert hold.wait_arrived(10)
    return thread, outcome


def test_th9_close_wakes_a_request_that_waits_for_its_answer(server, client):
    thread, outcome = held_call(server, lambda: client.get(CONFIG_MAPS, KEY))
    client.close()
    thread.join(10)
    assert [type(one) for one in outcome] == [StoppedError]


def test_th9_close_wakes_a_watch_that_waits_to_be_accepted(server, client):
    thread, outcome = held_call(
        server, lambda: client.watch(CONFIG_MAPS, timeout_seconds=300)
    )
    client.close()
    thread.join(10)
    assert [type(one) for one in outcome] == [StoppedError]


def test_th9_close_ends_a_wait_for_a_busy_server(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    clock = FakeClock()
    config = load(str(tmp_path / "kubeconfig"))
    client = KubeClient(config, user_agent="tests/1", clock=clock)
    busy = refusal(429, headers={"Retry-After": "5"})
    server.faults.respond("GET", "/configmaps", busy)
    outcome = []

    def ask():
        try:
            client.list_page(CONFIG_MAPS)
        except TooManyRequestsError as error:
            outcome.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    clock.until_waiting()
    client.close()
    thread.join(10)
    assert len(outcome) == 1
