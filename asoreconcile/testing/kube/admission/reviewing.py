"""Admission: each write is sent to the webhooks that match before it is stored.

Mutating webhooks come first, in the order of configuration names and then as listed.
Each sees the result of the one before. Then come policies, and then validating
webhooks. StatusError has the API server's wording.
"""

import base64
import binascii
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject, ObjectKey, spec
from asoreconcile.testing.kube.admission.policies import Bound, bound
from asoreconcile.testing.kube.admission.webhooks import (
    AdmissionWrite,
    Admitted,
    wanted,
)
from asoreconcile.testing.kube.fields import patches
from asoreconcile.testing.kube.kinds import versions
from asoreconcile.testing.kube.kinds.resources import (
    NAMESPACES,
    RestMapper,
    RestResource,
)
from asoreconcile.testing.kube.rules import conditions, policies
from asoreconcile.testing.kube.rules.authorizer import DecideAccess
from asoreconcile.testing.kube.store.storage import Storage, StorageTable
from asoreconcile.testing.kube.wire import deepjson
from asoreconcile.testing.kube.wire.hooks import HookError, Services
from asoreconcile.testing.kube.wire.status import StatusError

GROUP = "admissionregistration.k8s.io"
MUTATING = StorageTable(GROUP, "mutatingwebhookconfigurations")
VALIDATING = StorageTable(GROUP, "validatingwebhookconfigurations")
POLICIES = StorageTable(GROUP, "validatingadmissionpolicies")
BINDINGS = StorageTable(GROUP, "validatingadmissionpolicybindings")
_API_VERSION = "admission.k8s.io/v1"


class WebhookAdmission:
    """The calls to webhooks. Blocking: hold no lock. Safe to use from any thread."""

    def __init__(
        self,
        storage: Storage,
        services: Services,
        kinds: RestMapper,
        decide: DecideAccess,
    ) -> None:
        """Make the admission.

        decide: tells conditions what a user may do.
        """
        self._storage = storage
        self._services = services
        self._kinds = kinds
        self._decide = decide

    def admit(self, write: AdmissionWrite) -> Admitted:
        """Return the object to store, changed or not."""
        # Writes of webhook configurations are not sent to webhooks. Otherwise a broken
        # webhook could never be removed.
        if write.resource.group == GROUP:
            return Admitted(write.obj)
        mutating, validating = self._listed(MUTATING), self._listed(VALIDATING)
        bindings = self._objects(BINDINGS)
        # Nearly every write in tests ends here and skips the rest.
        if not mutating and not validating and not bindings:
            return Admitted(write.obj)
        write = attrs.evolve(write, versions=self._kinds.versions(write.resource))
        warnings: list[str] = []
        again: list[Mapping[str, Any]] = []
        for webhook in mutating:
            before = write.obj
            write = self._mutated(webhook, write, warnings)
            # A later webhook may change what an earlier one saw. Webhooks that ask for
            # it are called once more, and only once.
            if write.obj != before:
                again += [w for w in mutating[: mutating.index(webhook)] if _again(w)]
        for webhook in again:
            write = self._mutated(webhook, write, warnings)
        for policy in bound(
            self._objects(POLICIES), bindings, write, self._namespace(write)
        ):
            self._judge(policy, write, warnings)
        for webhook in validating:
            self._call(webhook, write, warnings)
        return Admitted(write.obj, tuple(warnings))

    def _objects(self, table: StorageTable) -> list[JsonObject]:
        return [obj for _, obj in self._storage.items(table)]

    def _listed(self, table: StorageTable) -> list[Mapping[str, Any]]:
        return [
            webhook
            for configuration in self._objects(table)
            for webhook in configuration.get("webhooks") or ()
        ]

    def _judge(self, policy: Bound, write: AdmissionWrite, warnings: list[str]) -> None:
        """Refuse a write that a policy denies. Raises StatusError."""
        found = policies.failures(
            spec(policy.policy),
            self._request(write, policy.version),
            self._namespace(write),
            write.user,
            self._decide,
        )
        if found and "Deny" in policy.actions:
            raise policy.denied(write, *found[0])
        if "Warn" in policy.actions:
            warnings += [policy.warning(why) for why, _ in found]

    def _mutated(
        self, webhook: Mapping[str, Any], write: AdmissionWrite, warnings: list[str]
    ) -> AdmissionWrite:
        called = self._call(webhook, write, warnings)
        if called is None or write.obj is None:
            return write
        response, version = called
        if not response.get("patch"):
            return write
        try:
            if response.get("patchType") != "JSONPatch":
                raise HookError("invalid patch type, expected JSONPatch")
            patch = deepjson.loads(base64.b64decode(response["patch"]))
            # The patch applies to the object in the form that the webhook saw.
            shown = versions.shown(version, write.obj)
            made = patches.json_patch(shown, patch)
            if not isinstance(made, dict):
                raise HookError("the patched object is no object")
        except (HookError, StatusError, ValueError, binascii.Error) as error:
            raise _internal(str(error)) from error
        return attrs.evolve(write, obj=versions.shown(write.resource, made))

    def _call(
        self, webhook: Mapping[str, Any], write: AdmissionWrite, warnings: list[str]
    ) -> tuple[JsonObject, RestResource] | None:
        """Return a webhook's response and the version it saw; None if it was not
        called.
        """
        version = wanted(webhook, write, self._namespace(write))
        if version is None:
            return None
        name = str(webhook.get("name"))
        request = self._request(write, version)
        if not _matches(webhook, write, request, self._decide):
            return None
        review = {
            "kind": "AdmissionReview",
            "apiVersion": _API_VERSION,
            "request": request,
        }
        try:
            found = self._services.call(
                webhook["clientConfig"], review, float(webhook["timeoutSeconds"])
            )
            response = _response(found, str(request["uid"]))
        except HookError as error:
            if webhook.get("failurePolicy") == "Ignore":
                return None
            raise _internal(f'failed calling webhook "{name}": {error}') from error
        warnings += [str(text) for text in response.get("warnings") or ()]
        if not response.get("allowed"):
            raise _denied(name, response.get("status"))
        return response, version

    def _namespace(self, write: AdmissionWrite) -> JsonObject | None:
        # A Namespace that is being created is not stored yet, and selectors apply to
        # its labels.
        if write.resource is NAMESPACES:
            return write.obj or write.before
        if not write.resource.namespaced:
            return None
        key = ObjectKey("", write.namespace)
        return self._storage.get(NAMESPACES.table, key)

    def _request(self, write: AdmissionWrite, version: RestResource) -> JsonObject:
        def at(obj: JsonObject | None) -> JsonObject | None:
            return None if obj is None else versions.shown(version, obj)

        asked = dict(_named(write.resource, "request"))
        request: JsonObject = {
            "uid": str(uuid.uuid4()),
            **dict(_named(version, "")),
            **asked,
            "operation": write.operation,
            "userInfo": write.user.to_json(),
            "object": at(write.obj),
            "oldObject": at(write.before),
            "dryRun": write.dry_run,
            "options": write.options or None,
        }
        for name, value in (
            ("name", write.name),
            ("namespace", write.namespace),
            ("subResource", write.subresource),
            ("requestSubResource", write.subresource),
        ):
            if value:
                request[name] = value
        return request


