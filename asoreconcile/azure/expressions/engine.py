"""Compile and run expressions for one kind version, in this process.

Time and memory are not limited here: `worker_main` runs the engine in a process with
limits. The engine stops after ten thousand steps of loops, but a few steps can fill any
memory.
"""

import difflib
import re
from typing import Any, Literal

import attrs
from google.protobuf.message import Message

from asoreconcile.azure.expressions.environment import environment
from asoreconcile.azure.expressions.proto_schema import PACKAGE, SelfType
from asoreconcile.azure.expressions.rebalance import balanced, original_column
from asoreconcile.azure.expressions.syntax import SecretUse, completed, secret_use
from asoreconcile.base.objects import JsonObject

OutputKind = Literal["string", "map"]
# The maximum size of a Secret or ConfigMap; etcd's limit is little more.
MAX_OUTPUT_BYTES = 1024 * 1024

_KINDS: dict[str, OutputKind] = {"STRING": "string", "MAP<STRING, STRING>": "map"}
_COMPLAINT = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNDEFINED = re.compile(r"undefined field '(\w+)' not found in struct '([\w.]+)'")
_TOO_DEEP = "recursion"
# Macros that expand to their target twice: a chain of them grows exponentially, and so
# do the compiler's time and memory.
_COPYING = re.compile(r"\.\s*opt(?:Flat)?Map\b")
_MAX_COPIES = 8
_MAX_PROBLEMS = 3
_MAX_PROGRAMS = 256
_DECLARED = (
    "there are self, secret, the functions and macros of CEL, its strings extension, "
    "optionals, two-variable comprehensions and aso.parseResourceId"
)


class CompileError(Exception):
    """The expression is wrong; the message says where and why."""


class EvaluationError(Exception):
    """The expression failed on this object."""


@attrs.frozen
class Program:
    """A compiled expression, the type of its value and the secrets that it uses."""

    kind: OutputKind
    secrets: SecretUse
    _run: Any = attrs.field(repr=False)

    def evaluate(
        self, message: Message, secrets: dict[str, str]
    ) -> str | dict[str, str]:
        """Run the program. Raises EvaluationError, whose text contains no value of a
        secret.
        """
        try:
            result = self._run.eval(data={"self": message, "secret": secrets})
        except RuntimeError as error:
            raise EvaluationError(self._failure(str(error))) from None
        value = result.plain_value()
        if result.type().name() == "ERROR":
            raise EvaluationError(self._failure(str(value)))
        return _checked(value, self.kind)

    def _failure(self, detail: str) -> str:
        if "Iteration budget exceeded" in detail:
            return "takes too many steps: loop over less"
        if self.secrets.names:
            # The engine quotes keys and texts, which may contain a secret.
            code = detail.partition(":")[0].capitalize().replace("_", " ")
            return f"{code} (no more is shown, for it uses secrets)"
        return detail.partition(": ")[2] or detail


class Engine:
    """All expressions for one kind version. Not thread-safe."""

    def __init__(self, schema: JsonObject) -> None:
        self._type = SelfType(schema)
        self._environment = environment(self._type)
        self._programs: dict[str, Program] = {}

    def message(self, obj: JsonObject) -> Message:
        """Return an object as `self`, for any number of evaluations."""
        return self._type.message(obj)

    def knows(self, text: str) -> bool:
        """Return whether an expression has been compiled."""
        return text in self._programs

    def compile(self, text: str) -> Program:
        """Compile an expression. Raises CompileError."""
        if text not in self._programs:
            if len(self._programs) >= _MAX_PROGRAMS:
                self._programs.clear()
            self._programs[text] = self._compiled(text)
        return self._programs[text]

    def _compiled(self, text: str) -> Program:
        copies = len(_COPYING.findall(text))
        if copies > _MAX_COPIES:
            raise CompileError(
                f"uses optMap and optFlatMap {copies} times, at most {_MAX_COPIES}: "
                "each one doubles what is before it"
            )
        run = self._parsed(text)
        type_name = str(run.return_type().name())
        if type_name not in _KINDS:
            raise CompileError(_wrong_type(type_name))
        serialized = run.serialize()
        replaced = completed(serialized)
        if replaced is not None:
            run = self._environment.deserialize(replaced)
        return Program(_KINDS[type_name], secret_use(serialized), run)

    def _parsed(self, text: str) -> Any:
        """Return the checked form of an expression. Raises CompileError."""
        given = text
        try:
            try:
                return self._environment.compile(text)
            except RuntimeError as error:
                if _TOO_DEEP not in str(error):
                    raise
            given = balanced(text)
            return self._environment.compile(given)
        except RuntimeError as error:
            raise CompileError(self._problems(str(error), text, given)) from None

    def _problems(self, report: str, text: str, given: str) -> str:
        """Return the engine's report about an expression in one line."""
        if _TOO_DEEP in report:
            return "is nested too deeply, 32 levels at most: take it apart"
        found = []
        for line, column, what in _COMPLAINT.findall(report):
            if "'*error*'" in what:
                continue  # a consequence of another error
            place = original_column(text, given, int(line), int(column))
            described = f"at {line}:{place}: {self._explained(what)}"
            if described not in found:
                found.append(described)
        if any("undeclared reference" in described for described in found):
            found = [*found[:_MAX_PROBLEMS], _DECLARED]
        return "; ".join(found[: _MAX_PROBLEMS + 1]) or report.partition("\n")[0]

    def _explained(self, what: str) -> str:
        undefined = _UNDEFINED.search(what)
        if undefined:
            name, type_name = undefined.groups()
            known = self._type.fields_of(type_name)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else _listed(known)
            return f"undefined field {name!r}; {hint}"
        return what.partition(" expecting {")[0].replace(" (in container '')", "")


def _listed(names: list[str]) -> str:
    shown = ", ".join(sorted(names)[:12])
    return f"known here: {shown}{', ...' if len(names) > 12 else ''}"


def _wrong_type(name: str) -> str:
    shown = "an object" if name.startswith(f"{PACKAGE}.") else name.lower()
    if name.startswith("optional_type"):
        hint = "end it with .orValue('')"
    elif name.startswith(f"{PACKAGE}."):
        hint = "name one of its fields"
    elif name.startswith("MAP"):
        hint = "make each key and value of the map a string"
    else:
        hint = "wrap it in string(...)"
    return f"returns {shown}, not string or map(string, string): {hint}"


def _checked(value: Any, kind: OutputKind) -> str | dict[str, str]:
    """Return the result if it is neither empty nor too long; else raise
    EvaluationError.

    value: a result of the promised type; members of a map are checked here.
    """
    if not value:
        raise EvaluationError(f"gives an empty {kind}")
    texts = [value] if kind == "string" else [*value, *value.values()]
    if not all(isinstance(text, str) for text in texts):
        raise EvaluationError("gives a map whose keys or values are not all strings")
    size = sum(len(text.encode()) for text in texts)
    if size > MAX_OUTPUT_BYTES:
        raise EvaluationError(
            f"gives {size} bytes, which is more than the {MAX_OUTPUT_BYTES} that fit"
        )
    return value  # type: ignore[no-any-return]
