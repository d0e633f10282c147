"""The verbs of the REST API on one target: read, create, replace, patch, delete.

Each function returns the answer to a request, and raises StatusError to refuse.
"""

from collections.abc import Callable
from typing import Any

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, ObjectKey, metadata
from asoreconcile.testing.http import HttpRequest, HttpResponse
from asoreconcile.testing.kube.access.attributes import is_true
from asoreconcile.testing.kube.access.entry import AccessControl
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.fields import patches
from asoreconcile.testing.kube.kinds import workloads
from asoreconcile.testing.kube.kinds.resources import RestResource
from asoreconcile.testing.kube.kinds.targets import RequestTarget
from asoreconcile.testing.kube.reading import listing, watching
from asoreconcile.testing.kube.reading.reads import FORMS, ObjectRenderer, Reads
from asoreconcile.testing.kube.store.storage import Storage
from asoreconcile.testing.kube.wire import answers, bodies, complaints
from asoreconcile.testing.kube.wire.status import (
    JSON_TYPE,
    PageNotFoundError,
    StatusError,
    bad_request,
    method_not_allowed,
    not_supported,
    unsupported_media_type,
)
from asoreconcile.testing.kube.writing import scale
from asoreconcile.testing.kube.writing.deletion import Deletions
from asoreconcile.testing.kube.writing.options import (
    DeleteOptions,
    delete_options,
    write_options,
)
from asoreconcile.testing.kube.writing.podparts import PodParts
from asoreconcile.testing.kube.writing.writes import WriteHandler, Written

_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
_STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
_BUILT_IN_PATCHES = (_JSON_PATCH, _MERGE_PATCH, _STRATEGIC_PATCH, _APPLY_PATCH)
_CUSTOM_PATCHES = (_JSON_PATCH, _MERGE_PATCH, _APPLY_PATCH)
_SCALE = "scale"
_GRACE = "gracePeriodSeconds"
_MAP = "map[string]interface {}"


