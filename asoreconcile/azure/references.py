"""The values a spec asks for: ids of other resources, Secrets, ConfigMaps.

Everything is looked up in the object's own namespace (a namespace is a boundary).
Secret values pass through here into the ARM body and nowhere else.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.annotations import RESOURCE_ID
from asoreconcile.azure.differences import HIDDEN
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.owner import Objects
from asoreconcile.azure.read_set import ReadSet
from asoreconcile.catalogue.inputs import InputReference
from asoreconcile.catalogue.suggestions import lacking
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    annotations,
    resource_version,
    uid_of,
)
from asoreconcile.redaction import know


class Getter(Protocol):
    """Reads one object from the API server (`kube.client.KubeClient`)."""

    def get(self, resource: ApiResource, key: ObjectKey) -> JsonObject:
        """Read the object from the server.

        Blocking; raises ApiError, TransportError.
        """


class ReferenceResolver:
    """`catalogue.payload.Inputs` over a cluster, for one object in one reconcile.

    Blocking: each Secret and ConfigMap is read once from the API server. Raises
    ConditionError `ReferenceNotFound`, `SecretNotFound` or `ConfigMapNotFound`.
    """

    def __init__(
        self, namespace: str, *, client: Getter, objects: Objects, read_set: ReadSet
    ) -> None:
        """read_set: collects each Secret and ConfigMap that is read."""
        self._namespace = namespace
        self._client = client
        self._objects = objects
        self._read_set = read_set
        self._read: dict[tuple[str, str], JsonObject] = {}
        self._secrets: set[str] = set()  # values, to keep them out of comparisons

    def reference(self, ref: JsonObject) -> str:
        """The ARM id of `{group, kind, name}`. Its readiness does not matter."""
        group_kind = GroupKind(str(ref.get("group", "")), str(ref.get("kind", "")))
        name = str(ref.get("name", ""))
        if not (group_kind.group and group_kind.kind and name):
            raise ConditionError(
                f"a reference is incomplete ({_shown(ref)}): give group, kind and "
                "name, or armId alone",
                reason="Failed",
                severity="Error",
            )
        target = self._objects.get(group_kind, ObjectKey(self._namespace, name))
        if target is None:
            installed = self._objects.is_installed(group_kind)
            raise _missing(
                "ReferenceNotFound",
                f"{group_kind.kind} {name!r} does not exist in this namespace: create "
                "it, or correct the reference"
                if installed
                else f"the kind {group_kind} is not installed in this cluster: install "
                "its CRD, or refer to the resource by armId",
            )
        arm_id = annotations(target).get(RESOURCE_ID)
        # The annotation comes with the claim, before the PUT: who refers to a resource
        # that is not there yet is told so by Azure, and tries again.
        if not arm_id:
            raise _missing(
                "ReferenceNotFound",
                f"{group_kind.kind} {name!r} has no Azure resource id yet: see its "
                "Ready condition",
            )
        return arm_id

    def secret(self, ref: JsonObject) -> str:
        """The decoded value of one key of a Secret."""
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        data = self._secret_data(name)
        if key not in data:
            raise _missing(
                "SecretNotFound",
                f"Secret {name!r} has no key {key!r}{lacking(key, data)}: add it",
            )
        return self._decoded(name, key, data[key])

    def secret_map(self, ref: JsonObject) -> dict[str, str]:
        """All decoded values of a Secret."""
        name = str(ref.get("name", ""))
        data = self._secret_data(name)
        return {key: self._decoded(name, key, value) for key, value in data.items()}

    def config_map(self, ref: JsonObject) -> str:
        """The value of one key of a ConfigMap's `data`."""
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        obj = self._read_once(CONFIG_MAPS, name, reason="ConfigMapNotFound")
        data: dict[str, str] = obj.get("data") or {}
        if key not in data:
            raise _missing(
                "ConfigMapNotFound",
                f"ConfigMap {name!r} has no key {key!r}{lacking(key, data)}: add it",
            )
        return data[key]

    def mark(self) -> str:
        """Which Secrets and ConfigMaps were read so far, at which version; "" is none.

        No values in it: it is written where everybody may read it.
        """
        versions = sorted(
            f"{kind}/{name}={uid_of(obj)}/{resource_version(obj)}"
            for (kind, name), obj in self._read.items()
        )
        if not versions:
            return ""
        return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:16]

    def know_secrets(self, inputs: Iterable[InputReference]) -> None:
        """Read the Secrets that a spec names, so that `redact` knows their values.

        For reconciles that send nothing: Azure quotes a value long after it was sent.
        What cannot be read now is left out. Nothing is decided by it, so it is not
        in the read set: a change of one of them still wakes the object.
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

    def without_secrets(self, body: JsonObject) -> JsonObject:
        """A copy of a body in which HIDDEN replaces the Secrets' values."""
        found: JsonObject = self._hidden(body)
        return found

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._hidden(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._hidden(inner) for inner in value]
        if isinstance(value, str) and value in self._secrets:
            return HIDDEN
        return value

    def _decoded(self, name: str, key: str, value: str) -> str:
        decoded = _decoded(name, key, value)
        self._secrets.add(decoded)
        know(decoded, namespace=self._namespace)
        return decoded

    def _secret_data(self, name: str) -> dict[str, str]:
        obj = self._read_once(SECRETS, name, reason="SecretNotFound")
        return obj.get("data") or {}

    def _read_once(
        self, resource: ApiResource, name: str, *, reason: str
    ) -> JsonObject:
        known = self._read.get((resource.kind, name))
        if known is not None:
            return known
        key = ObjectKey(self._namespace, name)
        node = ObjectReference(resource.group_kind, key)
        try:
            obj = self._client.get(resource, key)
        except NotFoundError as error:
            # Noted though it is missing: once somebody creates it, this object is
            # woken.
            self._read_set.note(node, None)
            raise _missing(
                reason,
                f"{resource.kind} {name!r} does not exist in this namespace: create it",
            ) from error
        self._read_set.note(node, obj)
        self._read[resource.kind, name] = obj
        return obj


def _decoded(name: str, key: str, value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # The cause would quote the value: leave it out.
        raise ConditionError(
            f"key {key!r} of Secret {name!r} is not text: Azure takes text here",
            reason="Failed",
            severity="Error",
        ) from None


def _missing(reason: str, message: str) -> ConditionError:
    return ConditionError(message, reason=reason, retry=RetryClass.FAST)


def _shown(ref: JsonObject) -> str:
    return ", ".join(f"{name}={ref.get(name)!r}" for name in ("group", "kind", "name"))
