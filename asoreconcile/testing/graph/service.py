"""The endpoints of Microsoft Graph v1.0 that an operator calls.

    GET, POST                /groups                     $filter, $select, $top
    GET, PATCH               /groups(uniqueName='NAME')  Prefer: create-if-missing
    GET, PATCH, DELETE       /groups/ID
    GET                      /groups/ID/members          pages by @odata.nextLink
    POST                     /groups/ID/members/$ref
    DELETE                   /groups/ID/members/ID/$ref

Owners have the same endpoints as members. `applications` have those of groups, without
members; `servicePrincipals` too, with the key `appId` in place of `uniqueName`. The
behaviour follows Microsoft's reference: for example, POST creates a second group with
the same name, and lists of members leave service principals out, except in the version
`beta`.
"""

import re
import urllib.parse
from collections.abc import Sequence
from typing import Any, cast

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.graph.answers import (
    GraphRefusal,
    answer,
    bad_request,
    entity,
    not_found,
)
from asoreconcile.testing.graph.directory import (
    Directory,
    DirectoryEntry,
    GroupRelation,
)
from asoreconcile.testing.graph.properties import Collection
from asoreconcile.testing.http import HttpRequest, HttpResponse

_PATH = re.compile(
    r"^/(?P<version>v1\.0|beta)/(?P<of>groups|applications|servicePrincipals)"
    r"(?:\((?P<key>uniqueName|appId)='(?P<name>[^']*)'\)|/(?P<id>[^/()]+)"
    r"(?:/(?P<link>members|owners)(?:/(?P<object>[^/$]+))?(?P<ref>/\$ref)?)?)?$"
)
_FILTER = re.compile(
    r"^(?:(displayName|mailNickname|uniqueName|appId) eq|(tags)/any\(t:t eq) "
    r"'((?:[^']|'')*)'\)?$"
)
_SKIP = "$skiptoken"
_DEFAULT_PAGE, _MOST = 100, 999


