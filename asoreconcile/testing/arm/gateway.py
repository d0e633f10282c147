"""ARM's front door: paths to resources, collections, actions, monitors."""

import re
import uuid
from collections.abc import Callable

import attrs
import orjson

from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.actions import act
from asoreconcile.testing.arm.address import Address, parse
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.provider import Provider, check_api_version
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    answer,
    error,
    resource_not_found,
)
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.roles import role_definitions
from asoreconcile.testing.http import Request, Response

_MONITOR = re.compile(
    r"^/subscriptions/[^/]+/providers/[^/]+/locations/[^/]+"
    r"/(operations|operationresults)/([^/]+)$",
    re.IGNORECASE,
)
_VAULT = re.compile(
    r"^/subscriptions/[^/]+/providers/microsoft\.keyvault/locations/([^/]+)"
    r"/deletedvaults/([^/]+?)(/purge)?$",
    re.IGNORECASE,
)
_PROVIDER = re.compile(
    r"^/subscriptions/[^/]+/providers/([^/]+)(/register)?$", re.IGNORECASE
)
_ROLES = "/providers/microsoft.authorization/roledefinitions"
_CLASSES = {"GET": "reads", "HEAD": "reads", "DELETE": "deletes"}
_BUDGET = "3999"


class Gateway:
    """Answers requests that are signed in. The caller holds the server's lock."""

    def __init__(
        self, provider: Provider, resources: Resources, operations: Operations
    ) -> None:
        self._provider = provider
        self._resources = resources
        self._operations = operations

    def handle(self, request: Request) -> Response:
        """The answer, refusals included, with ARM's headers."""
        self._operations.settle()
        try:
            response = self._route(request)
        except RefusedError as refused:
            response = refused.response()
        return attrs.evolve(response, headers={**response.headers, **_headers(request)})

    def monitored(self, path: str) -> str:
        """The id of the resource whose operation a path looks at, or ""."""
        match = _MONITOR.match(path.rstrip("/"))
        operation = self._operations.find(match[2]) if match else None
        return operation.address.id if operation else ""

    def _route(self, request: Request) -> Response:
        path = request.path.rstrip("/")
        if match := _MONITOR.match(path):
            return self._monitor(match[1].lower(), match[2])
        if match := _VAULT.match(path):
            return self._deleted_vault(match[1], match[2], purge=bool(match[3]))
        if match := _PROVIDER.match(path):
            return answer(
                200, {"namespace": match[1], "registrationState": "Registered"}
            )
        address = parse(path)
        if path.lower().endswith(_ROLES) and request.method == "GET":
            return answer(200, role_definitions(path[: -len(_ROLES)]))
        if request.method == "POST":
            return self._act(path, request)
        if address is None:
            return self._list(path, request)
        return self._resource(address, request)

    def _resource(self, address: Address, request: Request) -> Response:
        api_version = request.query.get("api-version", "")
        check_api_version(api_version)
        answers: dict[str, Callable[[], Response]] = {
            "GET": lambda: self._provider.get(address),
            "HEAD": lambda: self._head(address),
            "PUT": lambda: self._provider.put(address, _body(request), api_version),
            "DELETE": lambda: self._provider.delete(address, api_version),
        }
        if request.method not in answers:
            return answer(
                405, {"Message": "The requested resource does not support the method."}
            )
        return answers[request.method]()

    def _head(self, address: Address) -> Response:
        found = self._resources.find(address.id) is not None
        return answer(204 if found else 404, None)

    def _list(self, path: str, request: Request) -> Response:
        if request.method != "GET":
            raise RefusedError(405, "MethodNotAllowed", f"{path} can only be listed.")
        check_api_version(request.query.get("api-version", ""))
        found = [self._resources.shown(r) for r in self._resources.listed(path)]
        return answer(200, {"value": found})

    def _act(self, path: str, request: Request) -> Response:
        check_api_version(request.query.get("api-version", ""))
        resource_path, _, action = path.rpartition("/")
        address = parse(resource_path)
        if address is None:
            raise RefusedError(404, "NotFound", f"There is no action at {path}.")
        if self._resources.find(address.id) is None:
            raise resource_not_found(address.type, "/".join(address.names), "")
        result = act(address, action)
        if result is None:
            raise RefusedError(404, "NotFound", f"{address.type} has no {action}.")
        return answer(200, result)

    def _monitor(self, kind: str, id_: str) -> Response:
        operation = self._operations.find(id_)
        if operation is None:
            raise RefusedError(
                404, "OperationNotFound", f"The operation '{id_}' could not be found."
            )
        return self._provider.poll(operation, kind)

    def _deleted_vault(self, location: str, name: str, *, purge: bool) -> Response:
        vaults = self._provider.vaults
        if not purge:
            return answer(200, vaults.find(location, name))
        vaults.purge(location, name)
        return answer(200, None)


def unauthenticated() -> Response:
    """No token, or none that holds."""
    return error(
        401,
        "InvalidAuthenticationToken",
        "The access token is missing, invalid or expired.",
        {"WWW-Authenticate": 'Bearer error="invalid_token"'},
    )


def _body(request: Request) -> JsonObject:
    try:
        body = orjson.loads(request.body)
    except ValueError as broken:
        raise RefusedError(
            400,
            "InvalidRequestContent",
            f"The request content was invalid and could not be deserialized: {broken}",
        ) from broken
    if not isinstance(body, dict):
        raise RefusedError(
            400, "InvalidRequestContent", "The request content is no JSON object."
        )
    return body


def _headers(request: Request) -> dict[str, str]:
    kind = _CLASSES.get(request.method, "writes")
    sent = request.headers
    headers = {
        "x-ms-request-id": str(uuid.uuid4()),
        "x-ms-correlation-request-id": sent.get("x-ms-correlation-request-id")
        or str(uuid.uuid4()),
        f"x-ms-ratelimit-remaining-subscription-{kind}": _BUDGET,
    }
    if client_id := sent.get("x-ms-client-request-id"):
        headers["x-ms-client-request-id"] = client_id
    return headers
