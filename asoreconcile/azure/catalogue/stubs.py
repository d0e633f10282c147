"""TypedDicts from CRDs: for who writes a kind's objects in Python. Pure.

The text is a module that strict type checkers take, one class for each object within
an object, named after the path to it.
"""

import json
import keyword
from collections.abc import Iterable
from typing import Any

import attrs

from asoreconcile.base.objects import JsonObject

_METADATA = '''class Metadata(TypedDict, total=False):
    """metadata of an object: what its writer says, and what the server fills in."""

    name: str
    generateName: str
    namespace: str
    labels: dict[str, str]
    annotations: dict[str, str]
    finalizers: list[str]
    ownerReferences: list[dict[str, Any]]
    uid: str
    resourceVersion: str
    generation: int
    creationTimestamp: str
    deletionTimestamp: str
'''
_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
}
_HEADER = 88


def stub_module(crds: Iterable[JsonObject], *, title: str) -> str:
    """A Python module with a TypedDict for each kind, at the version that is stored.

    title: the module's docstring.
    """
    classes: list[str] = []
    resources: list[str] = []
    names = _Names()
    for crd in crds:
        spec = crd["spec"]
        kind, group = spec["names"]["kind"], spec["group"]
        version = next(one for one in spec["versions"] if one["storage"])
        schema = version["schema"]["openAPIV3Schema"]
        api_version = f"{group}/{version['name']}"
        classes += _Kind(kind, api_version, names).classes(schema)
        scope = "" if spec["scope"] == "Namespaced" else ", namespaced=False"
        resources.append(
            f"{names.constant(spec['names']['plural'])} = ApiResource(\n"
            f"    {_text(group)},\n    {_text(version['name'])},\n"
            f"    {_text(spec['names']['plural'])},\n    {_text(kind)}{scope},\n)\n"
        )
    body = "\n\n".join([_METADATA, *classes])
    head = (
        f'"""{title}"""\n\n'
        "# ruff: noqa\n"
        "from typing import Any, Literal, NotRequired, TypedDict\n\n"
        "from asoreconcile import ApiResource\n"
    )
    return f"{head}\n\n{body}\n\n" + "".join(resources)


class _Names:
    """Class names of a module, each once."""

    def __init__(self) -> None:
        self._taken = {"Any", "Literal", "NotRequired", "TypedDict", "ApiResource"}
        self._taken |= {"Metadata"}

    def take(self, wanted: str) -> str:
        """The name, or the name with a number."""
        name, number = wanted, 2
        while name in self._taken or keyword.iskeyword(name):
            name, number = f"{wanted}{number}", number + 1
        self._taken.add(name)
        return name

    def constant(self, plural: str) -> str:
        """A constant for a resource."""
        return self.take(_identifier(plural).upper())


@attrs.frozen
class _Kind:
    kind: str
    api_version: str
    names: _Names

    def classes(self, schema: JsonObject) -> list[str]:
        """The kind's class, after those of what is in it."""
        made: list[str] = []
        known = schema["properties"]
        fields = {
            "apiVersion": (f"Literal[{_text(self.api_version)}]", True),
            "kind": (f"Literal[{_text(self.kind)}]", True),
            "metadata": ("Metadata", True),
        }
        required = schema.get("required", ())
        for name in known.keys() - fields.keys():
            fields[name] = (
                self._type(known[name], self.kind + _pascal(name), made),
                name in required,
            )
        ordered = dict(sorted(fields.items(), key=lambda pair: _order(pair[0])))
        made.append(self._class(self.kind, ordered, schema))
        return made

    def _type(self, schema: JsonObject, path: str, made: list[str]) -> str:
        found = self._plain(schema, path, made)
        return f"{found} | None" if schema.get("nullable") else found

    def _plain(self, schema: JsonObject, path: str, made: list[str]) -> str:
        if schema.get("x-kubernetes-int-or-string"):
            return "int | str"
        if values := schema.get("enum"):
            return f"Literal[{', '.join(map(_text, values))}]"
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self._type(schema.get('items', {}), path, made)}]"
        if kind != "object":
            return _SCALARS.get(str(kind), "Any")
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            return f"dict[str, {self._type(others, path, made)}]"
        known = schema.get("properties")
        if not known:
            return "dict[str, Any]"
        required = schema.get("required", ())
        fields = {
            name: (self._type(inner, path + _pascal(name), made), name in required)
            for name, inner in known.items()
        }
        name = self.names.take(path)
        made.append(self._class(name, fields, schema, is_taken=True))
        return name

    def _class(
        self,
        name: str,
        fields: dict[str, tuple[str, bool]],
        schema: JsonObject,
        *,
        is_taken: bool = False,
    ) -> str:
        name = name if is_taken else self.names.take(name)
        shown = {
            field: hint if needed else f"NotRequired[{hint}]"
            for field, (hint, needed) in fields.items()
        }
        if not all(map(_is_name, shown)):  # such as `class`, or `$ref`
            lines = [f"    {_text(field)}: {hint}," for field, hint in shown.items()]
            # Classes come before who names them, so no name has to be looked up later.
            return "\n".join(
                [f"{name} = TypedDict(", f"    {_text(name)},", "    {"]
                + [f"    {line}" for line in lines]
                + ["    },", ")", ""]
            )
        said = " ".join(str(schema.get("description", "")).split())
        said = said.replace("\\", "/").replace('"', "'")
        lines = [f"class {name}(TypedDict):"]
        if said:
            lines += _docstring(said)
        lines += [f"    {field}: {hint}" for field, hint in shown.items()]
        return "\n".join([*lines, ""])


def _docstring(text: str) -> list[str]:
    """Its first sentence, on a line."""
    first = text.partition(". ")[0].rstrip(".")
    limit = _HEADER - len('    """."""')
    short = first if len(first) <= limit else first[: limit - 3] + ".."
    return [f'    """{short}."""', ""]


def _order(name: str) -> tuple[int, str]:
    known = ("apiVersion", "kind", "metadata", "spec", "status")
    return (known.index(name), "") if name in known else (len(known), name)


def _pascal(name: str) -> str:
    made = _identifier(name)
    return made[:1].upper() + made[1:]


def _identifier(name: str) -> str:
    made = "".join(one if one.isalnum() or one == "_" else "_" for one in name)
    return f"_{made}" if made[:1].isdigit() else made


def _is_name(name: str) -> bool:
    # Two underscores at the start are another name within a class.
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("__")
    )


def _text(value: Any) -> str:
    """A value as Python writes it."""
    return json.dumps(value) if isinstance(value, str) else repr(value)
