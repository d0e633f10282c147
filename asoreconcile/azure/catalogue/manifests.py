"""Read Kubernetes manifests from files, as kubectl reads them.

YAML 1.1 as kubectl's library resolves it: `yes` and `on` are booleans, dates stay text,
`017` is octal, `1:30` is text. Two mistakes that kubectl accepts silently are refused:
a key given twice, and a bare boolean as a key.
"""

import json
import math
import re
import sys
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import attrs
import yaml

from asoreconcile.azure.catalogue.suggestions import closest
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.json_size import (
    JsonSizeError,
    NoJsonError,
    check_size,
    most_value_bytes,
)
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.yaml_bounds import MOST_BYTES, check_number, check_yaml

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML built without libyaml: ten times slower, same result
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

_MEMBERS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN = "-"
_MAX_INTEGER = 2**64
_MOST_VALUE_BYTES = 2 << 30
# Half of the levels that Python's decoder reads by recursion.
_MOST_LEVELS = 500
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


@attrs.frozen
class Manifest:
    """One object and its position in a file; path is `-` for standard input."""

    path: str
    line: int
    obj: JsonObject

    @property
    def where(self) -> str:
        """`path:line` of the object's first line, as editors and CI logs link it."""
        return f"{self.path}:{self.line}"


class ManifestError(AsoreconcileError):
    """Manifests that cannot be read; lists every problem with file and line."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def read_manifests(paths: Iterable[str | Path]) -> list[Manifest]:
    """Return every object of some files, in order; blocks on reading.

    paths: files, folders (their `.yaml`, `.yml` and `.json` files by name, without
    subfolders), or `-` for standard input.

    Lists (`kind: List`) are returned as their items; empty documents are skipped.

    Raises ManifestError with the problems of all files at once.
    """
    manifests: list[Manifest] = []
    problems: list[str] = []
    for path in paths:
        for name, text in _texts(str(path), problems):
            try:
                manifests += parse_manifests(text, path=name)
            except ManifestError as error:
                problems += error.problems
    if problems:
        raise ManifestError(problems)
    return manifests


def parse_manifests(text: str, *, path: str = _STDIN) -> list[Manifest]:
    """Return the objects of one text; as `read_manifests`, without reading a file."""
    manifests: list[Manifest] = []
    problems: list[str] = []
    try:
        for line, value in _documents(text):
            for obj in _items(value):
                missing = _missing(obj)
                if missing:
                    problems.append(f"{path}:{line}: {missing}")
                else:
                    manifests.append(Manifest(path, line, obj))
    except yaml.MarkedYAMLError as error:
        problems.append(f"{path}:{_line(error)}: {_reason(error)}")
    except yaml.YAMLError as error:
        problems.append(f"{path}: {error}")
    if problems:
        raise ManifestError(problems)
    return manifests


def load_file(path: Path) -> Any:
    """Return the one YAML or JSON document of a file, read by kubectl's rules. Raises
    yaml.YAMLError, OSError, UnicodeDecodeError.
    """
    with path.open(encoding="utf-8") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise yaml.YAMLError(f"it is longer than {MOST_BYTES >> 20} MiB")
    return load_yaml(text)


def load_yaml(text: str) -> Any:
    """Return one YAML or JSON document, read by kubectl's rules. Raises
    yaml.YAMLError.
    """
    check_yaml(text, _Loader)
    return yaml.load(text, Loader=_Loader)  # noqa: S506 -- _Loader is a safe loader


def _texts(path: str, problems: list[str]) -> Iterator[tuple[str, str]]:
    if path == _STDIN:
        yield from _bounded(path, sys.stdin, problems)
        return
    given = Path(path)
    files = [given]
    if given.is_dir():
        files = sorted(p for p in given.iterdir() if p.suffix in _SUFFIXES)
        if not files:
            problems.append(f"{path}: no {', '.join(_SUFFIXES)} file in this folder")
    for file in files:
        try:
            with file.open(encoding="utf-8") as opened:
                yield from _bounded(str(file), opened, problems)
        except OSError as error:
            problems.append(f"{file}: cannot be read: {error.strerror}")
        except UnicodeDecodeError:
            problems.append(f"{file}: is not UTF-8 text")


def _bounded(path: str, file: TextIO, problems: list[str]) -> Iterator[tuple[str, str]]:
    text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        problems.append(f"{path}: is longer than {MOST_BYTES >> 20} MiB")
    else:
        yield path, text


def _documents(text: str) -> Iterator[tuple[int, Any]]:
    if text.lstrip().startswith("{"):
        try:
            _check_json(text)
            # JSON may be indented with tabs, which YAML refuses.
            value = jsontext.loads(text)
        except ValueError:
            pass  # several documents, or YAML's flow style: as YAML below
        else:
            _check_keys(text)
            yield 1, value
            return
    check_yaml(text, _Loader)
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            value = loader.construct_document(node) if node else None
            if node and value is not None:
                yield node.start_mark.line + 1, jsontext.settled(value)
    finally:
        loader.dispose()


def _check_json(text: str) -> None:
    """Check the depth and size of a JSON document before it is read. Raises
    yaml.YAMLError if a JSON document is nested too deeply, or if its values would
    take too much memory.
    """
    content = text.encode()
    openings = content.count(b"[") + content.count(b"{")
    if openings <= _MOST_LEVELS and most_value_bytes(content) <= _MOST_VALUE_BYTES:
        return
    try:
        check_size(content, most_bytes=_MOST_VALUE_BYTES, most_levels=_MOST_LEVELS)
    except JsonSizeError as error:
        raise yaml.YAMLError(f"invalid JSON: {error}") from None
    except NoJsonError:
        return  # the parser says where


def _check_keys(text: str) -> None:
    """Check that no member is given twice. Raises yaml.YAMLError if a member of a
    JSON object is given twice.
    """

    def members(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise yaml.YAMLError(f"invalid JSON: key {key!r} is given twice")
            seen.add(key)

    # Numbers stay text, as a number of very many digits is slow to read.
    read = json.JSONDecoder(object_pairs_hook=members, parse_int=str, parse_float=str)
    read.decode(text)


def _items(value: Any) -> list[Any]:
    # As kubectl has it: a list of any kind stands for its items.
    if isinstance(value, dict) and str(value.get("kind", "")).endswith("List"):
        items = value.get("items")
        if isinstance(items, list):
            return items
    return [value]


def _missing(obj: Any) -> str:
    if not isinstance(obj, dict):
        return "is no object: a manifest has apiVersion, kind and metadata"
    for member in ("apiVersion", "kind"):
        if not isinstance(obj.get(member), str) or not obj[member]:
            return (
                f"{member} is missing: a manifest starts with apiVersion and kind"
                f"{_misspelt(obj, member)}"
            )
    if not isinstance(obj.get("metadata"), dict):
        return (
            f"metadata is missing: give the object a name{_misspelt(obj, 'metadata')}"
        )
    return ""


def _misspelt(obj: JsonObject, member: str) -> str:
    """Name the field that is probably a misspelling of the missing member, if there is
    one.
    """
    written = closest(member, (str(name) for name in obj if name not in _MEMBERS))
    return f" ({written[0]!r} is no field of a manifest)" if written else ""


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line + 1 if mark else 1


def _reason(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return f"invalid YAML: {', '.join(parts)}"


class _Loader(_BaseLoader):
    """PyYAML's safe loader with the scalars and keys of kubectl's library."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 -- PyYAML's own way

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        own: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag != _MERGE:
                key = self._key(key_node)
                if key in own:
                    raise _error(f"key {key!r} is given twice", key_node)
                own.add(key)
        # Only now: keys that come by a merge may be given a second time.
        self.flatten_mapping(node)
        # The keys from a merge key come first, so that the mapping's own keys win.
        return {
            self._key(key_node): self.construct_object(value_node, deep=deep)
            for key_node, value_node in node.value
        }

    def _key(self, node: yaml.Node) -> str:
        key = self.construct_object(node, deep=True)
        if isinstance(key, str):
            return key
        if isinstance(key, bool):
            raise _error(
                f"key {node.value} means {str(key).lower()} in YAML:"
                f" write it in quotes, '{node.value}'",
                node,
            )
        if isinstance(key, int | float):
            return str(key)
        raise _error("a key must be text", node)


