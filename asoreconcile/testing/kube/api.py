"""From a request to an answer: paths, bodies and verbs of the Kubernetes REST API."""

from collections.abc import Mapping
from typing import Any

import attrs
import orjson
import yaml

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject, ObjectKey, metadata
from asoreconcile.testing.http import Request, Response
from asoreconcile.testing.kube import (
    discovery,
    openapi,
    patches,
    watching,
)
from asoreconcile.testing.kube.deletion import Deletions
from asoreconcile.testing.kube.kinds import Kinds, Resource
from asoreconcile.testing.kube.reads import Dress, Reads, form_of
from asoreconcile.testing.kube.selectors import selected
from asoreconcile.testing.kube.status import (
    JSON_TYPE,
    StatusError,
    bad_request,
    method_not_allowed,
    unknown_path,
    unsupported_media_type,
)
from asoreconcile.testing.kube.storage import Storage
from asoreconcile.testing.kube.writes import WriteOptions, Writes, Written

VERSION: JsonObject = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0",
    "gitCommit": "0000000000000000000000000000000000000000",
    "gitTreeState": "clean",
    "buildDate": "2025-04-23T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "any",
}
_PATCHES = {
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
}
_OPEN_PATHS = {"/healthz", "/livez", "/readyz"}
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@attrs.frozen
class _Target:
    """What a path is about. name "": the collection."""

    resource: Resource
    namespace: str
    name: str
    subresource: str

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(self.namespace, self.name)


