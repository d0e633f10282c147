"""The webhook server over real TLS, asked as an API server asks."""

import base64
import http.client
import re
import socket
import ssl
import threading
from datetime import UTC, datetime

import orjson
import pytest
from cryptography import x509
from prometheus_client import CollectorRegistry, generate_latest
from quickclock import QuickClock

from asoreconcile.base.certificates import Authority
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupVersionKind
from asoreconcile.kube.errors import InvalidError
from asoreconcile.serving import listener as serving
from asoreconcile.serving.listener import ListenError
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.webhooks.admission import Allowed, Denied
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.server import (
    WebhookError,
    WebhookLimits,
    WebhookServer,
    webhook_path,
)
from asoreconcile.webhooks.serving_certificates import ClientAuthority, FileCertificates

AUTHORITY = certificate_authority()
CERTIFICATE = AUTHORITY.issue(["localhost", "127.0.0.1"])
WIDGET = GroupVersionKind("demo.example.com", "v1", "Widget")


class Client:
    """The API server's part, on one connection."""

    def __init__(self, server, *, certificate=None):
        context = ssl.create_default_context(cadata=AUTHORITY.pem.decode())
        if certificate:
            context.load_cert_chain(*certificate)
        self.connection = http.client.HTTPSConnection(
            "127.0.0.1", server.port, context=context, timeout=10
        )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.connection.close()

    def post(self, path, document, *, content_type="application/json"):
        body = document if isinstance(document, bytes) else orjson.dumps(document)
        headers = {"Content-Type": content_type}
        self.connection.request("POST", path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def review(self, path, document, **options):
        status, body = self.post(path, document, **options)
        assert status == 200
        return orjson.loads(body)

    def peer_serial(self):
        self.connection.connect()
        return self.connection.sock.getpeercert()["serialNumber"]


@pytest.fixture
def registry():
    return CollectorRegistry()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def folder(tmp_path):
    write_pair(tmp_path, CERTIFICATE)
    return tmp_path


@pytest.fixture
def make(folder, registry, clock):
    servers = []

    def build(**options):
        metrics = WebhookMetrics(registry)
        certificates = FileCertificates(folder, metrics=metrics)
        server = WebhookServer(
            "127.0.0.1:0",
            certificates=certificates,
            clock=clock,
            metrics=metrics,
            **options,
        )
        servers.append(server)
        server.start()
        return server

    yield build
    for server in servers:
        assert server.stop(5) == []


def write_pair(folder, pair):
    for name, pem in zip(("tls.crt", "tls.key"), pair, strict=True):
        new = folder / f"{name}.new"
        new.write_bytes(pem)
        new.rename(folder / name)


def admission(*, version="v1", **request):
    return {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": WIDGET.group, "version": "v1", "kind": "Widget"},
            "operation": "CREATE",
            "namespace": "shop",
            "name": "one",
            "object": {"spec": {"size": 1}},
            **request,
        },
    }


def conversion(*objects, desired="demo.example.com/v2", version="v1"):
    return {
        "apiVersion": f"apiextensions.k8s.io/{version}",
        "kind": "ConversionReview",
        "request": {
            "uid": "u-1",
            "desiredAPIVersion": desired,
            "objects": list(objects),
        },
    }


def widget(name, version="v1", **spec):
    return {
        "apiVersion": f"demo.example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": spec,
    }


def to_version(obj, desired):
    return {**obj, "apiVersion": desired}


# --- the server -----------------------------------------------------------------------


def test_wh1_a_path_is_registered_once(make):
    server = make()
    server.validate("/validate", lambda _: Allowed())
    with pytest.raises(WebhookError, match="/validate"):
        server.mutate("/validate", lambda request: request.obj)


@pytest.mark.parametrize("path", ["validate", "", "/validate?kind=a", "/a#b"])
def test_wh1_what_no_request_could_ask_for_is_no_path(make, path):
    with pytest.raises(WebhookError, match="is no path"):
        make().validate(path, lambda request: Allowed())


def nobody_asked():
    return Allowed()


@pytest.mark.parametrize(
    ("register", "why"),
    [
        (lambda s: s.validate("/v"), "needs a function to ask"),
        (lambda s: s.validate("/v", nobody_asked), "no validating webhook"),
        (lambda s: s.mutate("/m", lambda obj, old: obj), "no mutating webhook"),
        (lambda s: s.convert("/c", lambda obj: obj), r"\(object, api_version\)"),
        (lambda s: s.mutate("/m", "text"), "cannot be called"),
    ],
)
def test_wh1_a_function_that_could_not_be_asked_is_refused_with_its_path(
    make, register, why
):
    server = make()
    with pytest.raises(TypeError, match=why):
        register(server)
    # Nothing of it stays: the path is free.
    for path in ("/v", "/m", "/c"):
        server.validate(path, lambda request: Allowed())


