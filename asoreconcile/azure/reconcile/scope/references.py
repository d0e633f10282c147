"""Reads the values a spec refers to: ids of other resources, Secrets, ConfigMaps.

Everything is read from the object's own namespace (a namespace is a boundary);
`reference_values` interprets it. Secret values pass through here into the ARM body and
nowhere else.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Protocol

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.inputs import InputReference
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects
from asoreconcile.azure.reconcile.scope.reference_values import (
    arm_id_in,
    decoded_text,
    entry_of,
    hidden,
    not_found,
    target_of,
    versions_mark,
)
from asoreconcile.azure.reconcile.state.read_set import ReadSet
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.kube.errors import ApiError, NotFoundError, TransportError
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS, ApiResource
from asoreconcile.redaction import register


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
        """The ARM id of `{group, kind, name}`; the object need not be Ready."""
        group_kind, name = target_of(ref)
        target = self._objects.get(group_kind, ObjectKey(self._namespace, name))
        installed = target is not None or self._objects.is_installed(group_kind)
        return arm_id_in(target, group_kind, name, is_installed=installed)

    def secret(self, ref: JsonObject) -> str:
        """The decoded value of one key of a Secret."""
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        return self._decoded(name, key, entry_of(SECRETS, name, self._data(name), key))

    def secret_map(self, ref: JsonObject) -> dict[str, str]:
        """All decoded values of a Secret."""
        name = str(ref.get("name", ""))
        data = self._data(name)
        return {key: self._decoded(name, key, value) for key, value in data.items()}

    def config_map(self, ref: JsonObject) -> str:
        """The value of one key of a ConfigMap's `data`."""
        name, key = str(ref.get("name", "")), str(ref.get("key", ""))
        return entry_of(CONFIG_MAPS, name, self._data(name, CONFIG_MAPS), key)

    def mark(self) -> str:
        """Which Secrets and ConfigMaps were read so far (`versions_mark`)."""
        return versions_mark(self._read)

    def know_secrets(self, inputs: Iterable[InputReference]) -> None:
        """Read the Secrets that a spec names, so that `redact` knows their values.

        For reconciles that send nothing: Azure may quote a value long after it was
        sent. Secrets that cannot be read now are left out. No decision depends on these
        reads, so they are not in the read set: a change of such a Secret still wakes
        the object.
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
        found: JsonObject = hidden(body, self._secrets)
        return found

    def _decoded(self, name: str, key: str, value: str) -> str:
        decoded = decoded_text(name, key, value)
        self._secrets.add(decoded)
        # Before any request: Azure may quote the value in its answer to the first PUT.
        register(decoded, namespace=self._namespace)
        return decoded

    def _data(self, name: str, resource: ApiResource = SECRETS) -> dict[str, str]:
        return self._read_once(resource, name).get("data") or {}

    def _read_once(self, resource: ApiResource, name: str) -> JsonObject:
        known = self._read.get((resource.kind, name))
        if known is not None:
            return known
        key = ObjectKey(self._namespace, name)
        node = ObjectReference(resource.group_kind, key)
        try:
            obj = self._client.get(resource, key)
        except NotFoundError as error:
            # Recorded although it is missing: its creation then wakes this object.
            self._read_set.note(node, None)
            raise not_found(resource, name) from error
        self._read_set.note(node, obj)
        self._read[resource.kind, name] = obj
        return obj
