"""Resolve the names in manifests without a cluster: from each other, or from a file.

`asoctl render` has no cluster to ask. Owners, references, Secrets and ConfigMaps are
looked up in the other manifests of the call, and in given answers (`Answers`).
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import attrs

from asoreconcile.azure.catalogue.inputs import InputReference
from asoreconcile.azure.catalogue.kinds import (
    Catalogue,
    KindVersion,
    NotInCatalogueError,
)
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.paths import arm_id
from asoreconcile.azure.catalogue.suggestions import hint, lacking
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
    spec,
    status,
)
from asoreconcile.redaction import HIDDEN

_MEMBERS = ("owner", "references", "secrets", "secretMaps", "configMaps")


class ResolutionError(AsoreconcileError):
    """A name is not defined; the message says in which places it could be defined."""


@attrs.frozen
class Answers:
    """Given answers, all optional.

    owner: the ARM id of every owner that is not among the manifests.
    references: `group/Kind/name` -> ARM id; without `owner`, owners are found here too.
    secrets, config_maps: `name/key` -> value.
    secret_maps: `name/*` -> all its keys.
    """

    owner: str = ""
    references: Mapping[str, str] = attrs.field(factory=dict)
    secrets: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    secret_maps: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict, repr=False)
    config_maps: Mapping[str, str] = attrs.field(factory=dict)


def answers_of(value: Any) -> Answers:
    """Return answers from JSON: `{owner, references, secrets, secretMaps, configMaps}`.

    Raises ResolutionError naming the member that is unknown or has the wrong type.
    """
    if not isinstance(value, dict):
        raise ResolutionError(f"must be an object with {', '.join(_MEMBERS)}")
    for member, content in value.items():
        if member not in _MEMBERS:
            raise ResolutionError(f"unknown member {member!r}{hint(member, _MEMBERS)}")
        if content is None:
            continue
        if not isinstance(content, str if member == "owner" else dict):
            raise ResolutionError(f"{member} must be {_described(member)}")
        if isinstance(content, dict):
            _check_values(member, content)
    return Answers(
        owner=value.get("owner") or "",
        references=value.get("references") or {},
        secrets=value.get("secrets") or {},
        secret_maps=value.get("secretMaps") or {},
        config_maps=value.get("configMaps") or {},
    )


def _check_values(member: str, content: JsonObject) -> None:
    wanted = dict if member == "secretMaps" else str
    for key, item in content.items():
        if not isinstance(item, wanted):
            raise ResolutionError(f"{member}, {key!r}: must be {_described(member)}")


def _described(member: str) -> str:
    return {
        "owner": "an ARM id",
        "references": "a map of group/Kind/name to ARM ids",
        "secrets": "a map of name/key to text",
        "secretMaps": "a map of name/* to maps of text",
        "configMaps": "a map of name/key to text",
    }[member]


class Resolution:
    """Looks up names in the manifests of one call and in the given answers.

    A given answer wins over a manifest, except that a manifest wins over
    `Answers.owner`. Not thread-safe.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        objects: Iterable[JsonObject],
        *,
        answers: Answers | None = None,
        subscription_id: str = "",
    ) -> None:
        self._catalogue = catalogue
        self._answers = answers or Answers()
        self._subscription_id = subscription_id
        self._objects = {(gvk_of(obj).group_kind, key_of(obj)): obj for obj in objects}
        self._resolving: list[tuple[GroupKind, ObjectKey]] = []

    def inputs(
        self, namespace: str, *, show_secrets: bool = True
    ) -> "NamespacedInputs":
        """Return the `payload.Inputs` for objects in a namespace.

        show_secrets: if false, each value of a Secret is replaced by `***`.
        """
        return NamespacedInputs(self, namespace, show_secrets)

    def name_of(self, version: KindVersion, obj: JsonObject) -> str:
        """Return the Azure name. Raises ResolutionError if it cannot be derived."""
        name = azure_name(version, obj)
        from_config = spec(obj).get("azureNameFromConfig")
        if not name and isinstance(from_config, dict):
            name = self.inputs(key_of(obj).namespace).config_map(from_config)
        if not name:
            raise ResolutionError(
                f"the Azure name of {_shown(version.group_kind, key_of(obj))} cannot be"
                " derived: set spec.azureName"
            )
        return name

    def arm_id_of(self, version: KindVersion, obj: JsonObject) -> str:
        """Return an object's ARM id. Raises ResolutionError if its owner has none."""
        name = self.name_of(version, obj)
        if version.scope == "Location" and not self._subscription_id:
            if known := str(status(obj).get("id") or ""):
                return known
            raise ResolutionError(
                f"the subscription of resource group {name!r} is not known:"
                " give --subscription"
            )
        owner_id = ""
        if version.scope in ("ResourceGroup", "Extension"):
            owner_id = self._owner_id(version, obj)
        return arm_id(
            version,
            name=name,
            owner_id=owner_id,
            subscription_id=self._subscription_id,
        )

    def reference(self, group_kind: GroupKind, key: ObjectKey) -> str:
        """Return the ARM id of a named object. Raises ResolutionError."""
        given = self._answers.references.get(_answer_key(group_kind, key.name))
        if given:
            return given
        found = self._objects.get((group_kind, key))
        if found is None:
            self._check_kind(group_kind)
            raise ResolutionError(self._missing(group_kind, key))
        return self._id_of_manifest(group_kind, key, found)

    def resolve(self, needed: InputReference, namespace: str) -> object:
        """Return the value of one input of a spec. Raises ResolutionError."""
        inputs = self.inputs(namespace)
        match needed.kind:
            case "reference":
                return inputs.reference(needed.value)
            case "secret":
                return inputs.secret(needed.value)
            case "secret-map":
                return inputs.secret_map(needed.value)
            case "config-map":
                return inputs.config_map(needed.value)
            case never:
                assert_never(never)

    def secret(self, reference: JsonObject, namespace: str) -> str:
        """Return the value of the Secret's key that a reference names.

        Raises ResolutionError, saying what to add.
        """
        name, key = str(reference.get("name")), str(reference.get("key"))
        given = self._answers.secrets.get(f"{name}/{key}")
        if given is not None:
            return given
        return _member("Secret", "secrets", name, key, self._secret(name, namespace))

    def secret_map(self, reference: JsonObject, namespace: str) -> dict[str, str]:
        """Return all keys of the Secret.

        Raises ResolutionError if the Secret is neither given nor among the manifests.
        """
        name = str(reference.get("name"))
        given = self._answers.secret_maps.get(f"{name}/*")
        if given is not None:
            return dict(given)
        data = self._secret(name, namespace)
        if data is None:
            raise ResolutionError(
                f"Secret {name!r} is not among the manifests: add it, or give its keys"
                f" under secretMaps in the --resolve file as '{name}/*'"
            )
        return data

    def config_map(self, reference: JsonObject, namespace: str) -> str:
        """Return the value of the ConfigMap's key that a reference names.

        Raises ResolutionError, saying what to add.
        """
        name, key = str(reference.get("name")), str(reference.get("key"))
        given = self._answers.config_maps.get(f"{name}/{key}")
        if given is not None:
            return given
        found = self._objects.get(
            (GroupKind("", "ConfigMap"), ObjectKey(namespace, name))
        )
        data = None if found is None else {**(found.get("data") or {})}
        return _member("ConfigMap", "configMaps", name, key, data)

    def _owner_id(self, version: KindVersion, obj: JsonObject) -> str:
        owner = spec(obj).get("owner")
        owner = owner if isinstance(owner, dict) else {}
        if owner.get("armId"):
            return str(owner["armId"])
        group_kind = version.owner or GroupKind(
            str(owner.get("group") or ""), str(owner.get("kind") or "")
        )
        key = ObjectKey(key_of(obj).namespace, str(owner.get("name") or ""))
        # The given owner is for manifests whose own is not among them.
        if self._answers.owner and (group_kind, key) not in self._objects:
            return self._answers.owner
        try:
            return self.reference(group_kind, key)
        except ResolutionError as error:
            # An owner's message may be about its own owner.
            text = str(error).removeprefix("spec.owner: ")
            raise ResolutionError(f"spec.owner: {text}") from error

    def _id_of_manifest(
        self, group_kind: GroupKind, key: ObjectKey, obj: JsonObject
    ) -> str:
        if (group_kind, key) in self._resolving:
            chain = " -> ".join(_shown(*link) for link in self._resolving)
            raise ResolutionError(f"owners in a circle: {chain}")
        self._resolving.append((group_kind, key))
        try:
            return self.arm_id_of(self._catalogue.version(gvk_of(obj)), obj)
        finally:
            self._resolving.pop()

    def _secret(self, name: str, namespace: str) -> dict[str, str] | None:
        found = self._objects.get((GroupKind("", "Secret"), ObjectKey(namespace, name)))
        if found is None:
            return None
        data = {k: _decoded(name, k, v) for k, v in (found.get("data") or {}).items()}
        # As the API server merges them: stringData wins.
        return {**data, **(found.get("stringData") or {})}

    def _check_kind(self, group_kind: GroupKind) -> None:
        """Raise ResolutionError for a kind that Azure's groups do not have."""
        if group_kind.group in self._catalogue.groups():
            try:
                self._catalogue.kind(group_kind)
            except NotInCatalogueError as error:
                raise ResolutionError(str(error)) from error

    def _missing(self, group_kind: GroupKind, key: ObjectKey) -> str:
        answer = (
            "give its ARM id under references in the --resolve file"
            f" as {_answer_key(group_kind, key.name)!r}"
        )
        shown = _shown(group_kind, key)
        elsewhere = sorted(
            other.namespace
            for kind, other in self._objects
            if kind == group_kind and other.name == key.name
        )
        if elsewhere:
            return (
                f"{shown} is in namespace {elsewhere[0]!r}, and names are looked for in"
                f" the object's own, {key.namespace!r}: put both into one namespace,"
                f" name it by armId, or {answer}"
            )
        return (
            f"{shown} is not among the manifests{self._near(key)}: add it, or {answer}"
        )

    def _near(self, key: ObjectKey) -> str:
        """Suggest an object: the same name of another kind, or a similar name."""
        for group_kind, other in self._objects:
            if other.name == key.name:
                return f" ({key.name!r} is a {group_kind.kind})"
        near = hint(key.name, {other.name for _, other in self._objects})
        return near.removesuffix("?").replace("; ", " (", 1) + "?)" if near else ""