def test_wh1_zero_is_off_and_nonsense_is_refused(clock, folder):
    server = WebhookServer("0", certificates=FileCertificates(folder), clock=clock)
    server.start()
    assert (server.port, server.problem(), server.stop(0)) == (0, "", [])
    with pytest.raises(ListenError, match="no address"):
        WebhookServer("9443", certificates=FileCertificates(folder), clock=clock)


def test_reviews_are_answered_to_clients_with_a_certificate_only(
    make, folder, tmp_path
):
    """Kubernetes shows no certificate with conversions. Known authorities stay, also
    for the server's next certificate.
    """
    own, others = certificate_authority(), certificate_authority()
    file = tmp_path / "clients.pem"
    file.write_bytes(own.pem)

    def pair_of(authority, name):
        (tmp_path / name).mkdir()
        write_pair(tmp_path / name, authority.issue(["api server"], client=True))
        return tmp_path / name / "tls.crt", tmp_path / name / "tls.key"

    server = make(client_authority=file)
    server.validate("/validate", lambda _: Allowed())
    server.mutate("/mutate", lambda request: request.obj)
    server.convert(
        "/convert", lambda obj, api_version: {**obj, "apiVersion": api_version}
    )
    with Client(server, certificate=pair_of(own, "known")) as known:
        assert known.review("/validate", admission())["response"]["allowed"]
    with Client(server) as stranger:
        for path in ("/validate", "/mutate"):
            assert stranger.post(path, admission())[0] == 403
        widget = {"apiVersion": "demo.example.com/v1", "kind": "Widget"}
        assert stranger.review("/convert", conversion(widget))["response"]
    foreign = pair_of(others, "foreign")
    with (
        Client(server, certificate=foreign) as stranger,
        pytest.raises((OSError, http.client.HTTPException)),
    ):
        stranger.post("/convert", conversion(widget))
    file.with_suffix(".new").write_bytes(others.pem)
    file.with_suffix(".new").rename(file)
    with Client(server, certificate=foreign) as rotated:
        assert rotated.review("/validate", admission())["response"]["allowed"]
    file.write_bytes(b"half a file")
    write_pair(folder, AUTHORITY.issue(["127.0.0.1"]))
    with Client(server, certificate=foreign) as still:
        assert still.review("/validate", admission())["response"]["allowed"]
    with pytest.raises(FileNotFoundError):
        ClientAuthority(tmp_path / "absent")


def test_wh2_paths_are_named_after_the_verb_and_the_kind():
    assert webhook_path("mutate", WIDGET) == "/mutate-demo-example-com-v1-widget"
    assert webhook_path("validate", WIDGET) == "/validate-demo-example-com-v1-widget"


def test_an_unknown_path_and_another_method_are_no_reviews(make):
    server = make()
    with Client(server) as client:
        assert client.post("/nowhere", b"")[0] == 404
    with Client(server) as client:
        client.connection.request("GET", "/nowhere")
        assert client.connection.getresponse().status == 405


@pytest.mark.parametrize(
    ("body", "content_type", "code", "message"),
    [
        pytest.param(b"{", "application/json", 400, "no JSON", id="WH-3-no-json"),
        pytest.param(b"[]", "application/json", 400, "no Admission", id="WH-3-list"),
        pytest.param(
            orjson.dumps(admission()), "text/plain", 400, "content type", id="WH-3-type"
        ),
        pytest.param(
            orjson.dumps(admission(version="v7")),
            "application/json",
            400,
            "not admission.k8s.io/v1",
            id="WH-3-version",
        ),
        pytest.param(
            orjson.dumps(admission(uid=None)),
            "application/json",
            400,
            "uid",
            id="WH-3-uid",
        ),
        pytest.param(
            orjson.dumps(admission(object=None)),
            "application/json",
            400,
            "no object",
            id="WH-3-object",
        ),
        pytest.param(
            b"x" * 1025, "application/json", 413, "longer than", id="WH-3-too-long"
        ),
    ],
)
def test_what_is_malformed_is_answered_by_a_review(
    make, body, content_type, code, message
):
    server = make(limits=WebhookLimits(max_admission_bytes=1024))
    server.validate("/validate", lambda _: Allowed())
    with Client(server) as client:
        review = client.review("/validate", body, content_type=content_type)
    assert review["kind"] == "AdmissionReview"
    assert review["apiVersion"] == "admission.k8s.io/v1"
    assert review["response"]["allowed"] is False
    assert review["response"]["status"]["code"] == code
    assert message in review["response"]["status"]["message"]


