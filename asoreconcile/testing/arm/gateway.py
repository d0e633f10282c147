"""ARM's front door: it routes paths to resources, collections, actions and monitors."""

import re
import uuid

import attrs

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm import moves
from asoreconcile.testing.arm.actions import act, check_provisioned
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.locks import check_locks
from asoreconcile.testing.arm.monitors import PollRequest
from asoreconcile.testing.arm.polling import Polling
from asoreconcile.testing.arm.provider import Provider
from asoreconcile.testing.arm.refusals import (
    RefusedError,
    answer,
    error,
    not_supported,
    resource_not_found,
)
from asoreconcile.testing.arm.roles import role_definitions
from asoreconcile.testing.arm.scopes import check_api_version
from asoreconcile.testing.arm.simulation import Simulation
from asoreconcile.testing.arm.throttling import RequestKind
from asoreconcile.testing.http import HttpRequest, HttpResponse

_VAULT = re.compile(
    r"^/subscriptions/[^/]+/providers/microsoft\.keyvault/locations/([^/]+)"
    r"/deletedvaults/([^/]+?)(/purge)?$",
    re.IGNORECASE,
)
_VAULTS = re.compile(
    r"^/subscriptions/[^/]+/providers/microsoft\.keyvault/deletedvaults$",
    re.IGNORECASE,
)
_PROVIDER = re.compile(
    r"^/subscriptions/[^/]+/providers/([^/]+)(/register)?$", re.IGNORECASE
)
# The second last segments of the monitors' paths. Used to recognise a poll of an
# unknown operation.
_MONITOR = re.compile(
    r"/\w*operation(s|\w*results?|\w*status(es)?)/[^/]+$", re.IGNORECASE
)
_ROLES = "/providers/microsoft.authorization/roledefinitions"
_SUBSCRIPTION = re.compile(r"^/subscriptions/([^/]+)", re.IGNORECASE)
_CLASSES: dict[str, RequestKind] = {
    "GET": "reads",
    "HEAD": "reads",
    "DELETE": "deletes",
}
_BUDGET = "3999"
_OF_RESOURCES = frozenset({"GET", "HEAD", "PUT", "PATCH", "DELETE"})


