"""Paths of fields in a spec's words, and the places in the ARM body that they name.

A path is written as `spec.agentPoolProfiles[name=system].count`, `spec.tags.team`,
`spec.tags["a.b"]` or `spec.tags[*]`. Pure. Rule: OW-2.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Literal

import attrs

from asoreconcile.azure.arm.text_bounds import NAME
from asoreconcile.azure.catalogue.kinds import Catalogue, Kind, KindVersion
from asoreconcile.azure.catalogue.suggestions import closest, hint
from asoreconcile.azure.catalogue.tables import Field, Table
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject

_TOKEN = re.compile(
    r"""\.?(?P<name>[^.\[\]="'\s]+)
    |\[(?P<any>\*)\]
    |\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\]
    |\[(?P<member>[^=\]]+)=(?P<value>[^\]]*)\]""",
    re.VERBOSE,
)
ANY: Final = "*"
_ELEMENTS = "write [*] for all elements of a list, [name=value] for some"
# A map of ids, of which a PUT writes the keys alone.
IDS: Final = "ids"
_OPEN = "x-kubernetes-preserve-unknown-fields"

BodyFilter = Mapping[str, "Inside"]
"""Writable members of an ARM object, by name in lower case."""

Inside = BodyFilter | Literal[True] | str | None
"""What a PUT may write of a value: these members of an object, all of it, IDS, or
nothing of a value that comes from a Secret.
"""


class IgnoredFieldError(AsoreconcileError):
    """A path names no field of the kind; the message names the nearest right one."""


@attrs.frozen
class Element:
    """A step to the elements of a list in which a member has a value."""

    member: tuple[str, ...]
    value: str

    def is_of(self, found: Any) -> bool:
        """Return whether the step leads to an element of the list."""
        for name in self.member:
            found = found.get(name) if isinstance(found, dict) else None
        return found is not None and str(found).casefold() == self.value.casefold()


PathStep = str | Element


@attrs.frozen
class IgnoredField:
    """A place in the ARM body. text: the path in the spec's words. inside: the
    values that a PUT may write there.
    """

    text: str
    steps: tuple[PathStep, ...]
    inside: Inside = attrs.field(default=True, eq=False, repr=False)


_MOST_PATHS = 200


def listed_paths(text: str) -> list[str]:
    """Return the paths of a comma-separated list, or of a YAML list, as written.

    Raises IgnoredFieldError for a list of very many paths.
    """
    whole = text.strip()
    if whole.startswith("[") and whole.endswith("]"):
        whole = whole[1:-1]  # a YAML list in one line; no path begins so
    lines = (line.strip() for line in _separated(whole))
    paths = (line.removeprefix("-").strip().strip("\"'") for line in lines)
    found = [path for path in paths if path]
    if len(found) > _MOST_PATHS:
        raise IgnoredFieldError(
            f"names {len(found)} fields, and at most {_MOST_PATHS} are read: name a "
            "field that holds several of them"
        )
    return found


def _separated(text: str) -> list[str]:
    """Return the parts of a list between commas and line breaks; those in brackets
    separate nothing. A separator is in brackets if the next bracket closes.
    """
    parts, end, is_inside = [], len(text), False
    for at in range(len(text) - 1, -1, -1):
        match text[at]:
            case "]":
                is_inside = True
            case "[":
                is_inside = False
            case "," | "\n" if not is_inside:
                parts.append(text[at + 1 : end])
                end = at
    return [text[:end], *reversed(parts)]


def check_paths(text: str) -> None:
    """Check that a text is a list of paths. Raises IgnoredFieldError for a text
    that cannot be read as a list of paths.
    """
    for path in listed_paths(text):
        _parsed(path)


def ignored_fields(
    version: KindVersion, own: str, inherited: tuple[str, ...] = ()
) -> tuple[IgnoredField, ...]:
    """Return the fields of a kind that are ignored. own: the object's list; inherited:
    those of its Namespace and of the operator, which may name fields of other kinds.

    Raises IgnoredFieldError for a path of `own` that the kind does not have.
    """
    fields = [ignored_field(version, path) for path in listed_paths(own)]
    for path in (path for text in inherited for path in listed_paths(text)):
        try:
            fields.append(ignored_field(version, path))
        except IgnoredFieldError:
            continue
    return tuple(dict.fromkeys(fields))


def paths_of_no_kind(text: str, catalogue: Catalogue) -> list[str]:
    """Return a sentence for each path of a list that no kind of a catalogue has, in any
    version.

    A path that some kind has costs little; for another one all kinds are loaded, in 0.2
    s. Raises IgnoredFieldError for a text that cannot be read.
    """
    check_paths(text)
    found = []
    for path in listed_paths(text):
        names: set[str] = set()
        if not any(_has(kind, path, names) for kind in catalogue.kinds()):
            first = path.removeprefix("spec.").partition(".")[0].partition("[")[0]
            near = "" if first in names else hint(first, names)
            found.append(f"no kind has a field {path!r}{near}")
    return found


def _has(kind: Kind, path: str, names: set[str]) -> bool:
    """Return whether a version of a kind has a path. names: receives the names of the
    fields of its spec.
    """
    for version in map(kind.version, reversed(kind.versions)) if kind.is_arm else ():
        try:
            ignored_field(version, path)
        except IgnoredFieldError:
            names.update(field.source for field in version.table.fields)
        else:
            return True
    return False


@lru_cache(maxsize=1024)
def ignored_field(version: KindVersion, text: str) -> IgnoredField:
    """Return the place in the ARM body that a path names. Raises IgnoredFieldError."""
    steps = _parsed(text)
    walk = _Walk(text)
    found = tuple(walk.object(version.table, version.spec_schema, steps, "spec"))
    return IgnoredField(text, found, walk.inside)


def _parsed(text: str) -> list[Any]:
    """Return the steps below `spec` as written: a name, ANY, or (member, value)."""
    steps: list[Any] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:]
            hint = f"; {_ELEMENTS}" if rest.startswith("[") else ""
            raise IgnoredFieldError(
                f"{text!r} is no path of a field, at {rest!r}{hint}"
            )
        at = match.end()
        if match["member"] is not None:
            value = match["value"].strip().strip("\"'")
            steps.append((match["member"].strip(), value))
        else:
            steps.append(match["name"] or match["any"] or match["key"])
    if len(steps) < 2 or steps[0] != "spec":
        raise IgnoredFieldError(f"{text!r} is no path of a field: write spec.<field>")
    return steps[1:]


@attrs.define
class _Walk:
    """The walk along one path. inside: the filter of its last place."""

    text: str
    inside: Inside = True

    def object(
        self, table: Table, schema: JsonObject, steps: list[Any], at: str
    ) -> Iterator[PathStep]:
        """Yield the steps in the ARM body below an object that has a table."""
        if not steps:
            self.inside = body_filter(table)
            return
        name, *rest = steps
        properties: JsonObject = schema.get("properties", {})
        known = {f.source: f for f in table.fields if f.source in properties}
        field = known.get(name) if isinstance(name, str) else None
        if field is None:
            if isinstance(name, str) and name in properties:
                raise self.problem(f"{at}.{name} is no value of the resource in Azure")
            raise self.unknown(name, at, known)
        if not table.leaves:  # the variant of a union has no step of its own
            yield from field.path
        inner, schema, at = field.nesting, properties[name], f"{at}.{name}"
        while inner and rest:
            step, *rest = rest
            is_list = inner.startswith("[]")
            if is_list and not (step == ANY or isinstance(step, tuple)):
                meant = ".".join(filter(None, [f"{at}[*]", str(step)]))
                raise self.problem(f"{at} is a list, so write {meant}")
            if isinstance(step, tuple) and not is_list:
                raise self.of_a_map(step, at)
            if isinstance(step, tuple):
                yield self.element(field.table, step, at)
            else:
                yield step
            schema = schema.get("items" if is_list else "additionalProperties") or {}
            inner, at = inner[2:], f"{at}[*]"
        if field.table is not None:
            if inner:
                self.inside = True
                return
            yield from self.object(field.table, schema, rest, at)
        else:
            if rest and field.conversion not in ("value", "json"):
                raise self.problem(f"{at} is one value: ignore it as a whole")
            self.inside = _inside(field)
            yield from self.value(schema, rest, at)

    def element(self, table: Table | None, step: tuple[str, str], at: str) -> Element:
        """Return the step to the elements with a member's value."""
        name, value = step
        known = {f.source: f for f in table.fields} if table is not None else {}
        if table is not None and name not in known:
            raise self.unknown(name, f"{at}[*]", known)
        return Element(known[name].path if known else (name,), value)

    def value(
        self, schema: JsonObject, steps: list[Any], at: str
    ) -> Iterator[PathStep]:
        """Yield the steps below a field whose names are the same in the ARM body."""
        for step in steps:
            properties = schema.get("properties", {})
            if schema.get(_OPEN) or not schema:
                schema = {}
            elif isinstance(step, tuple):
                if "items" not in schema:
                    raise self.of_a_map(step, at)
                schema = schema["items"] or {}
            elif step in properties:
                schema = properties[step]
            elif "additionalProperties" in schema:
                schema = schema["additionalProperties"] or {}
            elif "items" in schema and step == ANY:
                schema = schema["items"]
            else:
                raise self.unknown(step, at, properties)
            is_element = isinstance(step, tuple)
            yield Element((step[0],), step[1]) if is_element else step
            at = f"{at}.{step}"

    def unknown(
        self, name: Any, at: str, known: Mapping[str, Any]
    ) -> IgnoredFieldError:
        """Return the error about a step that the kind does not have."""
        if not known:
            return self.problem(f"{at} has no members")
        if not NAME.fits(str(name)):
            return self.problem(f"{at} has no member with a name of that length")
        near = closest(str(name), known) or get_close_matches(str(name), known, 1, 0.0)
        return self.problem(f"{at} has no {name!r}; did you mean {at}.{near[0]}?")

    def of_a_map(self, step: tuple[str, str], at: str) -> IgnoredFieldError:
        """Return the error about elements of a map or a single value."""
        return self.problem(f'{at} is no list, so write {at}["{step[0]}"]')

    def problem(self, why: str) -> IgnoredFieldError:
        return IgnoredFieldError(f"{self.text!r} names no field of this kind: {why}")


def _inside(field: Field) -> Any:
    """Return the filter of a field without a table of its own."""
    if field.conversion == "identities":
        return IDS
    return None if field.is_secret else True


def body_filter(table: Table, within: tuple[int, ...] = ()) -> BodyFilter:
    """Return the members of an ARM object that a PUT may write."""
    found: dict[str, Any] = {}
    within = (*within, id(table))
    for field in table.fields:
        value = _inside(field)
        inner = field.table
        # A type that holds itself, and the values of a map, are taken as they are.
        if inner is not None and id(inner) not in within and "{}" not in field.nesting:
            value = body_filter(inner, within)
        if table.leaves and isinstance(value, Mapping):
            found |= value
            continue
        inside = found
        for step in field.path[:-1]:
            inside = inside.setdefault(step.casefold(), {})
        inside.setdefault(field.path[-1].casefold(), value)
    return found