ODD = [None, True, 7, 1.5, "text", [], [None], [7], {}, {"a": []}]


def refusal(answer):
    """The message of an answer that refuses: a review's, or a plain text's."""
    status, body = answer
    if status != 200:
        assert 400 <= status < 500, body
        return body.decode()
    response = orjson.loads(body)["response"]
    said = response.get("status") or response["result"]
    return said.get("message", "")


@pytest.mark.parametrize(
    "field",
    ["apiVersion", "kind", "request"]
    + [
        f"request.{name}"
        for name in (
            *("uid", "kind", "resource", "operation", "namespace", "name", "object"),
            *("oldObject", "dryRun", "userInfo", "options", "subResource"),
            *("desiredAPIVersion", "objects"),
        )
    ],
)
@pytest.mark.parametrize("path", ["/validate", "/mutate", "/convert"])
def test_wh3_a_review_of_odd_parts_breaks_nothing(make, registry, path, field):
    server = make()
    server.validate("/validate", lambda _: Allowed())
    server.mutate("/mutate", lambda request: request.obj)
    server.convert("/convert", to_version)
    whole = conversion(widget("a")) if path == "/convert" else admission()
    with Client(server) as client:
        for odd in ODD:
            review = {**whole, "request": dict(whole["request"])}
            *outer, name = field.split(".")
            (review["request"] if outer else review)[name] = odd
            assert "broke" not in refusal(client.post(path, review)), odd
    assert not registry.get_sample_value("controller_runtime_webhook_panics_total")


@pytest.mark.parametrize("path", ["/validate", "/convert"])
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000 + b"]" * 200_000,
        b'{"request":' * 200_000 + b"1" + b"}" * 200_000,
        b"[" * 1100 + b'"' + rb"\"" * 1_000_000,
        b"[" + b"[]," * 1_000_000,
    ],
    ids=["lists", "objects", "string-without-end", "cut"],
)
def test_wh3_what_is_deep_or_cut_is_refused_at_once(make, path, body):
    """Anybody who reaches the port may send it."""
    server = make()
    server.validate("/validate", lambda _: Allowed())
    server.convert("/convert", to_version)
    with Client(server) as client:
        told = refusal(client.post(path, body))
    assert re.search("is no JSON|cannot be read|long without its objects", told)


# --- admission ------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_wh4_the_answer_echoes_the_uid_and_the_version(make, version):
    server = make()
    server.validate("/validate", lambda _: Allowed(warnings=("old field",)))
    with Client(server) as client:
        review = client.review("/validate?timeout=10s", admission(version=version))
    assert review == {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u-1",
            "allowed": True,
            "status": {"metadata": {}, "code": 200},
            "warnings": ["old field"],
        },
    }


def test_wh4_a_denial_is_forbidden_and_a_typed_error_passes_through(make):
    def invalid(request):
        raise InvalidError("spec.size: too big", status=422, reason="Invalid")

    server = make()
    server.validate("/denied", lambda _: Denied("keep out"))
    server.validate("/invalid", invalid)
    with Client(server) as client:
        denied = client.review("/denied", admission())["response"]["status"]
        typed = client.review("/invalid", admission())["response"]["status"]
    assert (denied["code"], denied["reason"]) == (403, "Forbidden")
    assert (denied["status"], denied["message"]) == ("Failure", "keep out")
    assert (typed["code"], typed["reason"]) == (422, "Invalid")


def test_wh4_wh8_what_nobody_expects_is_a_500_and_counted(make, registry):
    def broken(request):
        raise KeyError("hidden")

    server = make()
    server.validate("/validate", broken)
    with Client(server) as client:
        response = client.review("/validate", admission())["response"]
    assert response["allowed"] is False
    assert response["status"]["code"] == 500
    assert "hidden" not in response["status"]["message"]
    assert registry.get_sample_value("controller_runtime_webhook_panics_total") == 1


