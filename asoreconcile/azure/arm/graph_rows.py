"""Azure Resource Graph: the resources of one type in a subscription, by one query.

It has one index over all groups, so one query replaces many lists. It lags behind ARM,
has api-versions of its own and knows few nested types. Trouble with it never fails a
sync, as the caller can always ask ARM instead (`NotAnsweredError`). Rules: Q4, Q9.
"""

import re
import threading
from collections.abc import Iterator, Mapping

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.bulk_sources import BulkReader, Wanted
from asoreconcile.azure.arm.collections import CollectionAddress, collection_of
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, RetryError
from asoreconcile.base.objects import JsonObject

RESOURCE_GRAPH = "/providers/Microsoft.ResourceGraph/resources"
API_VERSION = "2022-10-01"
# For so long after a change rows are not trusted. Microsoft states no limit; changes
# mostly arrive within a minute.
LAG_SECONDS = 300.0
_ROWS_A_PAGE = 1000
# A bound for the pages of one query, also against pages that repeat.
_MOST_PAGES = 200
_QUOTA_SECONDS = 5.0
# The quota's window is 5 seconds long: a longer reset is an error, and must not stop
# queries for days.
_MOST_ASKED_SECONDS = 3600.0
_UNREACHED_SECONDS = 60.0
_ASKED_AGAIN_AFTER_SECONDS = 900.0
_COLUMNS = (
    "id, name, type, kind, location, managedBy, sku, plan, properties, tags, identity, "
    "zones, extendedLocation"
)
_TYPE = re.compile(r"[a-z0-9.]+(/[a-z0-9-]+)+")
_GROUP = re.compile(r"[\w.()-]{1,90}")
_SPAN = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})")


class NotAnsweredError(AsoreconcileError):
    """Resource Graph does not answer now: read from ARM, and query again after the
    delay.
    """

    def __init__(self, message: str, *, after_seconds: float) -> None:
        self.after_seconds = after_seconds
        super().__init__(message)


class GraphRows:
    """Queries, within each principal's quota. Safe from any thread."""

    name = "Rows of Resource Graph"
    lag_seconds = LAG_SECONDS
    can_narrow = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._closed_until: dict[str, float] = {}

    def address(self, arm_id: str) -> CollectionAddress | None:
        """One list for all resources of a type in a subscription; None if rows are not
        reliable: for groups, resources at another one's scope, and names that cannot be
        in a query.
        """
        found = collection_of(arm_id)
        if found is None or not _TYPE.fullmatch(found.arm_type):
            return None
        parsed = ids.parse(arm_id)
        group = (parsed.resource_group or "").lower()
        if ids.is_resource_group(parsed) or not _GROUP.fullmatch(group):
            return None
        path = f"/subscriptions/{parsed.subscription_id}/{found.arm_type}"
        return CollectionAddress(path, found.arm_type, group)

    def pages(self, client: BulkReader, wanted: Wanted) -> Iterator[list[JsonObject]]:
        """Rows, a thousand a page. Blocks; raises NotAnsweredError, for a truncated
        answer too, and CredentialError.
        """
        subscription = ids.subscription_of(wanted.address.path) or ""
        asked = request_of(subscription, wanted.address.arm_type, sorted(wanted.groups))
        seen: set[str] = set()
        while True:
            answer = self._asked(client, wanted.credential, asked)
            yield rows_of(answer)
            token = answer.get("$skipToken")
            if not token:
                if str(answer.get("resultTruncated", "false")).lower() != "false":
                    raise _unfit("its answer is cut short")
                return
            if not isinstance(token, str) or token in seen or len(seen) >= _MOST_PAGES:
                raise _unfit("its pages do not end")
            seen.add(token)
            options = {**asked["options"], "$skipToken": token}
            asked = {**asked, "options": options}

    def _asked(
        self, client: BulkReader, credential: str, asked: JsonObject
    ) -> JsonObject:
        with self._lock:
            wait = self._closed_until.get(credential, 0.0) - self._clock.monotonic()
        if wait > 0:
            raise NotAnsweredError(
                "the quota of Azure Resource Graph is used up", after_seconds=wait
            )
        try:
            answer, headers = client.query(RESOURCE_GRAPH, API_VERSION, asked)
        except RetryError as held:
            raise NotAnsweredError(
                str(held), after_seconds=held.after_seconds
            ) from held
        except ArmTransportError as error:
            raise NotAnsweredError(
                str(error), after_seconds=_UNREACHED_SECONDS
            ) from error
        except ArmError as error:
            seconds = _ASKED_AGAIN_AFTER_SECONDS
            if error.is_throttled:
                seconds = error.retry_after_seconds or _QUOTA_SECONDS
                self._close(credential, seconds)
            raise NotAnsweredError(str(error), after_seconds=seconds) from error
        if headers.get("x-ms-user-quota-remaining", "").strip() == "0":
            self._close(credential, quota_resets_after(headers))
        return answer

    def _close(self, credential: str, seconds: float) -> None:
        with self._lock:
            self._closed_until[credential] = self._clock.monotonic() + seconds


def request_of(subscription: str, arm_type: str, groups: list[str]) -> JsonObject:
    """The query's body. Pure. Rows come in the order of their ids: pages need one.

    arm_type, groups: from `GraphRows.address`, which rejects quotes.
    """
    where = f"type =~ '{arm_type}'"
    if groups:
        names = ", ".join(f"'{group}'" for group in groups)
        where += f" and resourceGroup in~ ({names})"
    query = f"resources | where {where} | project {_COLUMNS} | order by id asc"
    return {
        "subscriptions": [subscription],
        "query": query,
        "options": {"resultFormat": "objectArray", "$top": _ROWS_A_PAGE},
    }


def rows_of(answer: JsonObject) -> list[JsonObject]:
    """The rows on one page. Pure. Raises NotAnsweredError for a malformed page."""
    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise _unfit("its answer holds no rows")
    return data


def quota_resets_after(headers: Mapping[str, str]) -> float:
    """Seconds, from `x-ms-user-quota-resets-after` (hh:mm:ss); an hour at most. Pure.

    headers: keys lower-case. An unreadable value counts as one window.
    """
    text = headers.get("x-ms-user-quota-resets-after", "")
    if (match := _SPAN.fullmatch(text.strip())) is None:
        return _QUOTA_SECONDS
    hours, minutes, seconds = map(int, match.groups())
    return min(float(hours * 3600 + minutes * 60 + seconds), _MOST_ASKED_SECONDS)


def _unfit(reason: str) -> NotAnsweredError:
    return NotAnsweredError(
        f"Resource Graph: {reason}", after_seconds=_ASKED_AGAIN_AFTER_SECONDS
    )