def _matches(
    webhook: Mapping[str, Any],
    write: AdmissionWrite,
    request: JsonObject,
    decide: DecideAccess,
) -> bool:
    """Return whether a webhook's conditions hold. If one fails,
    failurePolicy decides.
    """
    try:
        return conditions.matches(webhook, request, write.user, decide)
    except conditions.MatchConditionError as error:
        if webhook.get("failurePolicy") == "Ignore":
            return False
        resource = write.resource
        full = f"{resource.plural}.{resource.group}".rstrip(".")
        raise StatusError(
            403,
            "Forbidden",
            f'{full} "{write.name}" is forbidden: {error}',
            details={
                "name": write.name,
                "group": resource.group,
                "kind": resource.plural,
            },
        ) from error


def _again(webhook: Mapping[str, Any]) -> bool:
    return webhook.get("reinvocationPolicy") == "IfNeeded"


def _named(resource: RestResource, prefix: str) -> Iterator[tuple[str, JsonObject]]:
    for field, value in (("kind", resource.kind), ("resource", resource.plural)):
        name = prefix + field.title() if prefix else field
        at = {"group": resource.group, "version": resource.version}
        yield name, {**at, field: value}


def _response(found: JsonObject, uid: str) -> JsonObject:
    """Return the response in a review. Raises HookError if it does not fit the API."""
    response = found.get("response")
    if not isinstance(response, dict):
        raise HookError(
            "received invalid webhook response: webhook response was absent"
        )
    # An answer to another review would admit the wrong write.
    if response.get("uid") != uid:
        raise HookError(
            f'received invalid webhook response: expected response.uid="{uid}", got '
            f'"{response.get("uid", "")}"'
        )
    stated = (found.get("apiVersion", ""), found.get("kind", ""))
    if stated != (_API_VERSION, "AdmissionReview"):
        version = stated[0] or "/"
        raise HookError(
            f"received invalid webhook response: expected webhook response of "
            f"{_API_VERSION}, Kind=AdmissionReview, got {version}, Kind={stated[1]}"
        )
    return response


def _denied(name: str, status: Any) -> StatusError:
    """Return a refusal with the webhook's own message and code."""
    status = status if isinstance(status, dict) else {}
    code = int(status.get("code") or 0)
    why = status.get("message") or status.get("reason")
    text = f'admission webhook "{name}" denied the request'
    return StatusError(
        # A webhook that refuses with code 200 still refuses.
        max(code, 400),
        str(status.get("reason") or ""),
        f"{text}: {why}" if why else f"{text} without explanation",
        details=status.get("details"),
    )


def _internal(why: str) -> StatusError:
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {why}",
        details={"causes": [{"message": why}]},
    )