def test_wh5_a_patch_tells_what_was_filled_in(make):
    def with_colour(request):
        request.obj["spec"].setdefault("colour", "blue")
        return request.obj

    def larger(request):
        return {**request.obj, "spec": {**request.obj["spec"], "size": 2}}

    server = make()
    server.mutate("/mutate", with_colour, larger)
    with Client(server) as client:
        response = client.review("/mutate", admission())["response"]
        filled = admission(object={"spec": {"size": 2, "colour": "red"}})
        unchanged = client.review("/mutate", filled)["response"]
    assert response["patchType"] == "JSONPatch"
    assert orjson.loads(base64.b64decode(response["patch"])) == [
        {"op": "replace", "path": "/spec/size", "value": 2},
        {"op": "add", "path": "/spec/colour", "value": "blue"},
    ]
    assert "patch" not in unchanged
    assert "patchType" not in unchanged


def test_wh5_nothing_is_filled_in_on_a_delete(make):
    server = make()
    server.mutate("/mutate", lambda _: pytest.fail("called on a delete"))
    deleted = admission(operation="DELETE", object=None, oldObject={"spec": {}})
    with Client(server) as client:
        response = client.review("/mutate", deleted)["response"]
    assert response["allowed"] is True
    assert "patch" not in response


def test_wh5_a_chain_ends_at_the_first_denial_and_keeps_the_warnings(make):
    asked = []

    def first(request):
        asked.append(request)
        return Allowed(warnings=("old",))

    def second(request):
        return Denied("no", warnings=("older",))

    server = make()
    server.validate("/validate", first, second, lambda _: pytest.fail("went on"))
    update = admission(
        operation="UPDATE",
        oldObject={"spec": {"size": 0}},
        subResource="status",
        dryRun=True,
        userInfo={"username": "ann"},
    )
    with Client(server) as client:
        response = client.review("/validate", update)["response"]
    assert response["allowed"] is False
    assert response["warnings"] == ["old", "older"]
    (request,) = asked
    assert (request.operation, request.gvk, str(request.key)) == (
        "UPDATE",
        WIDGET,
        "shop/one",
    )
    assert request.obj == {"spec": {"size": 1}}
    assert request.old == {"spec": {"size": 0}}
    assert (request.subresource, request.dry_run) == ("status", True)
    assert request.user == {"username": "ann"}


def test_wh5_a_mutating_function_may_deny(make):
    server = make()
    server.mutate("/mutate", lambda _: Denied("no", code=422, reason="Invalid"))
    with Client(server) as client:
        response = client.review("/mutate", admission())["response"]
    assert response["status"]["code"] == 422


# --- conversion -----------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_wh6_objects_come_back_in_the_order_of_the_request(make, version):
    server = make()
    server.convert("/convert", to_version)
    asked = conversion(widget("b"), widget("a"), widget("c"), version=version)
    with Client(server) as client:
        review = client.review("/convert?timeout=30s", asked)
    assert review["apiVersion"] == f"apiextensions.k8s.io/{version}"
    response = review["response"]
    assert response["uid"] == "u-1"
    assert response["result"] == {"metadata": {}, "status": "Success"}
    names = [obj["metadata"]["name"] for obj in response["convertedObjects"]]
    assert names == ["b", "a", "c"]
    versions = {obj["apiVersion"] for obj in response["convertedObjects"]}
    assert versions == {"demo.example.com/v2"}


def test_th7_a_conversion_that_has_ended_makes_place_for_the_next(make):
    server = make(limits=WebhookLimits(max_conversions=1))
    server.convert("/convert", to_version)
    with Client(server) as client:
        for _ in range(3):
            review = client.review("/convert", conversion(widget("a")))
            assert review["response"]["result"]["status"] == "Success"


def test_wh6_one_failure_fails_the_batch_and_names_the_object(make):
    def picky(obj, desired):
        if obj["spec"].get("odd"):
            raise AsoreconcileError("odd sizes cannot be said")
        return to_version(obj, desired)

    server = make()
    server.convert("/convert", picky)
    asked = conversion(widget("a"), widget("b", odd=True))
    with Client(server) as client:
        response = client.review("/convert", asked)["response"]
    assert response["convertedObjects"] == []
    result = response["result"]
    assert result["status"] == "Failure"
    assert result["message"] == (
        "Widget shop/b has no form in demo.example.com/v2: odd sizes cannot be said"
    )


