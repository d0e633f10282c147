"""Kubeconfig files as kubectl reads them: each member by its type, with clear refusals.

Values are not converted: a quoted "false" is text, and is refused in place of true or
false. A refusal names the file, the entry and the member, and quotes no value: keys and
tokens are among them.
"""

import base64
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import attrs
import yaml

from asoreconcile.base.objects import JsonObject
from asoreconcile.base.yaml_bounds import check_number, check_yaml
from asoreconcile.kube.cluster import KubeConfigError

_Decoder = Callable[[Any, str], Any]
"""Takes a value and where it is; returns the value, or the type's empty one if it is
None. Raises ValueError, which says where and what was expected."""


@attrs.frozen
class NamedEntry:
    """A context, user or cluster: its members, and the file that names it."""

    kind: str
    name: str
    members: JsonObject = attrs.field(repr=False)
    file: Path

    def path(self, member: str) -> Path | None:
        """Return a member that is a file's path, which starts at the kubeconfig."""
        name = self.members[member]
        return self.file.parent / name if name else None

    def refuse(self, reason: str) -> NoReturn:
        """Raise KubeConfigError. reason: begins with the member that is wrong."""
        where = f"{self.file}: {self.kind} {self.name}"
        raise KubeConfigError(f"{where}: {reason}") from None


@attrs.frozen
class KubeConfigFile:
    """The content of one file. A second entry of the same name is refused."""

    current_context: str
    entries: dict[tuple[str, str], NamedEntry]


def anonymous(context: NamedEntry) -> NamedEntry:
    """Return a user without a credential, for a context that names no known user."""
    return NamedEntry("user", context.members["user"], _USER(None, ""), context.file)


def read_files(paths: str) -> list[KubeConfigFile]:
    """Read the files that exist. Raises KubeConfigError, OSError.

    paths: one path, or several with `:` between.
    """
    found = []
    for name in filter(None, paths.split(os.pathsep)):
        path = Path(name).expanduser().absolute()
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue  # as kubectl: KUBECONFIG may name files that are not made yet
        found.append(_read(path, content))
    return found


def _read(path: Path, content: bytes) -> KubeConfigFile:
    try:
        check_yaml(content, _Loader)
        # As kubectl, of several documents the first.
        document = next(yaml.load_all(content, Loader=_Loader), None)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        # The parser's message quotes the text around the error.
        raise KubeConfigError(f"{path}: it is not YAML") from None
    try:
        config = _FILE(document, "")
    except ValueError as error:
        raise KubeConfigError(f"{path}: {error}") from None
    if config["kind"] not in {"", "Config"} or config["apiVersion"] not in {"", "v1"}:
        raise KubeConfigError(f"{path}: it is not of kind Config and apiVersion v1")
    return KubeConfigFile(
        config["current-context"],
        {
            (kind, one["name"]): NamedEntry(kind, one["name"], one[kind], path)
            for kind in ("cluster", "context", "user")
            for one in config[f"{kind}s"]
        },
    )


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Resolves plain scalars as Go's YAML does: `y` is true, a date is text."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}
    bool_values: ClassVar = {**yaml.SafeLoader.bool_values, "y": True, "n": False}

    def number(self, node: yaml.ScalarNode) -> int | float:
        """Return the number that a plain scalar of digits stands for."""
        text = str(node.value).replace("_", "").lower()
        check_number(text, node.start_mark)
        with suppress(ValueError):
            return int(text, 8 if _OCTAL.fullmatch(text) else 0)
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))


_OCTAL = re.compile("[-+]?0[0-7]+")
_PLAIN = (
    (
        "bool",
        "yYtToOnNfF",
        "[yYnN]|[yY]es|YES|[nN]o|NO|[tT]rue|TRUE|[fF]alse|FALSE|[oO]n|ON|[oO]ff|OFF",
    ),
    ("null", ["~", "n", "N", ""], "~|[nN]ull|NULL|"),
    ("merge", "<", "<<"),
    (
        "int",
        "-+.0123456789",
        (
            r"[-+]?(?i:0b[01_]+|0o[0-7_]+|0x[0-9a-f_]+|\.inf|\.nan"
            r"|(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:e[-+]?[0-9_]+)?)"
        ),
    ),
)
for _tag, _first, _pattern in _PLAIN:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first)
    )
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.number)
# As a value it is text.
_Loader.add_constructor("tag:yaml.org,2002:merge", _Loader.construct_yaml_str)