@attrs.frozen
class NamespacedInputs:
    """`payload.Inputs` for the objects of one namespace."""

    _resolution: Resolution
    _namespace: str
    _show_secrets: bool

    def reference(self, reference: JsonObject) -> str:
        """Return the ARM id of the object that a reference names. Raises
        ResolutionError.
        """
        group_kind = GroupKind(
            str(reference.get("group") or ""), str(reference.get("kind") or "")
        )
        name = str(reference.get("name") or "")
        return self._resolution.reference(group_kind, ObjectKey(self._namespace, name))

    def secret(self, reference: JsonObject | str) -> str:
        """Return the Secret's value, or `***` if secrets are hidden. The Secret must
        exist. A text is the value itself.
        """
        value = (
            reference
            if isinstance(reference, str)
            else self._resolution.secret(reference, self._namespace)
        )
        return value if self._show_secrets else HIDDEN

    def secret_map(self, reference: JsonObject) -> dict[str, str]:
        """Return all keys of the Secret, with `***` for values if secrets are
        hidden.
        """
        found = self._resolution.secret_map(reference, self._namespace)
        return found if self._show_secrets else dict.fromkeys(found, HIDDEN)

    def config_map(self, reference: JsonObject) -> str:
        """Return the ConfigMap's value. Raises ResolutionError."""
        return self._resolution.config_map(reference, self._namespace)


def _member(
    kind: str, answers: str, name: str, key: str, data: Mapping[str, str] | None
) -> str:
    if data is None:
        raise ResolutionError(
            f"{kind} {name!r} is not among the manifests: add it, or give the value"
            f" under {answers} in the --resolve file as '{name}/{key}'"
        )
    if key not in data:
        raise ResolutionError(f"{kind} {name!r} has no key {key!r}{lacking(key, data)}")
    return str(data[key])


def _decoded(name: str, key: str, value: Any) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        # Without the cause: its text would quote the value.
        raise ResolutionError(
            f"Secret {name!r}, key {key!r}: the value is no base64 text;"
            " write it under stringData instead"
        ) from None


def _answer_key(group_kind: GroupKind, name: str) -> str:
    return f"{group_kind.group}/{group_kind.kind}/{name}"


def _shown(group_kind: GroupKind, key: ObjectKey) -> str:
    return f"{group_kind.kind} {key.name!r}"
