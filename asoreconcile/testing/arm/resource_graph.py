"""Azure Resource Graph: an index of ARM's resources that answers queries (Q4).

One form of query is understood: `resources`, filtered by type and resource groups, with
columns and an order. Rows lag behind writes and have the values in lower case that
Azure lowers. Rows contain neither version tags nor nested types. A page has a thousand
rows, and each principal has a quota of 15 queries in five seconds.
"""

import re
import uuid
from collections.abc import Callable
from typing import Any

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.lag import Lag
from asoreconcile.testing.arm.refusals import RefusedError, answer
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.views import Views
from asoreconcile.testing.http import HttpResponse

PATH = "/providers/microsoft.resourcegraph/resources"
_WINDOW_SECONDS = 5.0
_QUERY = re.compile(
    r"^\s*resources\s*\|\s*where\s+type\s*=~\s*'([^']+)'"
    r"(?:\s+and\s+resourceGroup\s+in~\s*\(([^)]*(?:'[^']*'[^)]*)*)\))?"
    r"\s*\|\s*project\s+([\w, ]+?)"
    r"\s*\|\s*order\s+by\s+id\s+asc\s*$",
    re.IGNORECASE,
)
_NAME = re.compile(r"'([^']*)'")


@attrs.define
class _Quota:
    left: int
    resets_at: float


class ResourceGraph:
    """The answers to queries. The caller holds the server's lock.

    lag: delay of the index behind ARM.
    queries: number of queries that a principal may send in one window.
    page_size: number of rows on a page.
    is_truncating: if true, the result ends after the first page, without a token.
    edit: changes a row, for example as another api-version would show it.
    """

    def __init__(self, clock: Clock, resources: Resources, views: Views) -> None:
        self.lag = Lag(clock, 0.0)
        self.queries = 15
        self.page_size = 1000
        self.is_truncating = False
        self.edit: Callable[[JsonObject], None] = lambda _row: None
        self._clock = clock
        self._resources = resources
        self._views = views
        self._quotas: dict[str, _Quota] = {}
        self._pages: dict[str, tuple[JsonObject, int]] = {}

    def handle(self, body: JsonObject, principal: str) -> HttpResponse:
        """Return one page of a query's result.

        Raises RefusedError 400 if the query is not understood, and 429 if the
        principal's quota is used up.
        """
        headers = self._take(principal)
        options = body.get("options") or {}
        rows = self._rows(body)
        begin = self._begin(body, str(options.get("$skipToken") or ""))
        size = min(int(options.get("$top") or self.page_size), self.page_size)
        page = rows[begin : begin + size]
        is_more = begin + size < len(rows)
        shown: JsonObject = {
            "totalRecords": len(rows),
            "count": len(page),
            "data": page,
            "facets": [],
            "resultTruncated": "true" if is_more and self.is_truncating else "false",
        }
        if is_more and not self.is_truncating:
            token = str(uuid.uuid4())
            self._pages[token] = (_without_token(body), begin + size)
            shown["$skipToken"] = token
        return answer(200, shown, headers)

    def _rows(self, body: JsonObject) -> list[JsonObject]:
        query = str(body.get("query") or "")
        if (match := _QUERY.match(query)) is None:
            raise RefusedError(
                400, "BadRequest", f"Please provide a valid query: {query!r}"
            )
        type_, columns = match[1].lower(), [c.strip() for c in match[3].split(",")]
        groups = {name.lower() for name in _NAME.findall(match[2] or "")}
        subscriptions = {str(s).lower() for s in body.get("subscriptions") or ()}
        found = [
            _row(address, shown)
            for address, shown in self._indexed()
            if address.type == type_
            and address.subscription.lower() in subscriptions
            and (not groups or address.group_name.lower() in groups)
        ]
        for row in found:
            self.edit(row)
        found.sort(key=lambda row: str(row["id"]).lower())
        return [{name: row.get(name) for name in columns} for row in found]

    def _indexed(self) -> list[tuple[ArmAddress, JsonObject]]:
        """Return the resources that the index contains now, in the form of
        that time.
        """
        late = self.lag.all_shown()
        found = [
            (resource.address, self._views.body(resource))
            for resource in self._resources
            if resource.address.key not in late
        ]
        for key, before in late.items():
            address = parse(str(before.body["id"])) if before.body else parse(key)
            if before.body is not None and address is not None:
                found.append((address, before.body))
        # Only types of one level are in this table. Groups have a table of their own.
        return [(a, b) for a, b in found if len(a.names) == 1 and not a.is_group]

    def _begin(self, body: JsonObject, token: str) -> int:
        if not token:
            return 0
        asked, begin = self._pages.get(token, ({}, 0))
        if asked != _without_token(body):
            raise RefusedError(400, "BadRequest", "The skip token is of another query.")
        return begin

    def _take(self, principal: str) -> dict[str, str]:
        now = self._clock.monotonic()
        quota = self._quotas.get(principal)
        if quota is None or now >= quota.resets_at:
            quota = _Quota(self.queries, now + _WINDOW_SECONDS)
            self._quotas[principal] = quota
        after = max(1, round(quota.resets_at - now))
        headers = {"x-ms-user-quota-resets-after": f"00:00:{after:02d}"}
        if quota.left <= 0:
            raise RefusedError(
                429,
                "RateLimiting",
                "Please provide below info when asking for support.",
                headers={
                    **headers,
                    "x-ms-user-quota-remaining": "0",
                    "Retry-After": str(after),
                },
            )
        quota.left -= 1
        return {**headers, "x-ms-user-quota-remaining": str(quota.left)}


def _row(address: ArmAddress, body: JsonObject) -> JsonObject:
    row: dict[str, Any] = {
        "name": address.name,
        "kind": "",
        "resourceGroup": address.group_name.lower(),
        "subscriptionId": address.subscription,
        **{n: v for n, v in body.items() if n not in ("etag", "systemData")},
    }
    row["type"] = address.type
    return row


def _without_token(body: JsonObject) -> JsonObject:
    options = {
        n: v for n, v in (body.get("options") or {}).items() if n != "$skipToken"
    }
    return {**body, "options": options}