class GraphService:
    """The endpoints over one directory. The caller holds the server's lock."""

    def __init__(self, directory: Directory, *, page_size: int) -> None:
        """Make the endpoints.

        page_size: largest number of entries on a page; if 0, as many as requested.
        """
        self.url = ""
        self._directory = directory
        self._page_size = page_size

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Return the answer to one request. Raises GraphRefusal."""
        match = _PATH.match(request.path)
        if match is None:
            segment = request.path.rpartition("/")[2]
            raise bad_request(f"Resource not found for the segment '{segment}'.")
        of = cast("Collection", match["of"])
        if match["name"] is not None:
            return self._keyed(request, of, match["key"], match["name"])
        if match["id"] is None:
            return self._collection(request, of)
        entry = self._directory.find(of, match["id"])
        if match["link"] is None:
            return self._entry(request, entry)
        link = cast("GroupRelation", match["link"])
        if not match["ref"] and not match["object"]:
            _only(request, "GET")
            shown = self._listed(entry, link, is_beta=match["version"] == "beta")
            return self._page("directoryObjects", shown, request)
        return self._linked(request, entry, link, match["object"] or "", match["ref"])

    def _collection(self, request: HttpRequest, of: Collection) -> HttpResponse:
        if request.method == "POST":
            entry = self._directory.create(_body(request), collection=of)
            return self._shown(201, entry, request)
        _only(request, "GET")
        found = self._filtered(of, request.query.get("$filter", ""))
        shown = [_selected(entry.properties, request) for entry in found]
        return self._page(of, shown, request)

    def _filtered(self, of: Collection, filter_: str) -> list[DirectoryEntry]:
        match = _FILTER.match(filter_)
        if filter_ and match is None:
            raise bad_request(f"Invalid filter clause: {filter_}")
        entries = list(self._directory.visible(of))
        if match is None:
            return entries
        name, value = match[1] or match[2], match[3].replace("''", "'").lower()

        def values(entry: DirectoryEntry) -> list[str]:
            found = entry.properties[name]
            listed = found if isinstance(found, list) else [found]
            return [str(one or "").lower() for one in listed]

        return [entry for entry in entries if value in values(entry)]

    def _keyed(
        self, request: HttpRequest, of: Collection, key: str, name: str
    ) -> HttpResponse:
        if request.method == "GET":
            entry = self._directory.keyed(of, key, name)
            if entry is None:
                raise not_found(name)
            return self._shown(200, entry, request)
        _only(request, "PATCH")
        body = _body(request)
        creates = "create-if-missing" in request.headers.get("prefer", "")
        entry = self._directory.keyed(of, key, name, as_writer=creates)
        if entry is not None:
            self._directory.update(entry, body)
            return answer(204)
        if not creates:
            raise not_found(name)
        if key == "appId":
            body = {**body, key: name}
        made = self._directory.create(
            body, collection=of, unique_name=name if key == "uniqueName" else None
        )
        return self._shown(201, made, request)

    def _entry(self, request: HttpRequest, entry: DirectoryEntry) -> HttpResponse:
        if request.method == "GET":
            return self._shown(200, entry, request)
        if request.method == "PATCH":
            self._directory.update(entry, _body(request))
        else:
            _only(request, "DELETE")
            self._directory.delete(entry)
        return answer(204)

    def _linked(
        self,
        request: HttpRequest,
        group: DirectoryEntry,
        link: GroupRelation,
        object_id: str,
        ref: str,
    ) -> HttpResponse:
        if ref and object_id:
            _only(request, "DELETE")
            self._directory.take_out(group, link, object_id)
            return answer(204)
        _only(request, "POST")
        reference = _body(request).get("@odata.id")
        self._directory.add(group, link, str(reference or ""))
        return answer(204)

    def _listed(
        self, group: DirectoryEntry, link: GroupRelation, *, is_beta: bool
    ) -> list[JsonObject]:
        """Return the members or owners that Graph shows.

        The simulated application lacks Member.Read.Hidden.
        """
        if link == "members" and group.properties["visibility"] == _HIDDEN:
            return []
        types = {id_: self._directory.type_of(id_) for id_ in group.linked(link)}
        return [
            {"@odata.type": f"#microsoft.graph.{type_}", "id": id_}
            for id_, type_ in types.items()
            if is_beta or type_ != "servicePrincipal"
        ]

    def _shown(
        self, status: int, entry: DirectoryEntry, request: HttpRequest
    ) -> HttpResponse:
        body = _selected(entry.properties, request)
        return answer(status, entity(self.url, entry.collection, body))

    def _page(
        self, set_: str, entries: Sequence[JsonObject], request: HttpRequest
    ) -> HttpResponse:
        asked = request.query.get("$top", str(_DEFAULT_PAGE))
        if not asked.isdigit() or not 1 <= int(asked) <= _MOST:
            raise bad_request(f"Invalid page size specified: '{asked}'.")
        size = min(int(asked), self._page_size or int(asked))
        begin = int(request.query.get(_SKIP, "0"))
        page: dict[str, Any] = {
            "@odata.context": f"{self.url}/v1.0/$metadata#{set_}",
            "value": list(entries[begin : begin + size]),
        }
        if begin + size < len(entries):
            query = {**request.query, _SKIP: str(begin + size)}
            path, _, _ = request.target.partition("?")
            more = urllib.parse.urlencode(query, safe="$")
            page["@odata.nextLink"] = f"{self.url}{path}?{more}"
        return answer(200, page)


_HIDDEN = "HiddenMembership"


def _selected(properties: JsonObject, request: HttpRequest) -> JsonObject:
    names = request.query.get("$select", "")
    if not names:
        return dict(properties)
    unknown = [name for name in names.split(",") if name not in properties]
    if unknown:
        raise bad_request(f"Could not find a property named '{unknown[0]}'.")
    return {name: properties[name] for name in names.split(",")}


def _body(request: HttpRequest) -> JsonObject:
    try:
        body = jsontext.loads(request.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise bad_request("Unable to read JSON request payload.")
    return body


def _only(request: HttpRequest, method: str) -> None:
    if request.method != method:
        raise GraphRefusal(
            405, "Request_BadRequest", "Specified HTTP method is not allowed."
        )