def _at(where: str, name: str) -> str:
    return f"{where}: {name}" if where else name


def _checked(value: Any, kind: type, where: str, expected: str) -> Any:
    """Return the value, or the type's empty one for None. Raises ValueError."""
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{where} must be {expected}".lstrip())
    return kind() if value is None else value


def _text(value: Any, where: str) -> str:
    return str(_checked(value, str, where, "text"))


def _flag(value: Any, where: str) -> bool:
    return bool(_checked(value, bool, where, "true or false, without quotes"))


def _data(value: Any, where: str) -> bytes:
    text = _text(value, where).replace("\r", "").replace("\n", "")
    try:
        if len(text) % 4:
            raise ValueError("a part is missing")
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"{where} must be base64") from None


def _any(value: Any, _where: str) -> Any:
    return value


def _object(named: dict[str, _Decoder]) -> _Decoder:
    """Decode an object's members; others are ignored, as by kubectl."""

    def decode(value: Any, where: str) -> JsonObject:
        members = _checked(value, dict, where, "an object")
        if None in members:
            raise ValueError(f"{where} has a member named null".lstrip())
        return {
            name: kind(members.get(name), _at(where, name))
            for name, kind in named.items()
        }

    return decode


def _or_none(kind: _Decoder) -> _Decoder:
    return lambda value, where: None if value is None else kind(value, where)


def _list(kind: _Decoder) -> _Decoder:
    def decode(value: Any, where: str) -> list[Any]:
        items = _checked(value, list, where, "a list")
        return [kind(one, f"{where}[{at}]") for at, one in enumerate(items)]

    return decode


def _map(kind: _Decoder) -> _Decoder:
    def decode(value: Any, where: str) -> JsonObject:
        return {
            _text(name, where): kind(one, _at(where, str(name)))
            for name, one in _checked(value, dict, where, "an object").items()
        }

    return decode


def _named(member: str, kind: _Decoder) -> _Decoder:
    """Decode a list of entries, each with a name and a content."""

    def decode(value: Any, where: str) -> list[JsonObject]:
        parent = where.removesuffix(f"{member}s").removesuffix(": ")
        found: dict[str, JsonObject] = {}
        for at, one in enumerate(_checked(value, list, where, "a list")):
            pair = _checked(one, dict, f"{where}[{at}]", "an object")
            name = _text(pair.get("name"), f"{where}[{at}]: name")
            if name in found:
                raise ValueError(f"{where} has {name} twice")
            content = kind(pair.get(member), _at(parent, f"{member} {name}"))
            found[name] = {"name": name, member: content}
        return list(found.values())

    return decode


_EXTENSIONS = _named("extension", _any)
_EXEC = _object(
    {
        "apiVersion": _text,
        "args": _list(_text),
        "command": _text,
        "env": _list(_object({"name": _text, "value": _text})),
        "installHint": _text,
        "interactiveMode": _text,
        "provideClusterInfo": _flag,
    }
)
_CLUSTER = _object(
    {
        "server": _text,
        "tls-server-name": _text,
        "insecure-skip-tls-verify": _flag,
        "certificate-authority": _text,
        "certificate-authority-data": _data,
        "proxy-url": _text,
        "disable-compression": _flag,
        "extensions": _EXTENSIONS,
    }
)
_USER = _object(
    {
        "client-certificate": _text,
        "client-certificate-data": _data,
        "client-key": _text,
        "client-key-data": _data,
        "token": _text,
        "tokenFile": _text,
        "as": _text,
        "as-uid": _text,
        "as-groups": _list(_text),
        "as-user-extra": _map(_list(_text)),
        "username": _text,
        "password": _text,
        "auth-provider": _or_none(_object({"name": _text, "config": _map(_text)})),
        "exec": _or_none(_EXEC),
        "extensions": _EXTENSIONS,
    }
)
_CONTEXT = _object(
    {"cluster": _text, "user": _text, "namespace": _text, "extensions": _EXTENSIONS}
)
_FILE = _object(
    {
        "kind": _text,
        "apiVersion": _text,
        "preferences": _object({"colors": _flag, "extensions": _EXTENSIONS}),
        "clusters": _named("cluster", _CLUSTER),
        "users": _named("user", _USER),
        "contexts": _named("context", _CONTEXT),
        "current-context": _text,
        "extensions": _EXTENSIONS,
    }
)