@pytest.mark.parametrize(
    ("convert", "asked", "message"),
    [
        pytest.param(
            to_version, [widget("a", "v2")], "already", id="WH-6-same-version"
        ),
        pytest.param(
            lambda obj, _: obj, [widget("a")], "became", id="WH-6-version-not-reached"
        ),
        pytest.param(
            lambda obj, to: {**obj, "apiVersion": to, "kind": "Gadget"},
            [widget("a")],
            "became",
            id="WH-6-other-kind",
        ),
        pytest.param(to_version, ["a"], "no list of objects", id="WH-6-no-object"),
    ],
)
def test_a_conversion_must_end_in_the_wanted_version(make, convert, asked, message):
    server = make()
    server.convert("/convert", convert)
    with Client(server) as client:
        response = client.review("/convert", conversion(*asked))["response"]
    assert message in response["result"]["message"]
    assert response["result"]["code"] == 400


def test_wh6_wh8_a_conversion_that_breaks_is_a_failure_and_counted(make, registry):
    server = make()
    server.convert("/convert", lambda obj, desired: obj["nothing"])
    with Client(server) as client:
        response = client.review("/convert", conversion(widget("a")))["response"]
    assert response["result"]["code"] == 500
    name = "controller_runtime_conversion_webhook_panics_total"
    assert registry.get_sample_value(name) == 1


def test_wh6_a_batch_is_bounded_in_size(make):
    server = make(limits=WebhookLimits(max_conversion_bytes=2000))
    server.convert("/convert", to_version)
    with Client(server) as client:
        long = conversion(widget("a", text="x" * 20_000_000))
        response = client.review("/convert", long)["response"]
    assert response["result"]["code"] == 413
    with Client(server) as client:
        response = client.review("/convert", conversion(widget("a")))["response"]
    assert response["result"]["status"] == "Success"


def test_wh6_a_batch_is_given_up_when_nobody_waits_for_it_any_more(make, clock):
    def slow(obj, desired):
        clock.advance(3)
        return to_version(obj, desired)

    server = make()
    server.convert("/convert", slow)
    asked = conversion(widget("a"), widget("b"), widget("c"))
    with Client(server) as client:
        late = client.review("/convert?timeout=5s", asked)["response"]
        within = client.review("/convert?timeout=7s", asked)["response"]
    assert late["result"]["code"] == 504
    assert within["result"]["status"] == "Success"


def test_th7_conversions_beyond_the_limit_wait_and_are_refused_in_time(make):
    inside, go = threading.Event(), threading.Event()

    def held(obj, desired):
        inside.set()
        go.wait(10)
        return to_version(obj, desired)

    server = make(limits=WebhookLimits(max_conversions=1))
    server.convert("/convert", held)
    answers = []

    def ask():
        with Client(server) as client:
            asked = conversion(widget("a"))
            answers.append(client.review("/convert", asked)["response"]["result"])

    thread = threading.Thread(target=ask)
    thread.start()
    inside.wait(10)
    with Client(server) as other:
        response = other.review("/convert?timeout=0s", conversion(widget("b")))
        assert response["response"]["result"]["code"] == 503
    go.set()
    thread.join(10)
    assert answers[0]["status"] == "Success"


# --- certificates, health, ends -------------------------------------------------------


def test_wh7_a_new_certificate_is_shown_to_the_next_client(make, folder, registry):
    server = make()
    server.validate("/validate", lambda _: Allowed())
    with Client(server) as old, Client(server) as new:
        before = old.peer_serial()
        write_pair(folder, AUTHORITY.issue(["127.0.0.1"]))
        assert new.peer_serial() != before
        assert old.review("/validate", admission())["response"]["allowed"]
    assert registry.get_sample_value("certwatcher_read_certificate_total") == 2


def test_wh7_when_the_certificate_that_is_shown_ends_is_told(folder, registry):
    shown = FileCertificates(folder, metrics=WebhookMetrics(registry))

    def told():
        name = "asoreconcile_webhook_certificate_expiry_timestamp_seconds"
        return registry.get_sample_value(name)

    def end():
        pem = (folder / "tls.crt").read_bytes()
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc.timestamp()

    before = told()
    assert before == end()
    now = datetime.now(UTC)
    authority = Authority.make("another", now=now, days=9)
    write_pair(folder, authority.issue(["127.0.0.1"], now=now, days=3))
    first = shown.context()
    write_pair(folder, authority.issue(["127.0.0.1"], now=now, days=4))
    # A handshake with the first one never meets half a pair.
    assert shown.context() is not first
    assert told() == end() != before