class Gateway:
    """The answers to requests that are signed in. The caller holds the
    server's lock.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._provider = Provider(simulation)
        self._moves = moves.ResourceMoves(
            simulation.resources, simulation.operations, simulation.styles
        )
        self._polling = Polling(
            simulation.monitors,
            simulation.operations,
            simulation.resources,
            simulation.views,
            simulation.faults,
        )

    @property
    def provider(self) -> Provider:
        """Return the provider that answers for single resources, so that the server can
        configure it.
        """
        return self._provider

    def handle(self, request: HttpRequest, principal: str = "") -> HttpResponse:
        """Return the answer with ARM's headers. A refusal is an answer, too.

        principal: client id of the caller. ARM counts each caller separately.
        """
        # Operations that end by the clock must end before the request is answered.
        self._simulation.operations.settle()
        left: dict[str, str] = {}
        try:
            # This comes before the routing, because ARM also counts requests that it
            # refuses.
            left = self._left(request, principal)
            tenants = self._simulation.tenants.shown(request)
            response = self._route(request, tenants)
        except RefusedError as refused:
            address = parse(request.path)
            envelope = (
                self._simulation.styles[address.type].envelope if address else "arm"
            )
            response = refused.response(envelope)
        if request.method == "HEAD":
            response = attrs.evolve(response, body=b"")
        # An answer's own headers override those of the remaining budget: a 429 has the
        # exact values.
        headers = {**left, **response.headers, **self._headers(request)}
        return attrs.evolve(response, headers=headers)

    def look(self, request: HttpRequest) -> PollRequest | None:
        """Return the poll that a request is, or None if it is not a poll. Pure."""
        _, _, query = request.target.partition("?")
        return self._simulation.monitors.find(request.path.rstrip("/"), query)

    def _route(self, request: HttpRequest, tenants: frozenset[str]) -> HttpResponse:
        path = request.path.rstrip("/")
        if request.method == "GET" and (look := self.look(request)) is not None:
            return self._polling.handle(look, request)
        # This check comes after the monitors, because Azure makes their URLs and
        # chooses the api-version in them.
        check_api_version(request.query.get("api-version", ""))
        if request.method == "GET" and _MONITOR.search(path):
            raise RefusedError(404, "OperationNotFound", "There is no such operation.")
        if match := _VAULT.match(path):
            return self._deleted_vault(match[1], match[2], purge=bool(match[3]))
        if _VAULTS.match(path) and request.method == "GET":
            return answer(200, {"value": self._simulation.vaults.all()})
        if match := _PROVIDER.match(path):
            providers = self._simulation.providers
            is_wish = request.method == "POST" and bool(match[2])
            show = providers.register if is_wish else providers.show
            return answer(200, show(match[1]))
        if path.lower().endswith(_ROLES) and request.method == "GET":
            return answer(200, role_definitions(path[: -len(_ROLES)]))
        if request.method == "POST":
            return self._act(path, request)
        address = parse(path)
        if address is None:
            return self._list(path, request)
        return self._resource(address, request, tenants)

    def _resource(
        self, address: ArmAddress, request: HttpRequest, tenants: frozenset[str]
    ) -> HttpResponse:
        method, api_version = request.method, request.query["api-version"]
        if method not in _OF_RESOURCES:
            return not_supported(method)
        self._simulation.providers.check(address, api_version)
        if (checks := self._simulation.type_checks) is not None:
            checks.check_request(address, api_version)
        # ARM's own checks come first, whatever the provider would answer.
        check_locks(self._simulation.resources, address, method)
        self._moves.check(address, method)
        present = self._simulation.resources.find(address.id)
        body = _body(request) if method in ("PUT", "PATCH") else {}
        location = body.get("location") or (present and present.body.get("location"))
        self._simulation.faults.named.check(address, str(location or ""))
        if method == "GET":
            return self._provider.get(address)
        if method == "HEAD":
            return self._provider.head(address)
        if method == "DELETE":
            return self._provider.delete(address, api_version, request.headers)
        self._simulation.policies.check(address)
        self._simulation.tenants.check(address, body, tenants)
        write = self._provider.put if method == "PUT" else self._provider.patch
        return write(address, body, api_version, request.headers)

    def _list(self, path: str, request: HttpRequest) -> HttpResponse:
        if request.method != "GET":
            return not_supported(request.method)
        return self._simulation.listing.handle(path, request)

    def _act(self, path: str, request: HttpRequest) -> HttpResponse:
        resource_path, _, action = path.rpartition("/")
        address = parse(resource_path)
        if address is None:
            raise RefusedError(404, "NotFound", f"There is no action at {path}.")
        resource = self._simulation.resources.find(address.id)
        if resource is None:
            self._simulation.scopes.check(address, "POST")
            raise resource_not_found(address)
        check_locks(self._simulation.resources, address, "POST")
        if address.is_group and action.lower() == moves.ACTION:
            return self._move(address, request)
        check_provisioned(resource, done=self._simulation.styles[address.type].done)
        result = act(address, action)
        if result is None:
            raise RefusedError(404, "NotFound", f"{address.type} has no {action}.")
        return answer(200, result)

    def _move(self, group: ArmAddress, request: HttpRequest) -> HttpResponse:
        api_version = request.query["api-version"]
        operation = self._moves.begin(group, _body(request), api_version)
        return answer(
            202, headers=self._simulation.monitors.headers(operation, location="")
        )

    def _deleted_vault(self, location: str, name: str, *, purge: bool) -> HttpResponse:
        vaults = self._simulation.vaults
        if not purge:
            return answer(200, vaults.find(location, name))
        vaults.purge(location, name)
        return answer(200)

    def _left(self, request: HttpRequest, principal: str) -> dict[str, str]:
        """Return the headers with the remaining budgets. Raises RefusedError 429."""
        kind = _CLASSES.get(request.method, "writes")
        throttling = self._simulation.throttling
        throttling = throttling or self._simulation.faults.named.throttling
        if throttling is None:
            return {f"x-ms-ratelimit-remaining-subscription-{kind}": _BUDGET}
        match = _SUBSCRIPTION.match(request.path)
        return throttling.take(principal, match[1].lower() if match else "", kind)

    def _headers(self, request: HttpRequest) -> dict[str, str]:
        sent = request.headers
        now = self._simulation.clock.now()
        headers = {
            "Date": f"{now:%a, %d %b %Y %H:%M:%S} GMT",
            "Cache-Control": "no-cache",
            "x-ms-request-id": str(uuid.uuid4()),
            "x-ms-correlation-request-id": sent.get("x-ms-correlation-request-id")
            or str(uuid.uuid4()),
        }
        if client_id := sent.get("x-ms-client-request-id"):
            headers["x-ms-client-request-id"] = client_id
        return headers


def unauthenticated(authority: str = "") -> HttpResponse:
    """Return the 401 answer to a request without a valid token for ARM.

    authority: URL of the authority.
    """
    message = "The access token is missing, invalid, expired or for another audience."
    challenge = (
        f'Bearer authorization_uri="{authority}", error="invalid_token", '
        f'error_description="{message}"'
    )
    return error(
        401, "InvalidAuthenticationToken", message, {"WWW-Authenticate": challenge}
    )


def _body(request: HttpRequest) -> JsonObject:
    try:
        body = jsontext.loads(request.body)
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
