"""The CEL engine for rules and conditions: it compiles a text.

The library (`pip install 'CLONE[cel]'`) is loaded with the first rule. Without it,
CelMissingError is raised, so that no rule is accepted and then ignored. The engine
checks types as far as constants tell them.
"""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.extras import pip_command
from asoreconcile.resources.cel.functions import CodeOf, functions
from asoreconcile.resources.cel.syntax import ExpressionNode, parsed
from asoreconcile.resources.crds import patterns

LOCK = threading.RLock()
"""Held while the library compiles or evaluates: it documents nothing about threads."""

_EXTENSIONS = ("optional", "strings", "sets", "two-var-comprehensions")
_FIRST = re.compile(r"ERROR: (<input>:-?\d+:-?\d+: .*)", re.DOTALL)
_WITH_PATTERNS = ("find", "findAll", "matches")


class CelMissingError(AsoreconcileError):
    """The CEL library is not installed."""


class RuleError(Exception):
    """A rule is wrong, or failed on a value. The text explains the problem."""


@attrs.frozen
class CheckedExpression:
    """A compiled expression.

    gives: CEL type of the result, such as BOOL, STRING or DYN. tree: the checked syntax
    tree, in the format that `syntax` reads.
    """

    gives: str
    tree: bytes


@cache
def checked(text: str, variables: tuple[str, ...]) -> CheckedExpression:
    """Compile a text with these variables. Raises RuleError, CelMissingError."""
    found = compiled(environment(variables), text)
    return CheckedExpression(str(found.return_type().name()), bytes(found.serialize()))


@cache
def environment(
    variables: tuple[str, ...],
    more: Callable[[Any], list[Any]] = lambda _: [],
    code_of: CodeOf = lambda *_: None,
) -> Any:
    """Return the library's environment for texts with these variables. Raises
    CelMissingError.

    more: function of the library's module that returns further functions of CEL.
    code_of: argument of `functions`; without it nothing can be evaluated.
    """
    library = _library()
    return _environment(
        library,
        dict.fromkeys(variables, library.Type.DYN),
        [
            _kubernetes(library, is_typed=False, code_of=code_of),
            library.CelExtension("more", more(library)),
        ],
    )


def typed_compiler(
    variables: Callable[[Any], Mapping[str, Any]], pool: Any
) -> Callable[[str], str]:
    """Return a function that checks an expression and returns its type's name.

    variables: makes their types, with the library's module. pool: the messages of
    protobuf that types may name. Raises CelMissingError; the function raises RuleError.
    """
    library = _library()
    typed = _environment(
        library,
        variables(library),
        [_kubernetes(library, is_typed=True, code_of=lambda *_: None)],
        pool,
    )

    def gives(text: str) -> str:
        return str(compiled(typed, text).return_type().name())

    return gives


def _library() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise CelMissingError(
            f"rules and conditions need the CEL engine: {pip_command('cel')}"
        ) from error
    return cel


def _environment(
    library: Any,
    variables: Mapping[str, Any],
    extensions: Sequence[Any],
    pool: Any = None,
) -> Any:
    names = "".join(f"- name: {name}\n" for name in _EXTENSIONS)
    return library.NewEnv(
        descriptor_pool=pool,
        config=library.NewEnvConfigFromYaml(f"extensions:\n{names}"),
        variables=variables,
        extensions=extensions,
    )


@cache
def _kubernetes(library: Any, *, is_typed: bool, code_of: CodeOf) -> Any:
    """Return the functions of Kubernetes, which environments share."""
    own = functions(library, is_typed=is_typed, code_of=code_of)
    return library.CelExtension("kubernetes", own)


def compiled(environment: Any, text: str) -> Any:
    """Return the library's form of a text. Raises RuleError."""
    with LOCK:
        try:
            found = environment.compile(text)
        except RuntimeError as error:
            report = str(error).removesuffix(" [INVALID_ARGUMENT]")
            message = _FIRST.search(report)
            shown = f"ERROR: {message[1]}" if message else report
            raise RuleError(f"compilation failed: {shown}") from error
        if any(name in text for name in _WITH_PATTERNS):
            _check_patterns(parsed(bytes(found.serialize())))
        return found


def _check_patterns(node: ExpressionNode) -> None:
    """Check that constant patterns are regular expressions. Raises RuleError."""
    if node.kind == "call" and node.name in _WITH_PATTERNS:
        stated = node.parts[1].value if len(node.parts) > 1 and node.parts[1] else None
        if isinstance(stated, bytes):
            try:
                patterns.compiled(stated.decode())
            except patterns.SchemaPatternError as error:
                raise RuleError(f"program instantiation failed: {error}") from error
    for part in node.parts:
        if part is not None:
            _check_patterns(part)
