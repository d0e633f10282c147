"""OpenTelemetry traces: a span for each reconcile, and for each request it makes.

    Application("mirror", tracing=Tracing())

OpenTelemetry is imported only when a `Tracing` is created. Without one, a request costs
nothing extra.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from asoreconcile.base.extras import require_extra
from asoreconcile.base.version import __version__
from asoreconcile.redaction import redact

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer, TracerProvider

_NAME = "asoreconcile"


class Tracing:
    """Creates spans with a tracer provider. Safe from any thread.

    Known secrets are hidden in a span's errors, as in the log.
    """

    def __init__(self, provider: "TracerProvider | None" = None) -> None:
        """provider: a tracer provider of `opentelemetry.sdk`; None uses the global one,
        which records nothing until the process sets it.

        Raises MissingExtraError without `asoreconcile[tracing]`.
        """
        require_extra("tracing", "Tracing")
        from opentelemetry import trace

        self._tracer = trace.get_tracer(_NAME, __version__, tracer_provider=provider)

    @contextmanager
    def reconcile(
        self, controller: str, fields: Mapping[str, Any]
    ) -> Iterator["ReconcileTrace"]:
        """Return a context with the span of one reconcile, which is current on this
        thread until the end.

        fields: the log fields.
        """
        attributes = {f"{_NAME}.{name}": str(value) for name, value in fields.items()}
        with self._tracer.start_as_current_span(
            f"reconcile {controller}",
            attributes=attributes,
            record_exception=False,  # its text is not redacted
            set_status_on_exception=False,
        ) as span:
            yield ReconcileTrace(self._tracer, span)


class ReconcileTrace:
    """The span of one reconcile, and the parent of its requests' spans on any
    thread.
    """

    def __init__(self, tracer: "Tracer", span: "Span") -> None:
        from opentelemetry.trace import set_span_in_context

        self._tracer = tracer
        self._span = span
        self._context: Context = set_span_in_context(span)

    @property
    def log_fields(self) -> Mapping[str, str]:
        """`traceID` and `spanID`, in hexadecimal, for each log record; empty for a span
        that is not recorded.
        """
        context = self._span.get_span_context()
        if not context.is_valid:
            return {}
        return {
            "traceID": f"{context.trace_id:032x}",
            "spanID": f"{context.span_id:016x}",
        }

    def ended(self, result: str, error: BaseException | None = None) -> None:
        """Record the result of the reconcile, with the metrics' label."""
        self._span.set_attribute(f"{_NAME}.result", result)
        if error is not None:
            _fail(self._span, error)

    @contextmanager
    def request(self, method: str, host: str, path: str) -> Iterator["RequestSpan"]:
        """Return a context with the span of one request; an exception in it is
        recorded.

        path: without its query, which may contain selectors.
        """
        attributes = {"http.request.method": method, "url.path": path}
        with self._child(method, host, attributes) as span:
            yield RequestSpan(span)

    @contextmanager
    def call(self, name: str, host: str) -> Iterator[None]:
        """Return a context with the span of a call other than an HTTP request, such as
        a database query; an exception in it is recorded.

        name: the operation, without values.
        """
        with self._child(name, host, {}):
            yield

    @contextmanager
    def _child(
        self, name: str, host: str, attributes: Mapping[str, str]
    ) -> Iterator["Span"]:
        from opentelemetry.trace import SpanKind

        with self._tracer.start_as_current_span(
            name,
            context=self._context,
            kind=SpanKind.CLIENT,
            attributes={"server.address": host, **attributes},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                _fail(span, error)
                raise


class RequestSpan:
    """The span of one request in progress."""

    def __init__(self, span: "Span") -> None:
        self._span = span

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the `traceparent` header, which links the server's spans; empty if the
        span is not recorded.
        """
        context = self._span.get_span_context()
        if not context.is_valid:
            return {}
        flags = f"{int(context.trace_flags):02x}"
        parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags}"
        return {"traceparent": parent}

    def answered(self, status: int) -> None:
        """Record the response status."""
        from opentelemetry.trace import Status, StatusCode

        self._span.set_attribute("http.response.status_code", status)
        if status >= 400:
            self._span.set_attribute("error.type", str(status))
            self._span.set_status(Status(StatusCode.ERROR))


def _fail(span: "Span", error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", type(error).__name__)
    # Readers of traces may read all namespaces.
    text = redact(f"{type(error).__name__}: {error}", namespace=None)
    span.set_status(Status(StatusCode.ERROR, text))
