"""Reads the values that a spec refers to: ids of objects, Secrets, ConfigMaps.

Everything is read from the object's own namespace (a namespace is a boundary). Values
of Secrets pass through here into the ARM body and nowhere else. Messages are for the
Ready condition: they name keys and objects, and never quote a value.
"""

import base64
import binascii
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.catalogue.inputs import InputReference
from asoreconcile.azure.catalogue.reserved import (
    holds_login,
    is_login,
    is_reserved,
)
from asoreconcile.azure.catalogue.suggestions import lacking
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    LOGINS_AS_VALUES,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.differences import HIDDEN
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects
from asoreconcile.azure.reconcile.state.read_set import ReadSet
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.redaction import register

_NOT_FOUND = {SECRETS: "SecretNotFound", CONFIG_MAPS: "ConfigMapNotFound"}


def target_of(ref: JsonObject) -> tuple[GroupKind, str]:
    """Return the kind and the name in a reference `{group, kind, name}`. Raises
    ConditionError `Failed` if one of them is missing.
    """
    group_kind = GroupKind(str(ref.get("group", "")), str(ref.get("kind", "")))
    name = str(ref.get("name", ""))
    if not (group_kind.group and group_kind.kind and name):
        raise unusable(
            f"a reference is incomplete ({_shown(ref)}): give group, kind and "
            "name, or armId alone"
        )
    return group_kind, name


def arm_id_in(
    target: JsonObject | None, group_kind: GroupKind, name: str, *, is_installed: bool
) -> str:
    """Return the ARM id of a target; its readiness does not matter.

    target: the object; None if it does not exist. is_installed: whether the kind's CRD
    is installed.
    Raises ConditionError `ReferenceNotFound`.
    """
    if target is None:
        raise _missing(
            "ReferenceNotFound",
            f"{group_kind.kind} {name!r} does not exist in this namespace: create "
            "it, or correct the reference"
            if is_installed
            else f"the kind {group_kind} is not installed in this cluster: install "
            "its CRD, or refer to the resource by armId",
        )
    arm_id = annotations(target).get(RESOURCE_ID)
    # The annotation is written at the claim, before the PUT. If the resource does not
    # exist yet, Azure refuses the reference, and the object retries.
    if not arm_id:
        raise _missing(
            "ReferenceNotFound",
            f"{group_kind.kind} {name!r} has no Azure resource id yet: see its "
            "Ready condition",
        )
    return arm_id


def entry_of(
    resource: ApiResource, name: str, data: Mapping[str, str], key: str
) -> str:
    """Return one entry of a Secret or ConfigMap. Raises ConditionError `SecretNotFound`
    or `ConfigMapNotFound`.
    """
    if key not in data:
        raise _missing(
            _NOT_FOUND[resource],
            f"{resource.kind} {name!r} has no key {key!r}{lacking(key, data)}: add it",
        )
    return data[key]


def not_found(resource: ApiResource, name: str) -> ConditionError:
    """Return the condition for a missing Secret or ConfigMap."""
    return _missing(
        _NOT_FOUND[resource],
        f"{resource.kind} {name!r} does not exist in this namespace: create it",
    )


def decoded_text(name: str, key: str, value: str) -> str:
    """Return a Secret's entry as text. Raises ConditionError `Failed` if it is not
    UTF-8 in base64.
    """
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # The cause would quote the value: leave it out.
        raise unusable(
            f"key {key!r} of Secret {name!r} is not UTF-8 text, which Azure needs "
            "here: write another value"
        ) from None


def hidden(value: Any, secrets: Collection[str]) -> Any:
    """Return a copy of a body in which HIDDEN replaces the secrets."""
    if isinstance(value, dict):
        return {name: hidden(inner, secrets) for name, inner in value.items()}
    if isinstance(value, list):
        return [hidden(inner, secrets) for inner in value]
    if isinstance(value, str) and value in secrets:
        return HIDDEN
    return value


def _missing(reason: str, message: str) -> ConditionError:
    # Retried soon: a missing object is often applied together with the one that names
    # it.
    return ConditionError(message, reason=reason, retry=RetryClass.FAST)


def _no_input(name: str) -> ConditionError:
    """Return the condition for a Secret that may not be used, because an author could
    read it through a resource.
    """
    return unusable(
        f"Secret {name!r} is a credential of the operator or of objects in this "
        "namespace, and no resource may read it: name another Secret"
    )


def _login(name: str) -> ConditionError:
    """Return the condition for a Secret with a login, which its administrator has not
    allowed to be read.
    """
    return unusable(
        f"Secret {name!r} holds a login to Azure, and no resource may read it: name "
        "another Secret, without AZURE_SUBSCRIPTION_ID, or let an administrator "
        f'annotate the Namespace with {LOGINS_AS_VALUES}: "true"'
    )


def _shown(ref: JsonObject) -> str:
    names: Iterable[str] = ("group", "kind", "name")
    return ", ".join(f"{name}={ref.get(name)!r}" for name in names)