class ApiEndpoints:
    """The answers to requests about objects. Safe to use from any thread."""

    def __init__(
        self,
        storage: Storage,
        deletions: Deletions,
        writes: WriteHandler,
        clock: Clock,
        access: AccessControl,
    ) -> None:
        self._storage = storage
        self._deletions = deletions
        self._writes = writes
        self._reads = Reads(storage)
        self._clock = clock
        self._access = access
        self._pod_parts = PodParts(storage, writes, deletions, clock)

    def answer(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        """Return the answer to a request about a target."""
        named = bool(target.name)
        match request.method:
            case "GET" | "HEAD":
                return self._read(request, target)
            case "POST" if target.subresource in target.resource.parts:
                return self._post_part(request, target, user)
            # Custom resources accept a name in the path and ignore it. Built-in kinds
            # answer 405.
            case "POST" if target.resource.is_custom and not target.subresource:
                return self._create(request, target, user)
            case "POST" if not named:
                return self._create(request, target, user)
            case "PUT" if named:
                return self._replace(request, target, user)
            case "PATCH" if named:
                return self._patch(request, target, user)
            case "DELETE" if named and not target.subresource:
                return self._delete(request, target, user)
            case "DELETE" if not named:
                return self._delete_collection(request, target, user)
            case "PUT" | "PATCH" if target.resource.is_custom:
                raise bad_request("name must be provided")
        if target.resource.is_custom:
            resource = target.resource
            raise not_supported(request.method, resource.plural, resource.group)
        raise method_not_allowed()

    def _read(self, request: HttpRequest, target: RequestTarget) -> HttpResponse:
        renderer, sort = self._renderer(request, target)
        query = request.query
        if is_true(query, "watch"):
            watch = watching.asked(query, target, renderer)
            lines = watching.lines(self._storage, watch)
            return HttpResponse(200, lines, {"Content-Type": JSON_TYPE})
        if not target.name:
            return answers.document(
                200, self._reads.page(target.namespace, query, renderer), sort
            )
        obj = self._reads.get(target.resource, target.key, query)
        if target.subresource == _SCALE:
            return answers.document(200, scale.read(target.resource, obj), sort)
        return answers.document(200, renderer.one(obj), sort)

    def _create(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        resource = target.resource
        if resource.namespaced and not target.namespace:
            if resource.is_custom:
                raise PageNotFoundError
            raise method_not_allowed()
        options = write_options(request, "Create", user=user)
        body = bodies.read(request, resource.kind, built_in=not resource.is_custom)
        written = self._writes.create(
            resource,
            target.namespace,
            body.obj,
            attrs.evolve(options, repeated=body.repeated),
        )
        return self._written(request, target, written)

    def _post_part(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        options = write_options(request, "Create", user=user)
        kind = target.subresource.title()
        body = bodies.read(request, kind, built_in=True)
        answer = self._pod_parts.post(
            target.resource, target.key, target.subresource, body.obj, options
        )
        return answers.document(201, answer, self._renderer(request, target)[1])

    def _replace(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        resource = target.resource
        options = write_options(request, "Update", user=user)
        body = bodies.read(request, resource.kind, built_in=not resource.is_custom)
        options = attrs.evolve(options, repeated=body.repeated)
        if target.subresource == _SCALE:
            written = self._writes.patch(
                resource,
                target.key,
                lambda before: scale.written(resource, before, body.obj),
                options,
                subresource=_SCALE,
            )
        else:
            written = self._writes.replace(
                resource,
                target.key,
                body.obj,
                options,
                subresource=target.subresource,
            )
        return self._written(request, target, written)

    def _patch(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        resource = target.resource
        sort = bodies.media_type(request)
        allowed = _CUSTOM_PATCHES if resource.is_custom else _BUILT_IN_PATCHES
        if sort not in allowed:
            raise unsupported_media_type(allowed)
        applies = sort == _APPLY_PATCH
        options = write_options(request, "Patch", user=user, applies=applies)
        patch = _document(request, sort)
        if applies and target.subresource != _SCALE:
            if self._storage.get(resource.table, target.key) is None:
                # An apply that creates an object needs both verbs. Otherwise a user
                # with the verb patch alone could create objects.
                self._access.check_may_create(user, request)
            written = self._writes.apply(
                resource,
                target.key,
                _as_configuration(patch),
                options,
                subresource=target.subresource,
            )
            return self._written(request, target, written)
        change = _change(sort, patch, _merged_by(resource))
        if target.subresource == _SCALE:
            change = _scaled(target, change)
        written = self._writes.patch(
            resource, target.key, change, options, subresource=target.subresource
        )
        return self._written(request, target, written)

    def _written(
        self, request: HttpRequest, target: RequestTarget, written: Written
    ) -> HttpResponse:
        renderer, sort = self._renderer(request, target)
        if target.subresource == _SCALE:
            shown = scale.read(target.resource, written.obj)
        else:
            shown = renderer.one(written.obj)
        code = 201 if written.created else 200
        return answers.warned(answers.document(code, shown, sort), written.warnings)

    def _delete(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        options = _delete_options(request, user)
        resource = target.resource
        renderer, sort = self._renderer(request, target)
        obj, gone = self._deletions.delete(resource, target.key, options)
        if not gone:
            return answers.document(200, renderer.one(obj), sort)
        details: JsonObject = {"name": target.name}
        if resource.group:
            details["group"] = resource.group
        # The plural is in the field `kind`, as in the real server's answer.
        details |= {"kind": resource.plural, "uid": metadata(obj)["uid"]}
        done: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }
        return answers.document(200, done, sort)

    def _delete_collection(
        self, request: HttpRequest, target: RequestTarget, user: User
    ) -> HttpResponse:
        """Delete the chosen objects; return them as they were before."""
        options = _delete_options(request, user)
        renderer, sort = self._renderer(request, target)
        listed = self._reads.page(target.namespace, request.query, renderer)
        for key in self._reads.keys(target.namespace, request.query, target.resource):
            self._delete_one(target, key, options)
        return answers.document(200, listed, sort)

    def _delete_one(
        self, target: RequestTarget, key: ObjectKey, options: DeleteOptions
    ) -> None:
        try:
            self._deletions.delete(target.resource, key, options)
        except StatusError as error:
            # Other clients may delete objects at the same time. An object that is
            # already gone needs no deletion.
            if error.code != 404:  # another client may have deleted it
                raise

    def _renderer(
        self, request: HttpRequest, target: RequestTarget
    ) -> tuple[ObjectRenderer, str]:
        chosen = answers.chosen(request.headers.get("accept", ""))
        renderer = ObjectRenderer(
            target.resource,
            FORMS.get(chosen.form, "whole"),
            self._clock,
            rows=request.query.get("includeObject") or "Metadata",
            version=chosen.form_version,
        )
        return renderer, chosen.content_type


def _delete_options(request: HttpRequest, user: User) -> DeleteOptions:
    """Return the options of a deletion. Any integer is accepted as grace period, also
    below 0.
    """
    if not request.body and (text := request.query.get(_GRACE)) is not None:
        if not text:
            raise bad_request('strconv.ParseInt: parsing "": invalid syntax')
        listing.number(request.query, _GRACE)
    return delete_options(request, user=user)


def _document(request: HttpRequest, sort: str) -> Any:
    """Return the document in a patch's body."""
    try:
        return bodies.patch(request, is_yaml=sort == _APPLY_PATCH)
    except StatusError as error:
        if sort not in (_JSON_PATCH, _MERGE_PATCH) or error.code != 400:
            raise
        raise bad_request(f"error decoding patch: {error}") from error


def _merged_by(resource: RestResource) -> JsonObject | None:
    """Return the schema that says how strategic merge joins lists, or None."""
    if workloads.kind_facts(resource.group, resource.kind) is None:
        return None
    return workloads.schema_of_kind(resource.kind)


def _change(
    sort: str, patch: Any, schema: JsonObject | None
) -> Callable[[JsonObject], JsonObject]:
    """Return a function that applies a patch to an object."""
    if sort == _JSON_PATCH:
        operations = [] if patch is None else patch
        if not isinstance(operations, list):
            raise _undecodable(patch, "[]handlers.jsonPatchOp")
        for operation in operations:
            if not isinstance(operation, dict):
                raise _undecodable(operation, "handlers.jsonPatchOp")
        return lambda before: _as_object(patches.json_patch(before, operations))
    if sort == _STRATEGIC_PATCH:
        wanted = _as_strategic(patch)
        return lambda before: _as_object(patches.strategic(before, wanted, "", schema))
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    wanted = _as_object(patch)
    return lambda before: _as_object(patches.merge(before, wanted))


def _scaled(
    target: RequestTarget, change: Callable[[JsonObject], JsonObject]
) -> Callable[[JsonObject], JsonObject]:
    """Return the same change, applied to an object's Scale."""
    resource = target.resource
    return lambda before: scale.written(
        resource, before, change(scale.read(resource, before))
    )


def _as_object(found: Any) -> JsonObject:
    if not isinstance(found, dict):
        raise _undecodable(found, _MAP)
    return found


def _as_strategic(found: Any) -> JsonObject:
    if not isinstance(found, (dict, type(None))):
        raise bad_request(complaints.of_type(found, _MAP))
    return found or {}


def _as_configuration(found: Any) -> JsonObject:
    """Return the document of an apply."""
    if not isinstance(found, (dict, type(None))):
        why = f"while decoding JSON: {complaints.of_type(found, _MAP)}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: {why}")
    stated: JsonObject = found or {}
    if stated.get("metadata", stated) is None:  # null sets nothing, and owners stay
        return {name: value for name, value in stated.items() if name != "metadata"}
    return stated


def _undecodable(found: Any, wanted: str) -> StatusError:
    return bad_request(f"error decoding patch: {complaints.of_type(found, wanted)}")
