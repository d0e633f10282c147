"""Spans of reconciles and of what they ask, as OpenTelemetry's SDK records them."""

import json
import logging
import subprocess
import sys
import threading
from queue import Queue

import pytest
from applications import Applications
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from asoreconcile import redaction
from asoreconcile.base import extras, log, reconcile_context
from asoreconcile.base.errors import TerminalError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.tracing import Tracing
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.runtime.reconciler import Result
from asoreconcile.testing.kube import KubeServer

KEY = ObjectKey("default", "one")


@pytest.fixture
def spans():
    return InMemorySpanExporter()


@pytest.fixture
def tracing(spans):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    yield Tracing(provider)
    provider.shutdown()


@pytest.fixture
def server():
    with KubeServer() as server:
        yield server


@pytest.fixture
def application(server, tmp_path):
    server.write_kubeconfig(tmp_path / "kubeconfig")
    applications = Applications(str(tmp_path / "kubeconfig"))
    yield applications
    applications.close()
    redaction.forget_all()


def reconciled_once(app, reconcile):
    """Run until the object was reconciled once, and all has stopped."""
    done = Queue()

    def noted(request):
        try:
            return reconcile(app)
        finally:
            done.put(request.key)

    app.reconcile(CONFIG_MAPS, noted, name="greeter")
    meta = {"namespace": "default", "name": "one"}
    app.client.create(CONFIG_MAPS, {"metadata": meta})
    with app.running():
        assert done.get(timeout=20) == KEY


def named(spans, name):
    return [one for one in spans.get_finished_spans() if one.name == name]


def test_a_reconcile_is_a_span_and_its_requests_are_its_children(
    application, spans, tracing, server
):
    def greet(app):
        app.client.patch(CONFIG_MAPS, KEY, {"data": {"a": "b"}})
        return Result()

    reconciled_once(application.make(tracing=tracing), greet)
    whole = named(spans, "reconcile greeter")[0]
    assert whole.attributes["asoreconcile.controller"] == "greeter"
    assert whole.attributes["asoreconcile.name"] == "one"
    assert whole.attributes["asoreconcile.result"] == "success"
    (patch, *_) = named(spans, "PATCH")
    assert patch.parent.span_id == whole.context.span_id
    assert patch.context.trace_id == whole.context.trace_id
    assert patch.kind is SpanKind.CLIENT
    assert dict(patch.attributes) == {
        "http.request.method": "PATCH",
        "server.address": server.url.removeprefix("https://"),
        "url.path": "/api/v1/namespaces/default/configmaps/one",
        "http.response.status_code": 200,
    }
    # Watches, lists and the lease belong to no reconcile.
    assert not named(spans, "GET")


def test_the_server_is_told_the_trace_it_is_part_of(
    application, spans, tracing, monkeypatch
):
    sent = Queue()

    def greet(app):
        exchange = app.client._exchange._transport.send

        def noted(method, target, *, headers, **options):
            sent.put(headers)
            return exchange(method, target, headers=headers, **options)

        monkeypatch.setattr(app.client._exchange._transport, "send", noted)
        app.client.patch(CONFIG_MAPS, KEY, {"data": {"a": "b"}})
        monkeypatch.undo()
        return Result()

    reconciled_once(application.make(tracing=tracing), greet)
    (patch, *_) = named(spans, "PATCH")
    ids = f"{patch.context.trace_id:032x}-{patch.context.span_id:016x}"
    flags = f"{int(patch.context.trace_flags):02x}"
    assert sent.get_nowait()["traceparent"] == f"00-{ids}-{flags}"


def test_a_failure_is_told_with_its_secrets_hidden(application, spans, tracing):
    redaction.register("open-sesame-1234", namespace="default")

    def fail(app):
        with pytest.raises(NotFoundError):
            app.client.get(CONFIG_MAPS, ObjectKey("default", "other"))
        raise TerminalError("cannot sign in with open-sesame-1234")

    reconciled_once(application.make(tracing=tracing), fail)
    whole = named(spans, "reconcile greeter")[0]
    assert whole.status.status_code is StatusCode.ERROR
    assert whole.status.description == "TerminalError: cannot sign in with ***"
    assert whole.attributes["asoreconcile.result"] == "error"
    (get,) = named(spans, "GET")
    assert get.attributes["http.response.status_code"] == 404
    assert get.attributes["error.type"] == "404"
    assert get.status.status_code is StatusCode.ERROR
    assert not get.events
    assert not whole.events


def test_log_records_name_the_trace(application, spans, tracing, caplog):
    caplog.set_level(logging.INFO)
    written = log.Logger("asoreconcile.tests")

    def greet(app):
        written.info("Greeting")
        return Result()

    reconciled_once(application.make(tracing=tracing), greet)
    (record,) = [one for one in caplog.records if one.msg == "Greeting"]
    line = json.loads(log.JsonFormatter().format(record))
    whole = named(spans, "reconcile greeter")[0]
    assert line["traceID"] == f"{whole.context.trace_id:032x}"
    assert line["spanID"] == f"{whole.context.span_id:016x}"


def test_the_trace_goes_along_to_other_threads(application, spans, tracing):
    def greet(app):
        context = reconcile_context.current()

        def beside():
            with reconcile_context.running(context):
                app.client.patch(CONFIG_MAPS, KEY, {"data": {"a": "b"}})

        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        return Result()

    reconciled_once(application.make(tracing=tracing), greet)
    whole = named(spans, "reconcile greeter")[0]
    (patch, *_) = named(spans, "PATCH")
    assert patch.parent.span_id == whole.context.span_id


def test_without_a_provider_nothing_is_recorded_or_sent(application):
    headers = []

    def greet(app):
        headers.append(reconcile_context.trace().log_fields)
        app.client.patch(CONFIG_MAPS, KEY, {"data": {"a": "b"}})
        return Result()

    reconciled_once(application.make(tracing=Tracing()), greet)
    assert headers[0] == {}


def test_nothing_of_opentelemetry_is_imported_without_it():
    code = (
        "import sys\n"
        "from asoreconcile import Application, Tracing\n"
        "import asoreconcile.kube.client, asoreconcile.azure.arm.transport\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(
        extras.MissingExtraError, match=r"pip install '[^']*\[tracing\]'"
    ):
        Tracing()
