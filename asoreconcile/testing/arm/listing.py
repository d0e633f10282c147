"""Lists in pages: whole bodies of a type, or the headers of all resources (Q1-Q3)."""

import re
import urllib.parse
from collections.abc import Sequence
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.refusals import RefusedError, answer
from asoreconcile.testing.arm.resources import ArmResource, Resources
from asoreconcile.testing.arm.scopes import Scopes
from asoreconcile.testing.arm.views import Views
from asoreconcile.testing.http import HttpRequest, HttpResponse

_HEADERS = re.compile(
    r"^(/subscriptions/[^/]+(/resourcegroups/[^/]+)?)/resources$", re.IGNORECASE
)
_GROUPS = re.compile(r"^(/subscriptions/[^/]+)/resourcegroups$", re.IGNORECASE)
_SUBSCRIPTIONS = re.compile(r"^/subscriptions(/[^/]+)?$", re.IGNORECASE)
_OF_TYPE = re.compile(r"^resourceType eq '([^']+)'$", re.IGNORECASE)
_TOKEN = "$skiptoken"


class ListHandler:
    """The answers to list requests. The caller holds the server's lock."""

    def __init__(
        self,
        url: str,
        resources: Resources,
        views: Views,
        scopes: Scopes,
        *,
        page_size: int,
    ) -> None:
        """Make the handler.

        page_size: number of entries on a page; 0 means all on one page.
        """
        self._url = url
        self._scopes = scopes
        self._resources = resources
        self._views = views
        self._page_size = page_size

    def handle(self, path: str, request: HttpRequest) -> HttpResponse:
        """Return one page. Raises RefusedError 400, and 404 for a missing parent."""
        if match := _SUBSCRIPTIONS.match(path):
            return self._subscriptions(match[1], request)
        if match := _HEADERS.match(path):
            self._scopes.check_group(match[1])
            found = self._of_type(match[1], request.query.get("$filter", ""))
            return self._page([_header(r, self._views) for r in found], request)
        self._scopes.check_collection(path)
        if match := _GROUPS.match(path):
            prefix = f"{match[1].lower()}/"
            found = [
                r
                for r in self._resources
                if r.address.is_group and r.address.key.startswith(prefix)
            ]
        else:
            found = self._resources.listed(path)
        return self._page([self._views.body(r) for r in found], request)

    def _subscriptions(self, one: str | None, request: HttpRequest) -> HttpResponse:
        if one is None:
            shown = [_subscription(id_) for id_ in self._scopes.subscriptions()]
            return self._page(shown, request)
        self._scopes.check_group(f"/subscriptions{one}")
        return answer(200, _subscription(one.strip("/")))

    def _of_type(self, scope: str, filter_: str) -> list[ArmResource]:
        match = _OF_TYPE.match(filter_)
        if filter_ and match is None:
            raise RefusedError(
                400, "InvalidFilterInQueryString", f"Invalid $filter '{filter_}'."
            )
        type_ = match[1].lower() if match else ""
        return [
            resource
            for resource in self._resources
            if resource.address.key.startswith(f"{scope.lower()}/")
            and resource.body.get("location")
            and not resource.address.is_group
            and type_ in ("", resource.address.type)
        ]

    def _page(
        self, entries: Sequence[JsonObject], request: HttpRequest
    ) -> HttpResponse:
        size = self._page_size or max(len(entries), 1)
        begin = _number(request.query.get(_TOKEN, "0"))
        page: dict[str, Any] = {"value": list(entries[begin : begin + size])}
        if begin + size < len(entries):
            query = {**request.query, _TOKEN: str(begin + size)}
            path, _, _ = request.target.partition("?")
            page["nextLink"] = f"{self._url}{path}?{urllib.parse.urlencode(query)}"
        return answer(200, page)


def _subscription(id_: str) -> JsonObject:
    return {
        "id": f"/subscriptions/{id_}",
        "subscriptionId": id_,
        "displayName": "Simulated",
        "state": "Enabled",
    }


def _number(text: str) -> int:
    if not text.isdigit():
        raise RefusedError(
            400, "InvalidSkipToken", "The skip token is not one of ours."
        )
    return int(text)


def _header(resource: ArmResource, views: Views) -> JsonObject:
    body = views.body(resource)
    return {
        "id": body["id"],
        "name": resource.address.name,
        "type": resource.address.type_name,
        "location": body.get("location"),
        "tags": body.get("tags"),
        "createdTime": resource.created_at,
        "changedTime": resource.changed_at,
        "provisioningState": resource.state or "Succeeded",
    }
