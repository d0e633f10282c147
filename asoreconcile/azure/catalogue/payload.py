"""Map a custom resource's spec to the body of its ARM PUT, by mapping table.

Pure: referenced resources, Secrets and ConfigMaps are resolved by an `Inputs`. Equal
arguments give equal bodies.
"""

from typing import Any, Protocol, assert_never

import attrs

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.tables import NAME_FIELD, Field, Path, Table
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, copy_json


class Inputs(Protocol):
    """Resolves the names in a spec. The implementation raises its own errors.

    References with an `armId` and well-known names are not passed to it.
    """

    def reference(self, reference: JsonObject, /) -> str:
        """Return the ARM id of `{group, kind, name}`."""

    def secret(self, reference: JsonObject | str, /) -> str:
        """Return the decoded value of a Secret's key; `{name, key}`.

        A text is the secret itself, as specs of older releases have it.
        """

    def secret_map(self, reference: JsonObject, /) -> dict[str, str]:
        """Return all keys of a Secret with their decoded values; `{name}`."""

    def config_map(self, reference: JsonObject, /) -> str:
        """Return the value of a ConfigMap's key; `{name, key}`."""


class SpecError(AsoreconcileError):
    """A value of the spec contradicts the kind's schema; the message names the
    field.
    """


def to_arm(
    version: KindVersion, spec: JsonObject, *, name: str, inputs: Inputs
) -> JsonObject:
    """Return the PUT body of a spec; shares nothing with it and does not change it.

    name: the resource's Azure name, the last segment of its id.

    Raises SpecError for a spec that the API server would have refused, and any error
    that `inputs` raises.
    """
    mapping = _Mapping(name, inputs)
    return mapping.object(version.table, spec, "spec") or {}


@attrs.frozen
class _Mapping:
    name: str
    inputs: Inputs

    def object(self, table: Table, value: Any, at: str) -> JsonObject | None:
        """Return the ARM object; None for a union without a leaf."""
        if not isinstance(value, dict):
            raise SpecError(f"{at}: must be an object, not {type(value).__name__}")
        out: JsonObject = {}
        for field in table.fields:
            self._field(field, value, out, table, at)
        # After all fields: the values to send for absent fields depend on the given
        # ones.
        for path, zero in table.absent:
            parent = dig_path(out, path[:-1])
            if isinstance(parent, dict) and parent.get(path[-1]) is None:
                parent[path[-1]] = copy_json(zero)
        return self._leaf(table, out) if table.leaves else out

    def _leaf(self, table: Table, out: JsonObject) -> JsonObject | None:
        for leaf in table.leaves:
            chosen: JsonObject | None = out.get(leaf)
            if chosen is not None:
                return {**chosen, "name": self.name} if table.leaf_named else chosen
        return None

    def _field(
        self, field: Field, value: JsonObject, out: JsonObject, table: Table, at: str
    ) -> None:
        if field.source == NAME_FIELD:
            out[field.path[-1]] = self.name
            return
        given = value.get(field.source)
        if given is None:
            return
        # A container is sent as soon as one of its fields is given, even an empty one.
        parent = enclosing(out, field.path)
        # Two fields of one property: the later one counts where the first says nothing.
        if field.fallback and parent.get(field.path[-1]) is not None:
            return
        at = f"{at}.{field.source}"
        result = self._nested(field, field.nesting, given, at)
        if result is None or (field.omit_zero and result == ""):
            return
        explicit = any(field.path == path for path, _ in table.absent)
        if explicit or result not in ([], {}) or not _is_collection(field):
            parent[field.path[-1]] = result

    def _nested(self, field: Field, nesting: str, value: Any, at: str) -> Any:
        if not nesting:
            return self._converted(field, value, at)
        inner = nesting[2:]
        if nesting.startswith("[]"):
            if not isinstance(value, list):
                raise SpecError(f"{at}: must be a list, not {type(value).__name__}")
            items = (
                self._nested(field, inner, item, f"{at}[{index}]")
                for index, item in enumerate(value)
                if item is not None
            )
            return [item for item in items if item is not None]
        if not isinstance(value, dict):
            raise SpecError(f"{at}: must be a map, not {type(value).__name__}")
        return {
            key: self._nested(field, inner, item, f"{at}.{key}")
            for key, item in value.items()
            if item is not None
        }

    def _converted(self, field: Field, value: Any, at: str) -> Any:
        match field.conversion:
            case "value" | "json":
                return copy_json(value) if isinstance(value, dict | list) else value
            case "object":
                assert field.table is not None  # noqa: S101 -- compiled together
                return self.object(field.table, value, at)
            case "reference" | "well-known":
                return self._arm_id(value, at)
            case "identities":
                return self._identities(value, at)
            case "secret":
                is_text = isinstance(value, str)
                return self.inputs.secret(value if is_text else _reference(value, at))
            case "secret-map":
                return self.inputs.secret_map(_reference(value, at))
            case "config-map":
                return self.inputs.config_map(_reference(value, at))
            case never:
                assert_never(never)

    def _identities(self, value: Any, at: str) -> JsonObject:
        """Turn a list of `{reference}` into a map whose keys are the ids."""
        if not isinstance(value, list):
            raise SpecError(f"{at}: must be a list, not {type(value).__name__}")
        identities: JsonObject = {}
        for index, identity in enumerate(value):
            inner = identity.get("reference") if isinstance(identity, dict) else None
            identities[self._arm_id(inner, f"{at}[{index}].reference")] = {}
        return identities

    def _arm_id(self, value: Any, at: str) -> str:
        reference = _reference(value, at)
        verbatim = verbatim_of(reference)
        return verbatim or self.inputs.reference(reference)


def verbatim_of(reference: JsonObject) -> str:
    """Return the well-known name or ARM id that a reference contains, or ""."""
    text = reference.get("wellKnownName") or reference.get("armId") or ""
    return str(text)


def enclosing(out: JsonObject, path: Path) -> JsonObject:
    """Return the object that holds the end of a path; missing objects are created."""
    for part in path[:-1]:
        out = out.setdefault(part, {})
    return out


def dig_path(value: Any, path: Path) -> Any:
    """Return the value at a path of names, or None."""
    for part in path:
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _is_collection(field: Field) -> bool:
    """Return whether an empty result means that nothing was given.

    This is true for lists and maps, but not for an object or a value of any JSON.
    """
    return bool(field.nesting) or field.conversion not in ("object", "json")


def _reference(value: Any, at: str) -> JsonObject:
    if not isinstance(value, dict):
        raise SpecError(f"{at}: must be a reference, not {type(value).__name__}")
    return value
