"""What a client's calls become on the wire, before anything is sent."""

import pytest

from asoreconcile.base.coroutines import run_to_completion
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.kube.answer_stream import Stream
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import NotFoundError, TransportError, UnauthorizedError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.kube.rest_client import RestClient
from asoreconcile.kube.selection import ListOptions, Selection
from asoreconcile.kube.transport import ApiResponse
from asoreconcile.testing.clock import FakeClock

KEY = ObjectKey("default", "one")
MAPS = "/api/v1/namespaces/default/configmaps"


class Noted:
    """Instead of an exchange: keeps what it is asked."""

    def __init__(self):
        self.calls = []

    def document(self, method, path, *, query=None, body=None, **headers):
        stated = {name: value for name, value in (query or {}).items() if value}
        self.calls.append((method, path, stated, body))
        return {"metadata": {"name": KEY.name}, "items": []}

    own_loop = None

    def streaming(self, _loop, path, *, query, accept, read_seconds, on_news):
        yield from ()
        stated = {name: value for name, value in query.items() if value}
        self.calls.append((path, stated, accept, read_seconds))

    def loop(self, _threads):
        """Return none, because no stream is received."""

    def await_news(self, news, pause):
        """Return at once, because no step waits."""

    def close(self):
        """Do nothing: there is no connection."""


@pytest.fixture
def noted():
    return Noted()


@pytest.fixture
def client(noted):
    config = ClusterConfig("http://127.0.0.1:1", None, authorization=lambda: "")
    client = KubeClient(config, user_agent="tests")
    client._exchange = noted
    return client


@pytest.mark.parametrize(
    ("place", "query"),
    [
        pytest.param(ListOptions(), {}, id="CL-2-newest"),
        pytest.param(ListOptions("0"), {"resourceVersion": "0"}, id="CL-2-at-hand"),
        pytest.param(
            ListOptions("7", 500),
            {
                "resourceVersion": "7",
                "resourceVersionMatch": "NotOlderThan",
                "limit": "500",
            },
            id="CL-2-no-older-than",
        ),
        pytest.param(
            ListOptions(limit=5, continue_token="t"),
            {"limit": "5", "continue": "t"},
            id="CL-2-next-page",
        ),
    ],
)
def test_a_place_is_asked_for(client, noted, place, query):
    client.list_page(Selection(CONFIG_MAPS, "default"), place)
    streams, what = client.in_steps(Threads()), Selection(CONFIG_MAPS, "default")
    run_to_completion(streams.listing(what, place, wake=print), pytest.fail)
    assert noted.calls[0] == ("GET", MAPS, query, None)
    assert noted.calls[1][:2] == (MAPS, query)


def test_cl2_a_selection_is_asked_for_alike_by_all(client, noted):
    what = Selection(CONFIG_MAPS, "default", label_selector="a=b", field_selector="c=d")
    selectors = {"labelSelector": "a=b", "fieldSelector": "c=d"}
    client.list_page(what)
    client.delete_all(what)
    client.watch(what, timeout_seconds=60)
    assert [call[2] for call in noted.calls[:2]] == [selectors] * 2
    assert noted.calls[2][1].items() > selectors.items()


def test_rf13_a_watch_that_is_silent_after_its_time_is_broken(client, noted):
    client.watch(CONFIG_MAPS, timeout_seconds=300.7, initial_events=True)
    ((path, query, _, read_seconds),) = noted.calls
    assert (path, read_seconds) == ("/api/v1/configmaps", 310.7)
    assert query == {
        "watch": "true",
        "timeoutSeconds": "300",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }


def test_cl4_defaults_are_said_with_each_write(client, noted):
    ours = client.with_defaults(
        field_manager="me", field_validation="Strict", dry_run=True
    )
    obj = {"metadata": {"namespace": "default", "name": "one"}}
    ours.create(CONFIG_MAPS, obj)
    ours.replace(CONFIG_MAPS, obj, field_manager="another")
    ours.patch(CONFIG_MAPS, KEY, {})
    ours.delete(CONFIG_MAPS, KEY)
    ours.delete_all(Selection(CONFIG_MAPS, "default"))
    said = {"fieldManager": "me", "fieldValidation": "Strict", "dryRun": "All"}
    another = {**said, "fieldManager": "another"}
    assert [call[2] for call in noted.calls] == [said, another, said, {}, {}]
    assert [call[3]["dryRun"] for call in noted.calls[3:]] == [["All"]] * 2


