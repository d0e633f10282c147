"""The client of Microsoft Graph: one request per call; returns a result or raises.

ARM's pipeline sends the requests, with the same TLS, proxies, limits, fence and
sign-in. The tokens are for Graph's audience and go to Graph's host only. The client
never waits, and retries only one 401.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from azure.core.credentials import TokenCredential
from azure.core.pipeline.transport import HttpTransport

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import (
    ArmError,
    parse_fault,
    protocol_fault,
    stated_object,
)
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.paging import Paging
from asoreconcile.azure.arm.pipeline import NO_HEADERS, ArmPipeline
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY, ArmResponse
from asoreconcile.azure.graph.cloud import graph_scope
from asoreconcile.azure.graph.collections import GROUPS, DirectoryCollection
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.random_id import random_id

GroupLink = Literal["members", "owners"]

_ROOT = "/v1.0"
# Lists of v1.0 leave service principals out, and so managed identities; Microsoft's
# reference names the same call of this version for complete lists.
_LISTS = "/beta"
_PAGE = "999"  # Graph's most for lists
_NEXT_LINK = "@odata.nextLink"
_ABSENT = "Request_ResourceNotFound"
_BAD_REQUEST = "Request_BadRequest"
# Graph has no separate code for a reference that already exists.
_THERE_ALREADY = "already exist"
_TAKEN = "Request_MultipleObjectsWithSameKeyValue"
OBJECT_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class GraphClient:
    """Sends requests to one Graph host as one identity. Thread-safe; share it.

    endpoint: `https://graph.microsoft.com`, the only host that gets the token.
    budget: holds requests back after a throttling; one per principal.
    transport: a transport of azure-core; by default `ArmTransport` with `connections`
    in its pool.

    Every method blocks for one request (lists: one per page), at most as long as ARM's.
    It raises ArmError if Graph refuses, ArmTransportError if there is no response, and
    ThrottledError, CredentialError or ForeignHostError if nothing was sent.
    """

    def __init__(
        self,
        endpoint: str,
        credential: TokenCredential,
        *,
        clock: Clock,
        metrics: ArmMetrics | None = None,
        budget: Budget | None = None,
        user_agent: str = "",
        transport: HttpTransport[Any, Any] | None = None,
        connections: int = 8,
    ) -> None:
        self.endpoint = Endpoint(endpoint)
        self._clock = clock
        self._pipeline = ArmPipeline(
            self.endpoint,
            credential,
            scope=graph_scope(self.endpoint.url),
            clock=clock,
            metrics=metrics,
            budget=budget,
            user_agent=user_agent,
            transport=transport,
            connections=connections,
            auxiliary_tenants=(),
        )

    def one(self, of: DirectoryCollection, id_: str) -> JsonObject | None:
        """Return an object by its object id; None if Graph has no such object."""
        return self._one(of, f"/{id_}", "id", id_)

    def keyed(self, of: DirectoryCollection, key: str, value: str) -> JsonObject | None:
        """Return an object by a property that no two objects share; None if Graph has
        none.
        """
        return self._one(of, f"({key}='{value}')", key, value)

    def found(self, of: DirectoryCollection, name: str, value: str) -> list[JsonObject]:
        """Return all objects with a value of a property, or with it in their list;
        Graph compares without case.
        """
        query = {
            "$filter": of.filter_of(name, value),
            "$select": of.selected,
            "$top": _PAGE,
        }
        found = []
        for answer, url, entry in self._list(f"{_ROOT}/{of.name}", query):
            _check_entry(of, answer, entry, method="GET", url=url)
            stated = entry.get(name)
            values = stated if isinstance(stated, list) else [stated]
            if _folded(value) not in map(_folded, values):
                message = f"a search by {name} found another one{PERHAPS_A_PROXY}"
                raise protocol_fault(answer, message, method="GET", url=url)
            found.append(entry)
        return found

    def create(
        self, of: DirectoryCollection, body: JsonObject, *, unique_name: str = ""
    ) -> JsonObject | None:
        """Create an object; with a unique name, unless Graph has an object of the name.

        A repeated request, or one whose response was lost, then creates no second
        object. Returns the object. Returns None if it existed: it then has the
        properties of the body, and `keyed` reads it.
        """
        method, path = "POST", f"{_ROOT}/{of.name}"
        headers = NO_HEADERS
        if unique_name:
            method, path = "PATCH", f"{path}(uniqueName='{unique_name}')"
            headers = {"Prefer": "create-if-missing"}
        url = self.endpoint.address(path)
        answer = self._send(method, url, body=body, headers=headers)
        if answer.status == 204:
            return None
        created = stated_object(answer, method=method, url=url)
        _check_entry(of, answer, created, method=method, url=url)
        return created

    def update(self, of: DirectoryCollection, id_: str, changes: JsonObject) -> None:
        """Write the given properties of an object."""
        url = self.endpoint.address(f"{_ROOT}/{of.name}/{id_}")
        self._send("PATCH", url, body=changes)

    def delete(self, of: DirectoryCollection, id_: str) -> None:
        """Delete an object; an object that does not exist counts as deleted."""
        url = self.endpoint.address(f"{_ROOT}/{of.name}/{id_}")
        self._unless_absent("DELETE", url)

    def linked(self, group_id: str, link: GroupLink) -> list[str]:
        """Return the object ids of a group's members or owners of every type, in lower
        case, in Graph's order.

        A list that cannot be read to its end raises an error; a shorter list is never
        returned. But Graph leaves out members if the group's membership is hidden and
        the application lacks Member.Read.Hidden.
        """
        path = f"{_LISTS}/{GROUPS.name}/{group_id}/{link}"
        found: dict[str, None] = {}
        for answer, url, entry in self._list(path, {"$select": "id", "$top": _PAGE}):
            _check_id(answer, entry, method="GET", url=url)
            found[entry["id"].lower()] = None
        return list(found)

    def add(self, group_id: str, link: GroupLink, object_id: str) -> bool:
        """Add a member or owner; return false if it was one already.

        Raises ArmError 404 if Graph does not know the object, or does not know the
        group yet.
        """
        url = self.endpoint.address(f"{_ROOT}/groups/{group_id}/{link}/$ref")
        try:
            self._send("POST", url, body={"@odata.id": self.reference(object_id)})
        except ArmError as error:
            if not _is_there_already(error):
                raise
            return False
        return True

    def remove(self, group_id: str, link: GroupLink, object_id: str) -> None:
        """Remove a member or owner, if it is one."""
        path = f"{_ROOT}/groups/{group_id}/{link}/{object_id}/$ref"
        self._unless_absent("DELETE", self.endpoint.address(path))

    def reference(self, object_id: str) -> str:
        """Return the form in which a request names an object of the directory."""
        return self.endpoint.address(f"{_ROOT}/directoryObjects/{object_id}")

    def close(self) -> None:
        """Close all connections; the client cannot be used afterwards."""
        self._pipeline.close()

    def _one(
        self, of: DirectoryCollection, path: str, member: str, value: str
    ) -> JsonObject | None:
        """Return the object at a path below the collection. member, value: identify
        the object.
        """
        url = self.endpoint.address(
            f"{_ROOT}/{of.name}{path}", query={"$select": of.selected}
        )
        answer = self._unless_absent("GET", url)
        if answer is None:
            return None
        entry = stated_object(answer, method="GET", url=url)
        _check_entry(of, answer, entry, method="GET", url=url)
        if str(entry.get(member)).lower() != value.lower():
            message = f"the answer shows another {of.noun}{PERHAPS_A_PROXY}"
            raise protocol_fault(answer, message, method="GET", url=url)
        return entry

    def _list(
        self, path: str, query: Mapping[str, str]
    ) -> Iterator[tuple[ArmResponse, str, JsonObject]]:
        """Yield each entry, with its answer and that answer's URL."""
        url = self.endpoint.address(path, query=query)
        paging = Paging(self.endpoint, url, link=_NEXT_LINK, needs_value=True)
        while url := paging.url:
            answer = self._send("GET", url)
            for entry in paging.turn(answer):
                yield answer, url, entry

    def _unless_absent(self, method: str, url: str) -> ArmResponse | None:
        """Return the response; None if Graph says that the object does not exist."""
        try:
            return self._send(method, url)
        except ArmError as error:
            if is_absent(error):
                return None
            raise

    def _send(
        self,
        method: str,
        url: str,
        *,
        body: JsonObject | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> ArmResponse:
        request_id = random_id()
        answer = self._pipeline.send(
            method,
            url,
            body=body,
            # Graph's logs have the request by this id, and its answer repeats it.
            headers={"client-request-id": request_id, **headers},
            client_request_id=request_id,
        )
        if answer.status >= 300 or answer.is_foreign:
            raise parse_fault(answer, method=method, url=url, now=self._clock.now())
        return answer


def is_absent(error: ArmError) -> bool:
    """Return whether Graph itself says that the object does not exist, not a proxy's
    404.
    """
    return error.is_not_found and _ABSENT in (error.code, *error.codes)


def is_taken(error: ArmError) -> bool:
    """Return whether Graph has another object with a value that no two may have."""
    return _TAKEN in (error.code, *error.codes)


def _check_entry(
    of: DirectoryCollection,
    answer: ArmResponse,
    entry: JsonObject,
    *,
    method: str,
    url: str,
) -> None:
    """Check that an answer is an object of the collection. Raises ArmError if not."""
    _check_id(answer, entry, method=method, url=url)
    if problem := of.problem_of(entry):
        message = f"the answer shows no {of.noun}: {problem}{PERHAPS_A_PROXY}"
        raise protocol_fault(answer, message, method=method, url=url)


def _check_id(answer: ArmResponse, entry: JsonObject, *, method: str, url: str) -> None:
    """Check the id of an entry, which becomes a segment of paths and must not contain
    further segments. Raises ArmError.
    """
    id_ = entry.get("id")
    if not isinstance(id_, str) or not OBJECT_ID.fullmatch(id_):
        message = f"the answer shows an entry without its id{PERHAPS_A_PROXY}"
        raise protocol_fault(answer, message, method=method, url=url)


def _folded(name: str | None) -> str:
    """Return a display name in the form in which Graph may compare it: letters without
    case and accents.
    """
    plain = unicodedata.normalize("NFKD", name or "").casefold()
    return "".join(c for c in plain if not unicodedata.combining(c)).strip()


def _is_there_already(error: ArmError) -> bool:
    return (
        error.status == 400
        and error.code == _BAD_REQUEST
        and _THERE_ALREADY in error.message
    )
