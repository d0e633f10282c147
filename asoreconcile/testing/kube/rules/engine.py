"""The CEL engine of the API server: it compiles a text and evaluates it."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import attrs

from asoreconcile.resources.cel.engine import LOCK, RuleError, compiled, environment
from asoreconcile.testing.kube.rules.functions import code_of

_OUT_OF_BUDGET = "Iteration budget exceeded"
_NO_KEY = re.compile(r'Key not found in map : "(.*)"')


class TooDearError(RuleError):
    """An evaluation that was cancelled because it took too long."""


@attrs.frozen
class CelProgram:
    """A compiled expression. gives: the CEL type of the result: BOOL, STRING, DYN."""

    gives: str
    _run: Any = attrs.field(repr=False)

    def run(self, values: Mapping[str, Any]) -> Any:
        """Return the result for values of the variables. Raises RuleError."""
        with LOCK:
            try:
                result = self._run.eval(data=dict(values))
                found = result.plain_value()
                failed = result.type().name() == "ERROR"
            except RuntimeError as error:
                raise _failure(str(error)) from error
        if failed:
            raise _failure(str(found))
        return found


@cache
def program(
    text: str,
    variables: tuple[str, ...],
    functions: Callable[[Any], list[Any]] = lambda _: [],
) -> CelProgram:
    """Compile a text with these variables. Raises RuleError, CelMissingError.

    functions: returns further functions, given the library's module.
    """
    found = compiled(environment(variables, functions, code_of), text)
    return CelProgram(str(found.return_type().name()), found)


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