def test_cl2_a_deletion_of_all_is_never_one_of_a_slip(client, noted):
    """The server takes a deletion without a name for one of everything there."""
    with pytest.raises(ValueError, match="needs a name"):
        client.delete(CONFIG_MAPS, ObjectKey("default", ""))
    with pytest.raises(ValueError, match="of which namespace"):
        client.delete_all(CONFIG_MAPS)
    assert noted.calls == []
    client.delete_all(NAMESPACES)
    client.with_defaults(namespace="default").delete_all(CONFIG_MAPS)
    assert [call[1] for call in noted.calls] == ["/api/v1/namespaces", MAPS]


@pytest.mark.parametrize("part", ["a/b", "../x", ".", "..", "a%2fb"])
def test_what_can_be_no_name_is_no_object_s_and_no_other_path(client, noted, part):
    """A name may come from what people write: `name: x/../../../secrets/y`."""
    for key in (ObjectKey("default", part), ObjectKey(part, "one")):
        with pytest.raises(NotFoundError):
            client.get(CONFIG_MAPS, key)
        with pytest.raises(NotFoundError):
            client.patch(CONFIG_MAPS, key, {})
        with pytest.raises(NotFoundError):
            client.delete(CONFIG_MAPS, key)
    with pytest.raises(NotFoundError):
        client.watch(Selection(CONFIG_MAPS, part), timeout_seconds=60)
    assert noted.calls == []


class Refusing:
    """A transport to a server that knows none of many credentials."""

    host = "server"

    def close(self):
        """Do nothing: there is no connection."""

    def __init__(self):
        self.sent = 0

    def send(self, method, target, *, headers, body, call):
        self.sent += 1
        return ApiResponse(401, {}, b"{}")

    def renew_credential(self):
        return True


def test_a_credential_is_renewed_once_for_a_request():
    transport = Refusing()
    exchange = RestClient(
        transport, clock=FakeClock(), limiter=None, metrics=None, max_retries=10
    )
    with pytest.raises(UnauthorizedError):
        exchange.document("GET", "/api")
    assert transport.sent == 2


class Endless:
    """An answer without an end of a line."""

    status = 200
    is_closed = False

    def __init__(self):
        self.headers = {}
        self.read = 0

    def pieces(self):
        while True:
            self.read += 1 << 16
            yield [bytes(1 << 16)]

    def close(self):
        """Do nothing: there is no connection."""


def test_a_line_without_an_end_does_not_fill_the_memory():
    answer = Endless()
    with pytest.raises(TransportError, match="more than 16 MiB"):
        next(Stream(answer).lines())
    assert answer.read <= 17 << 20


def test_of_a_refusal_without_an_end_no_more_is_read_than_of_a_line():
    answer = Endless()
    assert (
        len(run_to_completion(Stream(answer).rest(), pytest.fail))
        == answer.read
        <= 17 << 20
    )


class Pieces(Endless):
    """An answer that comes in these pieces."""

    def __init__(self, *pieces):
        super().__init__()
        self.all = pieces

    def pieces(self):
        for piece in self.all:
            yield [piece]


@pytest.mark.parametrize(
    "pieces",
    [
        (b"one\ntwo\n\nthree\n",),
        (b"on", b"e\nt", b"w", b"o\n", b"\nthree\n"),
        (b"one", b"\n", b"two\n\n", b"thr", b"ee", b"\n"),
    ],
)
def test_lines_are_whole_however_they_come(pieces):
    assert [*Stream(Pieces(*pieces)).lines()] == [b"one", b"two", b"", b"three"]


def test_an_answer_that_ends_inside_a_line_is_broken():
    lines = Stream(Pieces(b"one\nt", b"w")).lines()
    assert next(lines) == b"one"
    with pytest.raises(TransportError, match="inside a line"):
        next(lines)


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_an_object_that_states_no_kind_is_of_the_resources(client, noted, verb):
    stated = {"metadata": {"namespace": "default", "name": "one"}, "data": {}}
    getattr(client, verb)(CONFIG_MAPS, stated)
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert noted.calls[0][3] == {**stated, **kind}
    assert stated.keys() == {"metadata", "data"}
    other = {**stated, "apiVersion": "v9", "kind": "Other"}
    getattr(client, verb)(CONFIG_MAPS, other)
    assert noted.calls[1][3] == other


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_subresource_is_of_its_own_kind(client, noted, verb):
    stated = {"metadata": {"namespace": "default", "name": "one"}}
    getattr(client, verb)(CONFIG_MAPS, stated, subresource="scale")
    assert noted.calls[0][3] == stated
