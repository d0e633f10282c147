"""The routes of a webhook server: from request bytes to response bytes.

Every response is a review with HTTP status 200: the API server shows users the message
of a review, but only the number of any other status. Rule: WH-3.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

import attrs

from asoreconcile.base.objects import JsonObject
from asoreconcile.serving.messages import ServerRequest
from asoreconcile.webhooks import admission, conversion
from asoreconcile.webhooks.batches import Batch
from asoreconcile.webhooks.metrics import PathMetrics
from asoreconcile.webhooks.review_work import ReviewWork
from asoreconcile.webhooks.reviews import (
    Review,
    ReviewError,
    answered,
    answered_in_pieces,
    check_content_type,
    failure,
    parse,
)

_MIB = 1 << 20
_OBJECTS = "convertedObjects"


@attrs.frozen
class OpenReview:
    """A review that was read. respond: makes the response's body, in pieces."""

    review: Review
    respond: Callable[[], Sequence[bytes]]


@attrs.frozen
class Route:
    """One path.

    open: reads a request, and holds its share of memory and processor until the
    response is made; gets the deadline, too. Raises ReviewError, as `respond` may.
    reject: makes the response from a uid and a metav1 Status.
    """

    kind: str
    api_versions: frozenset[str]
    max_bytes: int
    open: Callable[[ServerRequest, float], AbstractContextManager[OpenReview]]
    reject: Callable[[str, JsonObject], JsonObject]
    metrics: PathMetrics | None = None


def admission_route(
    decide: admission.Decide,
    *,
    work: ReviewWork,
    max_bytes: int,
    metrics: PathMetrics | None,
) -> Route:
    """Return a route that calls `decide` for each write."""

    def answer(review: Review) -> Sequence[bytes]:
        return [admission.respond(review, decide, on_broken=_broken(metrics))]

    @contextmanager
    def opened(request: ServerRequest, deadline: float) -> Iterator[OpenReview]:
        with work.parsing(request.body, request.caller, deadline):
            review = parse(
                request.body,
                kind=admission.KIND,
                api_versions=admission.API_VERSIONS,
            )
            yield OpenReview(review, partial(answer, review))

    return Route(
        admission.KIND,
        admission.API_VERSIONS,
        max_bytes,
        opened,
        admission.refused,
        metrics,
    )


def conversion_route(
    convert: conversion.Convert,
    *,
    work: ReviewWork,
    max_bytes: int,
    metrics: PathMetrics | None,
) -> Route:
    """Return a route that converts each batch. Rule: TH-7."""

    def answer(review: Review, batch: Batch, deadline: float) -> Sequence[bytes]:
        if not batch.has_objects or review.request.get("objects") != []:
            message = "the request's objects are no list of objects"
            raise ReviewError(message, code=400)
        with closing(batch.objects()) as objects:
            response, pieces = conversion.respond(
                review,
                objects,
                convert,
                check=partial(work.check, deadline),
                on_broken=_broken(metrics),
            )
        if pieces is None:
            return [answered(review.api_version, review.kind, response)]
        return answered_in_pieces(
            review.api_version, review.kind, response, _OBJECTS, pieces
        )

    @contextmanager
    def opened(request: ServerRequest, deadline: float) -> Iterator[OpenReview]:
        batch = Batch(request.body, work, caller=request.caller, deadline=deadline)
        review = parse(
            batch.envelope,
            kind=conversion.KIND,
            api_versions=conversion.API_VERSIONS,
        )
        yield OpenReview(review, partial(answer, review, batch, deadline))

    return Route(
        conversion.KIND,
        conversion.API_VERSIONS,
        max_bytes,
        opened,
        conversion.rejected,
        metrics,
    )


def reviewed(
    route: Route, request: ServerRequest, *, deadline: float
) -> Sequence[bytes]:
    """Return the response body for a request. deadline: in `Clock.monotonic`
    seconds.
    """
    api_version, uid = _newest(route.api_versions), ""
    try:
        # Sent as a review: the API server shows nothing of other responses.
        if request.too_long:
            limit = f"{route.max_bytes / _MIB:g} MiB"
            raise ReviewError(f"the review is longer than {limit}", code=413)
        check_content_type(request.headers.get("content-type", ""))
        with route.open(request, deadline) as one:
            api_version, uid = one.review.api_version, one.review.uid
            return one.respond()
    except ReviewError as error:
        response = route.reject(uid, failure(error))
    return [answered(api_version, route.kind, response)]


def _newest(api_versions: frozenset[str]) -> str:
    """Return the stable version: `v1` is shorter than `v1beta1`."""
    return min(api_versions, key=len)


def _broken(metrics: PathMetrics | None) -> Callable[[], None]:
    return metrics.broken.inc if metrics else lambda: None
