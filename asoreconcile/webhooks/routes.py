"""The routes of a webhook server: from request bytes to response bytes.

Every response is a review with HTTP status 200: the API server shows users the message
of a review, but only the number of any other status. Rule: WH-3.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.serving.messages import ServerRequest
from asoreconcile.webhooks import admission, conversion
from asoreconcile.webhooks.metrics import PathMetrics
from asoreconcile.webhooks.reviews import (
    Review,
    ReviewError,
    answered,
    failure,
    parse,
)

_MIB = 1 << 20


@attrs.frozen
class Route:
    """One path.

    respond: gets the review and its deadline; may raise ReviewError.
    reject: makes the response from a uid and a metav1 Status.
    """

    kind: str
    api_versions: frozenset[str]
    max_bytes: int
    respond: Callable[[Review, float], JsonObject]
    reject: Callable[[str, JsonObject], JsonObject]
    metrics: PathMetrics | None = None


def admission_route(
    decide: admission.Decide, *, max_bytes: int, metrics: PathMetrics | None
) -> Route:
    """A route that calls `decide` for each write."""

    def respond(review: Review, _deadline: float) -> JsonObject:
        return admission.respond(review, decide, on_broken=_broken(metrics))

    return Route(
        admission.KIND,
        admission.API_VERSIONS,
        max_bytes,
        respond,
        admission.refused,
        metrics,
    )


def conversion_route(
    convert: conversion.Convert,
    *,
    slots: threading.Semaphore,
    clock: Clock,
    max_bytes: int,
    metrics: PathMetrics | None,
) -> Route:
    """A route that converts each batch. slots: limits concurrent batches. Rule:
    TH-7.
    """

    def respond(review: Review, deadline: float) -> JsonObject:
        def check() -> None:
            if clock.monotonic() >= deadline:
                raise ReviewError("the conversion took too long", code=504)

        with _slot(slots, deadline - clock.monotonic()):
            return conversion.respond(
                review, convert, check=check, on_broken=_broken(metrics)
            )

    return Route(
        conversion.KIND,
        conversion.API_VERSIONS,
        max_bytes,
        respond,
        conversion.rejected,
        metrics,
    )


def reviewed(route: Route, request: ServerRequest, *, deadline: float) -> bytes:
    """The response body for a request. deadline: in `Clock.monotonic` seconds."""
    api_version, uid = _newest(route.api_versions), ""
    try:
        # Sent as a review: the API server shows nothing of other responses.
        if request.too_long:
            limit = f"{route.max_bytes / _MIB:g} MiB"
            raise ReviewError(f"the review is longer than {limit}", code=413)
        review = parse(
            request.body,
            request.headers.get("content-type", ""),
            kind=route.kind,
            api_versions=route.api_versions,
        )
        api_version, uid = review.api_version, review.uid
        response = route.respond(review, deadline)
    except ReviewError as error:
        response = route.reject(uid, failure(error))
    return answered(api_version, route.kind, response)


@contextmanager
def _slot(slots: threading.Semaphore, seconds: float) -> Iterator[None]:
    """Take a slot; raises ReviewError if none becomes free in time."""
    if not slots.acquire(timeout=max(0.0, seconds)):
        raise ReviewError("too many conversions at once", code=503)
    try:
        yield
    finally:
        slots.release()


def _newest(api_versions: frozenset[str]) -> str:
    """The stable version: `v1` is shorter than `v1beta1`."""
    return min(api_versions, key=len)


def _broken(metrics: PathMetrics | None) -> Callable[[], None]:
    return metrics.broken.inc if metrics else _nobody_counts


def _nobody_counts() -> None:
    """Without metrics."""
