"""Expressions as the rest of the project sees them: check one, evaluate one.

    expressions = shared()
    checked = expressions.check(version, "self.status.id + secret.key1")
    checked.secrets                                    # frozenset({"key1"})
    expressions.evaluate(version, text, obj=obj, secrets={"key1": ...})

Safe from any thread. Blocking: each call waits for the engine's process, 2 s at most
for an answer.
"""

import atexit
import hashlib
from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
from typing import Literal, Protocol

import attrs

from asoreconcile import jsontext
from asoreconcile.errors import AsoError
from asoreconcile.expressions.process import EngineLimitError, EngineProcess
from asoreconcile.objects import GroupVersionKind, JsonObject

# CEL's own limit is six times as much; what nobody writes by hand only costs memory.
MAX_LENGTH = 16 * 1024
_MAX_MESSAGE = 500


class ExpressionError(AsoError):
    """An expression is wrong, or failed on an object; the message says where and what,
    and holds no value of a secret.
    """


class ExpressionLimitError(ExpressionError):
    """An expression asks for more time or memory than it may have."""


class Typed(Hashable, Protocol):
    """What `self` is (`catalogue.kinds.KindVersion`)."""

    @property
    def gvk(self) -> GroupVersionKind: ...

    @property
    def schema(self) -> JsonObject: ...


class Asks(Protocol):
    """A way to the engine (`process.EngineProcess`)."""

    def ask(self, request: JsonObject) -> JsonObject: ...


@attrs.frozen
class Checked:
    """What is known of an expression before it runs.

    gives: one string, or a map of strings. secrets: the names it takes from `secret`.
    """

    gives: Literal["string", "map"]
    secrets: frozenset[str]


class Expressions:
    """Checks and evaluates expressions over any kind version."""

    def __init__(self, engine: Asks) -> None:
        self._engine = engine
        self._kind = lru_cache(maxsize=1024)(_kind)
        self._checked = lru_cache(maxsize=1024)(self._check)

    def check(self, version: Typed, text: str) -> Checked:
        """Compile an expression. Raises ExpressionError, EngineMissingError."""
        return self._checked(version, text)

    def evaluate(
        self,
        version: Typed,
        text: str,
        *,
        obj: JsonObject,
        secrets: Mapping[str, str],
    ) -> str | dict[str, str]:
        """What an expression gives on an object: never empty, at most 1 MiB.

        secrets: the values of the names that `check` told.
        Raises ExpressionError, EngineMissingError.
        """
        given = {"self": obj, "secret": dict(secrets)}
        value: str | dict[str, str] = self._ask(version, text, given)["value"]
        return value

    def _check(self, version: Typed, text: str) -> Checked:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(
                f"has {len(text)} characters, more than the {MAX_LENGTH} allowed"
            )
        answer = self._ask(version, text, {})
        if answer["whole"]:
            raise ExpressionError(
                "uses secret without a name: write secret.<name> for each one, so that "
                "it can be told which ones to ask Azure for"
            )
        return Checked(answer["gives"], frozenset(answer["secrets"]))

    def _ask(self, version: Typed, text: str, more: JsonObject) -> JsonObject:
        request = {"kind": self._kind(version), "text": text, **more}
        try:
            answer = self._engine.ask(request)
            if "needs" in answer:
                answer = self._engine.ask({**request, "schema": version.schema})
        except EngineLimitError as error:
            raise ExpressionLimitError(str(error)) from error
        if "limit" in answer:
            raise ExpressionLimitError(answer["limit"])
        if "error" in answer:
            raise ExpressionError(_shortened(answer["error"]))
        return answer


def _shortened(message: str) -> str:
    """Errors quote keys and names, which may be of any length."""
    if len(message) <= _MAX_MESSAGE:
        return message
    return f"{message[:_MAX_MESSAGE]}..."


def _kind(version: Typed) -> str:
    """A name for the type of `self`: two catalogues may differ on a version."""
    digest = hashlib.sha256(jsontext.dumps(version.schema)).hexdigest()
    return f"{version.gvk} {digest}"


@cache
def shared() -> Expressions:
    """The expressions of this process; its engine starts with the first of them."""
    engine = EngineProcess()
    atexit.register(engine.close)
    return Expressions(engine)
