"""The CEL engine for rules and conditions: it compiles a text and evaluates it.

The library (`pip install 'CLONE[cel]'`) is loaded with the first rule. Without it,
CelMissingError is raised, so that no rule is accepted and then ignored. Values come
from `values`. The engine checks types as far as constants tell them.
"""

import re
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import attrs

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.extras import pip_command
from asoreconcile.resources.cel import functions as of_values
from asoreconcile.resources.cel import lists
from asoreconcile.resources.cel.syntax import ExpressionNode, parsed
from asoreconcile.resources.crds import patterns

_EXTENSIONS = ("optional", "strings", "sets", "two-var-comprehensions")
_FIRST = re.compile(r"ERROR: (<input>:-?\d+:-?\d+: .*)", re.DOTALL)
_WITH_PATTERNS = ("find", "findAll", "matches")
_OUT_OF_BUDGET = "Iteration budget exceeded"
_NO_KEY = re.compile(r'Key not found in map : "(.*)"')


class CelMissingError(AsoreconcileError):
    """The CEL library is not installed."""


class RuleError(Exception):
    """A rule that is wrong or that failed on a value. The text explains it."""


class TooDearError(RuleError):
    """An evaluation that was cancelled because it took too long."""


class CelProgram(Protocol):
    """A compiled rule."""

    @property
    def gives(self) -> str:
        """Return the CEL type of the result: BOOL, STRING, DYN, ..."""

    @property
    def tree(self) -> bytes:
        """Return the checked syntax tree, in the format that `syntax` reads."""

    def run(self, values: Mapping[str, Any]) -> Any:
        """Return the result for values of the variables. Raises RuleError."""


class CelEngine(Protocol):
    """A compiler of rules (the CEL package). Tests of rules replace it by a table."""

    def compile(self, text: str) -> CelProgram:
        """Compile a text. Raises RuleError."""


@cache
def engine(
    variables: tuple[str, ...] = ("self", "oldSelf"),
    functions: Callable[[Any], list[Any]] | None = None,
) -> CelEngine:
    """Return an engine for texts with these variables. Raises CelMissingError.

    functions: returns further functions, given the library's module.
    """
    library = _library()
    return _Engine(
        _environment(library, dict.fromkeys(variables, library.Type.DYN), functions)
    )


def typed_compiler(
    variables: Callable[[Any], Mapping[str, Any]], pool: Any
) -> Callable[[str], str]:
    """Return a function that checks an expression and returns its type's name.

    variables: makes their types, with the library's module. pool: the messages of
    protobuf that types may name. Raises CelMissingError; the function raises RuleError.
    """
    library = _library()
    environment = _environment(library, variables(library), pool=pool)

    def gives(text: str) -> str:
        return str(_compiled(environment, text).return_type().name())

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
    functions: Callable[[Any], list[Any]] | None = None,
    pool: Any = None,
) -> Any:
    names = "".join(f"- name: {name}\n" for name in _EXTENSIONS)
    return library.NewEnv(
        descriptor_pool=pool,
        config=library.NewEnvConfigFromYaml(f"extensions:\n{names}"),
        variables=variables,
        extensions=[
            _kubernetes(library, is_typed=pool is not None),
            *([library.CelExtension("more", functions(library))] if functions else []),
        ],
    )


@cache
def _kubernetes(library: Any, *, is_typed: bool) -> Any:
    """Return the functions of Kubernetes, which all environments share."""
    of_lists = lists.typed_functions if is_typed else lists.functions
    own = [*of_lists(library), *of_values.functions(library, is_typed=is_typed)]
    return library.CelExtension("kubernetes", own)


def _compiled(environment: Any, text: str) -> Any:
    try:
        return environment.compile(text)
    except RuntimeError as error:
        report = str(error).removesuffix(" [INVALID_ARGUMENT]")
        message = _FIRST.search(report)
        shown = f"ERROR: {message[1]}" if message else report
        raise RuleError(f"compilation failed: {shown}") from error


class _Engine:
    """An engine that compiles each text once. Safe to use from any thread."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._programs: dict[str, _Program] = {}

    def compile(self, text: str) -> CelProgram:
        with self._lock:
            found = self._programs.get(text)
            if found is None:
                found = self._programs[text] = self._compiled(text)
            return found

    def _compiled(self, text: str) -> "_Program":
        run = _compiled(self._environment, text)
        made = _Program(str(run.return_type().name()), run, self._lock)
        if any(name in text for name in _WITH_PATTERNS):
            _check_patterns(parsed(bytes(run.serialize())))
        return made


def _check_patterns(node: ExpressionNode) -> None:
    """Refuse a constant that is not a regular expression. Raises RuleError."""
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


@attrs.frozen
class _Program:
    gives: str
    _run: Any = attrs.field(repr=False)
    # The library documents nothing about threads, and a test server can wait for a
    # lock.
    _lock: Any = attrs.field(repr=False, eq=False)

    @property
    def tree(self) -> bytes:
        with self._lock:
            serialized: bytes = self._run.serialize()
        return serialized

    def run(self, values: Mapping[str, Any]) -> Any:
        with self._lock:
            try:
                result = self._run.eval(data=dict(values))
                found = result.plain_value()
                failed = result.type().name() == "ERROR"
            except RuntimeError as error:
                raise _failure(str(error)) from error
        if failed:
            raise _failure(str(found))
        return found


def _failure(report: str) -> RuleError:
    if _OUT_OF_BUDGET in report:
        return TooDearError("operation cancelled: actual cost limit exceeded")
    return RuleError(_message_of(report))


def _message_of(report: str) -> str:
    """Return a failure in the wording of the API server's engine, if that is known."""
    missing = _NO_KEY.search(report)
    if missing:
        return f"no such key: {missing[1]}"
    return report.partition(": ")[2] or report
