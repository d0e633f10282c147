"""Asks the API server whether a token may read the metrics.

A TokenReview identifies the user of a bearer token, and a SubjectAccessReview of the
verb and path checks the user's roles. Results are cached, as in controller-runtime,
because a scraper sends a request every few seconds.
"""

import hashlib
import urllib.parse
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from asoreconcile.base import jsontext
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import JsonObject
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.rest_client import RequestMetrics
from asoreconcile.runtime.endpoints import Access
from asoreconcile.serving.messages import ServerRequest, ServerResponse
from asoreconcile.webhooks.serving_certificates import ServingCertificates

_log = Logger(__name__)

TOKEN_REVIEWS = ApiResource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS = ApiResource(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
    namespaced=False,
)

Answer = TypeVar("Answer")

# A scraper waits: Prometheus times out after ten seconds by default.
_REVIEW_SECONDS = 10.0
# controller-runtime's times. Refusals are cached for less: the role or account may just
# have been created.
_KNOWN_SECONDS = 60.0
_UNKNOWN_SECONDS = 10.0
_ALLOWED_SECONDS = 300.0
_DENIED_SECONDS = 30.0
# Anyone can send invented tokens: they must not fill the memory.
_MOST_ANSWERS = 1000


class AccessReviews:
    """Asks the API server whether users have permissions. Safe from any thread.

    A permission counts for five minutes, a refusal for half a minute. The process needs
    `create` on subjectaccessreviews.
    """

    def __init__(self, client: KubeClient, *, clock: Clock) -> None:
        self._client = client
        self._kept: _Answers[bool] = _Answers(clock)

    def allow(self, user: JsonObject, **wanted: JsonObject) -> bool:
        """Return whether the cluster's roles give a user the permission in `wanted`.

        user: `username`, `groups`, `uid`, `extra`. wanted: the attributes of a
        SubjectAccessReview, such as resourceAttributes. Blocking; raises
        AsoreconcileError.
        """
        subject = {
            "user": user.get("username", ""),
            "groups": user.get("groups") or [],
            "uid": user.get("uid", ""),
            "extra": user.get("extra") or {},
            **wanted,
        }

        def ask() -> tuple[bool, float]:
            status = _reviewed(self._client, SUBJECT_ACCESS_REVIEWS, subject)
            allowed = status.get("allowed") is True
            return allowed, _ALLOWED_SECONDS if allowed else _DENIED_SECONDS

        return self._kept.get(jsontext.dumps(subject), ask)


class MetricsAuthorizationFilter:
    """Allows users that the cluster authenticates and its roles authorize. Safe from
    any thread.

    The process needs `create` on tokenreviews and subjectaccessreviews; a scraper needs
    `get` on the nonResourceURL, such as `/metrics`.
    """

    def __init__(self, client: KubeClient, *, clock: Clock) -> None:
        self._client = client
        self._users: _Answers[JsonObject | None] = _Answers(clock)
        self._permissions = AccessReviews(client, clock=clock)

    def refusal(self, request: ServerRequest) -> ServerResponse | None:
        """Return the response that refuses a request: 401, 403, or 500 if the API
        server cannot be asked; None allows it. Blocking: may send two requests to the
        API server.
        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            return ServerResponse(401, b"a bearer token is required\n")
        try:
            user = self._user(token)
            if user is None:
                return ServerResponse(401, b"the token is not valid\n")
            if self._may(user, request):
                return None
        except AsoreconcileError as error:
            _log.warning(
                "Cannot ask the API server who may read the metrics", error=str(error)
            )
            return ServerResponse(500, b"the API server cannot be asked\n")
        path = _path(request).encode()
        return ServerResponse(403, b"the token's user may not get " + path + b"\n")

    def _user(self, token: str) -> JsonObject | None:
        """Return the token's user. Only the token's digest is kept."""

        def ask() -> tuple[JsonObject | None, float]:
            status = _reviewed(self._client, TOKEN_REVIEWS, {"token": token})
            if status.get("authenticated") is True and status.get("user"):
                return status["user"], _KNOWN_SECONDS
            return None, _UNKNOWN_SECONDS

        # The digest, so that a core dump or a debugger shows no token.
        return self._users.get(hashlib.sha256(token.encode()).digest(), ask)

    def _may(self, user: JsonObject, request: ServerRequest) -> bool:
        wanted = {"path": _path(request), "verb": request.method.lower()}
        return self._permissions.allow(user, nonResourceAttributes=wanted)


def metrics_access(
    reviewer: KubeClient, certificates: ServingCertificates, *, clock: Clock
) -> Access:
    """Return an `Access` over TLS, for tokens that the reviewer's reviews allow."""
    guard = MetricsAuthorizationFilter(reviewer, clock=clock)
    return Access(certificates.context, guard.refusal)


def review_client(
    cluster: ClusterConfig, user_agent: str, *, clock: Clock, metrics: RequestMetrics
) -> KubeClient:
    """Return a separate client for reviews: replicas that may not write serve scrapers
    too, and scrapes must not wait behind reconcilers' requests.
    """
    return KubeClient(
        cluster,
        user_agent=user_agent,
        clock=clock,
        metrics=metrics,
        read_seconds=_REVIEW_SECONDS,
    )


class _Answers(Generic[Answer]):
    """A bounded cache of results, each with its own expiry."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept = LruCache[Hashable, tuple[float, Answer]](_MOST_ANSWERS)

    def get(
        self, question: Hashable, ask: Callable[[], tuple[Answer, float]]
    ) -> Answer:
        """Return the answer to a question, from the cache if it is still valid.

        ask: function that returns the answer and the seconds for which it is valid. Its
        exceptions are raised.
        """
        now = self._clock.monotonic()
        kept = self._kept.get(question)
        if kept is not None and kept[0] > now:
            return kept[1]
        answer, seconds = ask()
        self._kept.put(question, (now + seconds, answer))
        return answer


def _path(request: ServerRequest) -> str:
    return urllib.parse.urlsplit(request.target).path


def _reviewed(
    client: KubeClient, resource: ApiResource, content: JsonObject
) -> JsonObject:
    """Return the status of a new review. content: its spec."""
    review = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {},
        "spec": content,
    }
    status = client.create(resource, review).get("status")
    return status if isinstance(status, dict) else {}