@attrs.define(eq=False, repr=False)
class ReferenceResolver:
    """`catalogue.payload.Inputs` over a cluster, for one object in one reconcile.

    Blocking: each Secret and ConfigMap is read once from the API server. Raises
    ConditionError `ReferenceNotFound`, `SecretNotFound` or `ConfigMapNotFound`,
    and `Failed` for a Secret that is a credential.

    read_set: collects each Secret and ConfigMap that is read. is_credential: returns
    whether an object names a Secret as its credential. may_read_logins: returns whether
    an administrator lets resources of the namespace read Secrets that hold a login.
    """

    _namespace: str
    _client: KubeClient
    _objects: Objects
    _read_set: ReadSet
    _is_credential: Callable[[ObjectKey], bool] = lambda _: False
    _may_read_logins: Callable[[], bool] = lambda: False
    _read: dict[tuple[str, str], JsonObject] = attrs.field(init=False, factory=dict)
    # Values, to keep them out of comparisons.
    _secrets: set[str] = attrs.field(init=False, factory=set)

    def reference(self, ref: JsonObject) -> str:
        """Return the ARM id of `{group, kind, name}`; the object need not be Ready."""
        group_kind, name = target_of(ref)
        target = self._objects.get(group_kind, ObjectKey(self._namespace, name))
        installed = target is not None or self._objects.is_installed(group_kind)
        return arm_id_in(target, group_kind, name, is_installed=installed)

    def secret(self, ref: JsonObject | str) -> str:
        """Return the decoded value of one key of a Secret; if `ref` is a text, return
        the text.
        """
        if isinstance(ref, str):
            return self._known(ref)
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        return self._decoded(name, key, entry_of(SECRETS, name, self._data(name), key))

    def secret_map(self, ref: JsonObject) -> dict[str, str]:
        """Return all decoded values of a Secret."""
        name = str(ref.get("name", ""))
        data = self._data(name)
        return {key: self._decoded(name, key, value) for key, value in data.items()}

    def config_map(self, ref: JsonObject) -> str:
        """Return the value of one key of a ConfigMap's `data`."""
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        return entry_of(CONFIG_MAPS, name, self._data(name, CONFIG_MAPS), key)

    def know_secrets(self, inputs: Iterable[InputReference]) -> None:
        """Read the Secrets that a spec names, so that `redact` knows their values.

        Used in reconciles that send nothing, because Azure may quote a value long after
        it was sent. Secrets that cannot be read now are skipped. No decision depends on
        these reads, so they are not in the read set: a change of such a Secret still
        causes a reconcile.
        """
        readers = {"secret": self.secret, "secret-map": self.secret_map}
        for given in inputs:
            read = readers.get(given.kind)
            if read is None:
                continue
            key = ObjectKey(self._namespace, str(given.value.get("name", "")))
            self._read_set.note(ObjectReference(SECRETS.group_kind, key), None)
            with suppress(ConditionError, ApiError, TransportError):
                read(given.value)

    def know_exports(self, names: Iterable[str], shown: Collection[str]) -> None:
        """Read the Secrets that an object exports to, so that `redact` knows their
        values: after a restart Azure may quote a key that was exported before it.

        shown: values that the object itself shows. Secrets that cannot be read now are
        skipped.
        """
        for name in names:
            with suppress(ApiError, TransportError):
                found = self._client.get(SECRETS, ObjectKey(self._namespace, name))
                for key, value in (found.get("data") or {}).items():
                    with suppress(ConditionError):
                        decoded = decoded_text(name, key, value)
                        if decoded not in shown:
                            register(decoded, namespace=self._namespace)

    def without_secrets(self, body: JsonObject) -> JsonObject:
        """Return a copy of a body in which HIDDEN replaces the Secrets' values."""
        found: JsonObject = hidden(body, self._secrets)
        return found

    def _is_login(self, key: ObjectKey, secret: JsonObject) -> bool:
        """Return whether a Secret must not be read because it holds a login."""
        is_one = holds_login(secret) or (self._is_credential(key) and is_login(secret))
        return is_one and not self._may_read_logins()

    def _decoded(self, name: str, key: str, value: str) -> str:
        return self._known(decoded_text(name, key, value))

    def _known(self, value: str) -> str:
        self._secrets.add(value)
        # Before any request: Azure may quote the value in its answer to the first PUT.
        register(value, namespace=self._namespace)
        return value

    def _data(self, name: str, resource: ApiResource = SECRETS) -> dict[str, str]:
        return self._read_once(resource, name).get("data") or {}

    def _read_once(self, resource: ApiResource, name: str) -> JsonObject:
        known = self._read.get((resource.kind, name))
        if known is not None:
            return known
        key = ObjectKey(self._namespace, name)
        if resource is SECRETS and is_reserved(name):
            raise _no_input(name)
        node = ObjectReference(resource.group_kind, key)
        try:
            obj = self._client.get(resource, key)
        except NotFoundError as error:
            # Recorded although it is missing: its creation then wakes this object.
            self._read_set.note(node, None)
            raise not_found(resource, name) from error
        self._read_set.note(node, obj)
        if resource is SECRETS and self._is_login(key, obj):
            raise _login(name)
        self._read[resource.kind, name] = obj
        return obj