class Api:
    """Answers requests from one storage. Safe from any thread."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._kinds = Kinds(storage)
        self._deletions = Deletions(storage, clock)
        self.writes = Writes(storage, self._deletions, clock)
        self._reads = Reads(storage)

    def handle(self, request: Request) -> Response:
        """The answer, refusals included."""
        try:
            return self._route(request)
        except StatusError as error:
            return refusal(error)

    def _route(self, request: Request) -> Response:
        if request.path in _OPEN_PATHS:
            return Response(200, b"ok", {"Content-Type": "text/plain; charset=utf-8"})
        if request.path.rstrip("/") == _REVIEWS and request.method == "POST":
            return _json(201, {**_body(request), "status": {"allowed": True}})
        if (document := self._document(request)) is not None:
            if request.method != "GET":
                raise method_not_allowed()
            return document
        target = self._target(request.path)
        if target.subresource not in ("", "status"):
            raise unknown_path()
        if target.subresource and not target.resource.has_status:
            raise unknown_path()
        match request.method, bool(target.name):
            case "GET", _:
                return self._read(request, target)
            case "POST", named:
                return self._create(request, target, named=named)
            case "PUT", True:
                return self._replace(request, target)
            case "PATCH", True:
                return self._patch(request, target)
            case "DELETE", True:
                return self._delete(request, target)
            case "DELETE", False:
                return self._delete_collection(request, target)
        raise method_not_allowed()

    def _document(self, request: Request) -> Response | None:
        """Version, discovery and OpenAPI; None for the path of an object."""
        parts = [part for part in request.path.split("/") if part]
        accept = request.headers.get("accept", "")
        kinds = self._kinds
        match parts:
            case ["version"]:
                return _json(200, VERSION)
            case ["api" | "apis" as root] if discovery.is_aggregated(accept):
                found = discovery.aggregated(kinds, core=root == "api")
                return _json(200, found, discovery.AGGREGATED)
            case ["api"]:
                return _json(200, discovery.core_versions())
            case ["apis"]:
                return _json(200, discovery.groups(kinds))
            case ["apis", group]:
                return _json(200, discovery.group(kinds, group))
            case ["api", version]:
                return _json(200, discovery.resources(kinds, "", version))
            case ["apis", group, version]:
                return _json(200, discovery.resources(kinds, group, version))
            case ["openapi", "v2"]:
                return _json(200, openapi.v2(kinds))
            case ["openapi", "v3"]:
                return _json(200, openapi.v3_index(kinds))
            case ["openapi", "v3", *rest]:
                return _json(200, openapi.v3(kinds, "/".join(rest)))
        return None

    def _target(self, path: str) -> _Target:
        match [part for part in path.split("/") if part]:
            case ["api", version, *rest]:
                group = ""
            case ["apis", group, version, *rest]:
                pass
            case _:
                raise unknown_path()
        namespace = ""
        if rest[0] == "namespaces" and len(rest) >= 3:
            inside = self._kinds.find(group, version, rest[2])
            if inside is not None and inside.namespaced:
                namespace, rest = rest[1], rest[2:]
        if len(rest) > 3:
            raise unknown_path()
        plural, name, subresource = [*rest, "", "", ""][:3]
        resource = self._kinds.find(group, version, plural)
        if resource is None or (name and resource.namespaced and not namespace):
            raise unknown_path()
        return _Target(resource, namespace, name, subresource)

    def _dress(self, request: Request, target: _Target) -> Dress:
        form = form_of(request.headers.get("accept", ""))
        return Dress(target.resource, form, self._clock)

    def _read(self, request: Request, target: _Target) -> Response:
        dress = self._dress(request, target)
        if target.name:
            return _json(200, dress.one(self._reads.get(target.resource, target.key)))
        query = request.query
        if query.get("watch", "") in ("1", "true"):
            watch = watching.asked(query, target.namespace, dress)
            lines = watching.lines(self._storage, watch)
            return Response(200, lines, {"Content-Type": JSON_TYPE})
        return _json(200, self._reads.page(target.namespace, query, dress))

    def _create(self, request: Request, target: _Target, *, named: bool) -> Response:
        if named:
            # The real server's answer to a POST at an object's own path.
            resource, key = target.resource, target.key
            if target.subresource or self._storage.get(resource.table, key) is None:
                raise method_not_allowed()
            raise StatusError(
                409, "AlreadyExists", f'{resource.plural} "{key.name}" already exists'
            )
        if target.resource.namespaced and not target.namespace:
            raise method_not_allowed()
        written = self.writes.create(
            target.resource, target.namespace, _body(request), _options(request)
        )
        return self._answer(request, target, written)

    def _replace(self, request: Request, target: _Target) -> Response:
        written = self.writes.replace(
            target.resource,
            target.key,
            _body(request),
            _options(request),
            subresource=target.subresource,
        )
        return self._answer(request, target, written)

    def _patch(self, request: Request, target: _Target) -> Response:
        resource, key, options = target.resource, target.key, _options(request)
        sort = _content_type(request)
        allowed = sorted(_PATCHES)
        if resource.is_custom:
            allowed.remove("application/strategic-merge-patch+json")
        if sort not in allowed:
            raise unsupported_media_type(sort, allowed)
        if sort == "application/apply-patch+yaml":
            if "fieldManager" not in request.query:
                raise bad_request(
                    "PatchOptions.meta.k8s.io is invalid: fieldManager: Required value:"
                    " is required for apply patch"
                )
            written = self.writes.apply(
                resource, key, _body(request), options, subresource=target.subresource
            )
            return self._answer(request, target, written)
        patch = _decoded(request.body)

        def change(before: JsonObject) -> JsonObject:
            if sort == "application/json-patch+json":
                if not isinstance(patch, list):
                    raise bad_request("a JSON patch is a list of operations")
                return _as_object(patches.json_patch(before, patch))
            is_strategic = sort == "application/strategic-merge-patch+json"
            merge = patches.strategic if is_strategic else patches.merge
            return _as_object(merge(before, _as_object(patch)))

        written = self.writes.patch(
            resource, key, change, options, subresource=target.subresource
        )
        return self._answer(request, target, written)

    def _delete(self, request: Request, target: _Target) -> Response:
        options = _body(request) if request.body else {}
        resource = target.resource
        obj, gone = self._deletions.delete(
            resource,
            target.key,
            preconditions=options.get("preconditions") or {},
            propagation=_propagation(request, options),
            dry_run=_is_dry(request, options),
        )
        if not gone:
            return _json(200, self._dress(request, target).one(obj))
        details: JsonObject = {
            "name": target.name,
            "kind": resource.plural,
            "uid": metadata(obj)["uid"],
        }
        if resource.group:
            details["group"] = resource.group
        return _json(
            200,
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details,
            },
        )

    def _delete_collection(self, request: Request, target: _Target) -> Response:
        options = _body(request) if request.body else {}
        resource, query = target.resource, request.query
        matches = selected(
            query.get("labelSelector", ""),
            query.get("fieldSelector", ""),
            resource.kind,
        )
        deleted = []
        for key in self._reads.chosen(resource, target.namespace, matches):
            try:
                obj, _ = self._deletions.delete(
                    resource,
                    key,
                    preconditions={},
                    propagation=_propagation(request, options),
                    dry_run=_is_dry(request, options),
                )
            except StatusError as error:
                if error.code != 404:
                    raise
            else:
                deleted.append(obj)
        dress = Dress(resource, "whole", self._clock)
        meta = {"resourceVersion": str(self._storage.version)}
        return _json(200, dress.many(deleted, meta))

    def _answer(self, request: Request, target: _Target, written: Written) -> Response:
        shown = self._dress(request, target).one(written.obj)
        response = _json(201 if written.created else 200, shown)
        if not written.warnings:
            return response
        text = ", ".join(
            '299 - "' + warning.replace('"', '\\"') + '"'
            for warning in written.warnings
        )
        return attrs.evolve(response, headers={**response.headers, "Warning": text})


def refusal(error: StatusError) -> Response:
    """A Status object as an answer."""
    return _json(error.code, error.document)


def _json(status: int, document: JsonObject, content_type: str = JSON_TYPE) -> Response:
    return Response(status, orjson.dumps(document), {"Content-Type": content_type})


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def _body(request: Request) -> JsonObject:
    """The body's object. Raises StatusError 400 and 415."""
    sort = _content_type(request)
    accepted = [JSON_TYPE, "application/yaml", "application/apply-patch+yaml"]
    if sort and sort not in accepted:
        raise unsupported_media_type(sort, accepted[:2])
    return _as_object(_decoded(request.body))


def _decoded(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:
        pass  # not JSON; YAML says more, and is allowed
    try:
        return yaml.load(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        raise bad_request(
            "the object provided is unrecognized (must be of type JSON or YAML): "
            f"{error}"
        ) from error


def _as_object(document: Any) -> JsonObject:
    if not isinstance(document, dict):
        raise bad_request("the object provided is unrecognized: it is no JSON object")
    return document


def _options(request: Request) -> WriteOptions:
    query = request.query
    agent = request.headers.get("user-agent", "unknown")
    return WriteOptions(
        manager=query.get("fieldManager") or agent.split("/")[0],
        dry_run=_is_dry(request, {}),
        force=query.get("force", "") in ("1", "true"),
        field_validation=query.get("fieldValidation") or "Warn",
    )


def _is_dry(request: Request, options: Mapping[str, Any]) -> bool:
    return request.query.get("dryRun") == "All" or options.get("dryRun") == ["All"]


def _propagation(request: Request, options: Mapping[str, Any]) -> str:
    return str(
        options.get("propagationPolicy") or request.query.get("propagationPolicy") or ""
    )
