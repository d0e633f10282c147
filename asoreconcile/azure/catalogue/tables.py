"""Mapping tables: how one object of a spec becomes one object of an ARM body.

Tables are data (`controllers/README.md` has the notation); this module compiles them
into tuples once. A compiled table is immutable and shared by all versions and threads.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

Conversion = Literal[
    "value",
    "json",
    "reference",
    "well-known",
    "secret",
    "secret-map",
    "config-map",
    "identities",
    "object",
]
Path = tuple[str, ...]

_CONVERSIONS: Mapping[str, Conversion] = {
    "v": "value",
    "j": "json",
    "ref": "reference",
    "wkref": "well-known",
    "secret": "secret",
    "secretmap": "secret-map",
    "cm": "config-map",
    "uai": "identities",
}
NAME_FIELD = "$name"
_OBJECT: Conversion = "object"


class TableError(AsoreconcileError):
    """A mapping table cannot be read; the message names table and entry."""


@attrs.frozen
class Field:
    """One field of the spec and its place in the ARM body.

    source: the field's name in the spec; `$name` is the resource's Azure name.
    path: the path in the ARM object.
    nesting: `[]` and `{}`, outermost first, around the conversion.
    omit_zero: if true, "" is not sent.
    fallback: if true, the field is skipped if the path has already been written.
    """

    source: str
    path: Path
    conversion: Conversion
    nesting: str = ""
    table: "Table | None" = None
    omit_zero: bool = False
    fallback: bool = False

    @property
    def is_secret(self) -> bool:
        """Return whether the field's value is in a Secret."""
        return self.conversion in ("secret", "secret-map")

    @property
    def takes_inputs(self) -> bool:
        """Return whether a value of the field needs a lookup: references, Secrets,
        ConfigMaps.
        """
        if self.table is not None:
            return self.table.takes_inputs
        return self.conversion not in ("value", "json")


@attrs.frozen
class Table:
    """The mapping of one object.

    absent: values to send if nothing was given and the enclosing object is sent.
    leaves: the fields of a union, in order of preference.
    leaf_named: if true, the leaf that is sent carries the resource's name.
    takes_inputs: if true, a field at any depth needs a reference, Secret or ConfigMap.
    owned: ARM collections that belong to child resources and have no field.
    """

    fields: tuple[Field, ...]
    absent: tuple[tuple[Path, Any], ...] = ()
    leaves: tuple[str, ...] = ()
    leaf_named: bool = False
    takes_inputs: bool = False
    owned: tuple[str, ...] = ()


def elements(nesting: str, value: Any, at: str) -> Iterator[tuple[Any, str]]:
    """Yield each value below the lists and maps of a nesting, and its place.

    A value of another form than the nesting has none.
    """
    if not nesting:
        yield value, at
    elif nesting.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from elements(nesting[2:], item, f"{at}[{index}]")
    elif nesting.startswith("{}") and isinstance(value, dict):
        for key, item in value.items():
            yield from elements(nesting[2:], item, f"{at}.{key}")


class Tables:
    """The tables of one file, compiled on first use.

    Thread-safe: if two threads compile the same table, one result is kept.
    """

    def __init__(self, raw: Mapping[str, JsonObject]) -> None:
        self._raw = raw
        self._compiled: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """Return a compiled table. Raises TableError for an unknown name or a bad
        entry.
        """
        known = self._compiled.get(name)
        if known is None:
            if name not in self._raw:
                raise TableError(f"there is no mapping table {name}")
            known = self._compile(name, self._raw[name])
            known = self._compiled.setdefault(name, known)
        return known

    def forget(self) -> None:
        """Drop all compiled tables; a table is compiled again when requested."""
        self._compiled.clear()

    def _compile(self, name: str, raw: JsonObject) -> Table:
        fields = tuple(self._field(name, entry) for entry in raw["fields"])
        return Table(
            fields=fields,
            absent=tuple(
                (tuple(path.split("/")), zero)
                for path, zero in raw.get("absent", {}).items()
            ),
            leaves=tuple(raw.get("leaves", ())),
            leaf_named=raw.get("leafNamed", False),
            takes_inputs=any(field.takes_inputs for field in fields),
            owned=tuple(raw.get("owned", ())),
        )

    def _field(self, table: str, entry: str | list[str]) -> Field:
        if isinstance(entry, str):
            path = tuple(entry.split("/"))
            return Field(source=path[-1], path=path, conversion="value")
        source, target, text, *flags = entry
        kind = text.lstrip("[]{}")
        if kind.startswith("@"):
            conversion, nested = _OBJECT, self.table(kind[1:])
        elif kind in _CONVERSIONS:
            conversion, nested = _CONVERSIONS[kind], None
        else:
            raise TableError(f"table {table}, field {source}: no conversion {text!r}")
        return Field(
            source=source,
            path=tuple(target.split("/")),
            conversion=conversion,
            nesting=text[: len(text) - len(kind)],
            table=nested,
            omit_zero="omitzero" in flags,
            fallback="else" in flags,
        )