def test_wh7_a_pair_that_does_not_fit_leaves_the_old_one(make, folder, registry):
    server = make()
    with Client(server) as client:
        before = client.peer_serial()
    certificate, key = AUTHORITY.issue(["127.0.0.1"])
    (folder / "tls.crt").write_bytes(certificate)
    with Client(server) as client:
        assert client.peer_serial() == before
    errors = "certwatcher_read_certificate_errors_total"
    assert registry.get_sample_value(errors) == 1
    (folder / "tls.key").write_bytes(key)
    with Client(server) as client:
        assert client.peer_serial() != before
    (folder / "tls.key").unlink()
    with Client(server) as client:
        assert client.peer_serial() != before


def test_wh7_a_folder_without_a_certificate_is_an_error(tmp_path):
    clock = QuickClock()
    with pytest.raises(OSError, match=r"tls\.crt"):
        FileCertificates(tmp_path, clock=clock)
    assert clock.pauses == [0.1, 0.2, 0.4, 0.8]


def test_a_certificate_whose_key_comes_later_is_waited_for(folder, tmp_path):
    half = tmp_path / "half"
    half.mkdir()
    (half / "tls.crt").write_bytes((folder / "tls.crt").read_bytes())

    class Writes(QuickClock):
        def wait(self, event, timeout_seconds):
            (half / "tls.key").write_bytes((folder / "tls.key").read_bytes())
            return super().wait(event, timeout_seconds)

    clock = Writes()
    assert FileCertificates(half, clock=clock).context()
    assert clock.pauses == [0.1]


def test_wh8_requests_are_counted_by_path_and_status(make, registry):
    server, meanwhile = make(), []

    def value(name, **labels):
        labels = {"webhook": "/validate", **labels}
        return registry.get_sample_value(f"controller_runtime_webhook_{name}", labels)

    def decide(_):
        meanwhile.append(value("requests_in_flight"))
        return Denied("no")

    server.validate("/validate", decide)
    assert value("requests_in_flight") == 0
    assert value("requests_total", code="200") == 0
    assert value("requests_total", code="500") == 0
    assert value("latency_seconds_count") is None
    with Client(server) as client:
        client.review("/validate?timeout=10s", admission())
    assert meanwhile == [1]
    assert value("requests_total", code="200") == 1
    assert value("requests_total", code="500") == 0
    assert value("requests_in_flight") == 0
    assert value("latency_seconds_count") == 1


def test_wh8_the_paths_families_are_one_of_each_name():
    registry = CollectorRegistry()
    metrics = WebhookMetrics(registry)
    with pytest.raises(ValueError, match="Duplicated"):
        WebhookMetrics(registry)
    for status in (200, 418):
        metrics.path("/a", converts=True).answered(status, 0.1)
    shown = generate_latest(registry).decode()
    for code, count in (("200", 1.0), ("418", 1.0), ("500", 0.0)):
        name = "controller_runtime_webhook_requests_total"
        assert f'{name}{{code="{code}",webhook="/a"}} {count}' in shown
    assert 'webhook_requests_in_flight{webhook="/a"} 0.0' in shown


def test_wh8_it_knows_whether_it_can_be_reached(make):
    server = make()
    assert server.problem() == ""
    with Client(server) as client:
        client.peer_serial()
        server.stop(5)
    assert "Error" in server.problem()


def test_a_stop_lets_answers_out_and_names_those_that_hang(make):
    inside, go = threading.Event(), threading.Event()

    def held(request):
        inside.set()
        go.wait(10)
        return Allowed()

    server = make()
    server.validate("/validate", held)
    answers = []

    def ask():
        with Client(server) as client:
            answers.append(client.review("/validate", admission()))

    thread = threading.Thread(target=ask)
    thread.start()
    inside.wait(10)
    assert server.stop(0.05) == ["webhooks (1 reviews)"]
    go.set()
    assert server.stop(5) == []
    thread.join(10)
    assert answers[0]["response"]["allowed"] is True


def test_mg9_who_greets_nobody_is_let_go(make, monkeypatch):
    monkeypatch.setattr(serving, "_HANDSHAKE_SECONDS", 0.05)
    server = make()
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent:
        assert silent.recv(1) == b""


def test_a_body_in_pieces_of_unknown_length_is_refused(make):
    server = make()
    server.validate("/validate", lambda _: Allowed())
    with Client(server) as client:
        body = iter([b"{", b"}"])
        client.connection.request("POST", "/validate", body, {}, encode_chunked=True)
        assert client.connection.getresponse().status == 411
