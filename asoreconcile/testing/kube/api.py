"""The routing of requests: which part of the API a path belongs to."""

import logging

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.http import DropConnection, HttpRequest, HttpResponse
from asoreconcile.testing.kube.access.attributes import attributes_of
from asoreconcile.testing.kube.access.entry import AccessControl
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.admission.reviewing import WebhookAdmission
from asoreconcile.testing.kube.discovery import groups, health, openapi, openapiproto
from asoreconcile.testing.kube.endpoints import ApiEndpoints
from asoreconcile.testing.kube.kinds.resources import RestMapper
from asoreconcile.testing.kube.kinds.targets import target_of
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire import answers
from asoreconcile.testing.kube.wire.hooks import Services
from asoreconcile.testing.kube.wire.status import StatusError, method_not_allowed
from asoreconcile.testing.kube.writing.deletion import Deletions
from asoreconcile.testing.kube.writing.writes import WriteHandler

_log = logging.getLogger(__name__)

VERSION: JsonObject = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2026-04-22T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "any",
}
_TEXT = "text/plain; charset=utf-8"


class Api:
    """The answers to requests, from one storage. Safe to use from any thread."""

    def __init__(
        self, storage: Storage, clock: Clock, access: AccessControl, services: Services
    ) -> None:
        """Make the API.

        services: addresses of webhooks' Services.
        """
        self.kinds = RestMapper(storage, services)
        gate = WebhookAdmission(storage, services, self.kinds, access.decide)
        self.deletions = Deletions(storage, clock, gate)
        self.writes = WriteHandler(storage, self.deletions, clock, gate)
        self._access = access
        self._endpoints = ApiEndpoints(
            storage, self.deletions, self.writes, clock, access
        )

    def handle(self, request: HttpRequest, user: User) -> HttpResponse:
        """Return the answer to a request. A refusal is an answer, too."""
        try:
            return self._route(request, user)
        except StatusError as error:
            return answers.refusal(error)
        except DropConnection:
            raise
        except Exception as error:  # noqa: BLE001 - no request ends a connection
            _log.exception("Request failed: %s %s", request.method, request.path)
            why = f"Internal error occurred: {error}"
            return answers.refusal(StatusError(500, "InternalError", why))

    def _route(self, request: HttpRequest, user: User) -> HttpResponse:
        query = request.target.partition("?")[2]
        if (health_text := health.answer(request.path, query)) is not None:
            return HttpResponse(200, health_text.encode(), {"Content-Type": _TEXT})
        if (document := self._document(request)) is not None:
            if request.method != "GET":
                raise method_not_allowed()
            return document
        about = attributes_of(request)
        if self._access.reviews.are_at(about):
            return self._access.reviews.answer(request, user)
        if self._access.tokens.are_at(about):
            return self._access.tokens.answer(request)
        target = target_of(self.kinds, request.path)
        return self._endpoints.answer(request, target, user)

    def _document(self, request: HttpRequest) -> HttpResponse | None:
        """Return version, discovery or OpenAPI documents; None if the path is an
        object's.
        """
        accept = request.headers.get("accept", "")
        kinds = self.kinds
        match [part for part in request.path.split("/") if part]:
            case ["version"]:
                found = VERSION
            case ["api" | "apis" as root] if groups.is_aggregated(accept):
                found = groups.aggregated(kinds, core=root == "api")
                return answers.document(200, found, groups.AGGREGATED)
            case ["api"]:
                found = groups.core_versions()
            case ["apis"]:
                found = groups.all_of(kinds)
            case ["apis", group]:
                found = groups.group(kinds, group)
            case ["api", version]:
                found = groups.resources(kinds, "", version)
            case ["apis", group, version]:
                found = groups.resources(kinds, group, version)
            case ["openapi", "v2"] if openapiproto.is_wanted(accept):
                body = openapiproto.document(kinds.all(), VERSION["gitVersion"])
                return HttpResponse(
                    200, body, {"Content-Type": openapiproto.MEDIA_TYPE}
                )
            case ["openapi", "v2"]:
                found = openapi.v2(kinds)
            case ["openapi", "v3"]:
                found = openapi.v3_index(kinds)
            case ["openapi", "v3", *rest]:
                found = openapi.v3(kinds, "/".join(rest))
            case _:
                return None
        return answers.document(200, found, answers.negotiated(accept))