def _error(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def _integer(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    text = loader.construct_scalar(node).replace("_", "").lower()
    check_number(text, node.start_mark)
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0b", "0o"):
        value = sign * int(digits, 0)
    elif len(digits) > 1 and digits.startswith("0"):
        value = sign * int(digits, 8)
    else:
        value = sign * int(digits)
    # Beyond 64 bits JSON readers take a number for a double.
    return value if abs(value) < _MAX_INTEGER else float(value)


def _float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int | float:
    text = loader.construct_scalar(node).replace("_", "")
    check_number(text, node.start_mark)
    value = float(text)
    if math.isinf(value):
        raise _error("a number is too large", node)
    # As Go writes a double: without a fraction it looks like an integer.
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


def _unrepresentable(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Any:  # noqa: ARG001 -- PyYAML's signature
    raise _error(f"{node.value} cannot be written as JSON", node)


def _boolean(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> bool:
    return loader.construct_scalar(node).lower() in ("y", "yes", "true", "on")


_BOOLEANS = "y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE"
_RESOLVERS = (
    ("bool", rf"(?:{_BOOLEANS}|off|Off|OFF)$", "yYnNtTfFoO"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    (
        "int",
        r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[1-9][0-9_]*|0)$",
        "-+0123456789",
    ),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$",
        "-+.0123456789",
    ),
    ("nan", r"(?:\.(?:nan|NaN|NAN)|[-+]?\.(?:inf|Inf|INF))$", "-+."),
    ("merge", r"<<$", "<"),
)
for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), list(_first))
_Loader.add_constructor(_TAG + "bool", _boolean)
_Loader.add_constructor(_TAG + "int", _integer)
_Loader.add_constructor(_TAG + "float", _float)
_Loader.add_constructor(_TAG + "timestamp", _text)
_Loader.add_constructor(_TAG + "nan", _unrepresentable)
