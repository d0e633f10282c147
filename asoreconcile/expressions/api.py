"""Expressions as the rest of the project sees them: check one, evaluate one.

    expressions = shared()
    checked = expressions.check(version, "self.status.id + secret.key1")
    checked.secrets                                    # frozenset({"key1"})
    expressions.evaluate(version, text, obj=obj, secrets={"key1": ...})

Safe from any thread. Blocking: each call waits for one of the engine's processes, 2 s
of work at most for an answer, and 10 s for its turn.
"""

import atexit
import copy
import hashlib
import os
from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
from typing import Literal, Protocol, Self

import attrs

from asoreconcile import jsontext
from asoreconcile.clock import Clock, SystemClock
from asoreconcile.errors import AsoreconcileError
from asoreconcile.expressions.limits import Limits, Recent
from asoreconcile.expressions.metrics import ExpressionMetrics, Work
from asoreconcile.expressions.pool import EnginePool
from asoreconcile.expressions.process import EngineLimitError
from asoreconcile.objects import GroupVersionKind, JsonObject, key_of

# CEL's own limit is six times as much; what nobody writes by hand only costs memory.
MAX_LENGTH = 16 * 1024
_MAX_MESSAGE = 500


class ExpressionError(AsoreconcileError):
    """An expression is wrong, or failed on an object; the message says where and what,
    and holds no value of a secret.
    """


class ExpressionLimitError(ExpressionError):
    """An expression asks for more time or memory than it may have."""


class Typed(Hashable, Protocol):
    """What `self` is (`catalogue.kinds.KindVersion`)."""

    @property
    def gvk(self) -> GroupVersionKind:
        """Group, version and kind, by which compiled expressions are kept."""

    @property
    def schema(self) -> JsonObject:
        """The OpenAPI schema of the whole object, which expressions are checked
        against.
        """


class Asks(Protocol):
    """A way to the engine (`pool.EnginePool`)."""

    def ask(self, request: JsonObject, *, namespace: str) -> JsonObject:
        """Send a request to an engine process and wait for its answer.

        Blocking, up to the pool's limit for one request. namespace: whose turn it
        takes.
        """


@attrs.frozen
class Checked:
    """What is known of an expression before it runs.

    gives: one string, or a map of strings. secrets: the names it takes from `secret`.
    whole: it uses `secret` as a map too, so that nobody can tell its names.
    """

    gives: Literal["string", "map"]
    secrets: frozenset[str]
    whole: bool = False


class Expressions:
    """Checks and evaluates expressions over any kind version.

    One that asked for too much is refused without being run again, for a while that
    doubles each time; it costs nobody else anything meanwhile.
    """

    def __init__(self, engine: Asks, *, clock: Clock) -> None:
        self._engine = engine
        self._metrics: ExpressionMetrics | None = None
        self._kind = lru_cache(maxsize=1024)(_kind)
        self._checked = Recent[tuple[Typed, str], Checked | ExpressionError](1024)
        self._limits = Limits(clock)

    def counted_by(self, metrics: ExpressionMetrics) -> Self:
        """The same engine, and what is known of expressions; the work that is asked for
        here is counted in these families, and in no others.
        """
        counted = copy.copy(self)
        counted._metrics = metrics  # noqa: SLF001 - of this class
        return counted

    def check(self, version: Typed, text: str, *, namespace: str = "") -> Checked:
        """Compile an expression. namespace: of who wrote it.

        Raises ExpressionError, EngineMissingError, EngineBusyError.
        """
        known = self._checked.get((version, text))
        if known is None:
            try:
                known = self._check(version, text, namespace)
            except ExpressionLimitError:
                raise
            except ExpressionError as error:
                known = error
            self._checked.put((version, text), known)
        if isinstance(known, ExpressionError):
            raise ExpressionError(str(known))
        return known

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
        Raises ExpressionError, EngineMissingError, EngineBusyError.
        """
        given = {"self": obj, "secret": dict(secrets)}
        key = key_of(obj)
        value: str | dict[str, str]
        value = self._ask(version, text, given, key.namespace, str(key))["value"]
        return value

    def _check(self, version: Typed, text: str, namespace: str) -> Checked:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(
                f"has {len(text)} characters, more than the {MAX_LENGTH} allowed"
            )
        answer = self._ask(version, text, {}, namespace, "")
        return Checked(answer["gives"], frozenset(answer["secrets"]), answer["whole"])

    def _ask(
        self, version: Typed, text: str, more: JsonObject, namespace: str, name: str
    ) -> JsonObject:
        """name: of the object, for what it is that asks for too much; "" is any."""
        request = {"kind": self._kind(version), "text": text, **more}
        key = (request["kind"], text, name)
        if refusal := self._limits.refusal(key):
            raise ExpressionLimitError(refusal)
        try:
            answer = self._engine.ask(request, namespace=namespace)
            if "needs" in answer:
                request = {**request, "schema": version.schema}
                answer = self._engine.ask(request, namespace=namespace)
        except EngineLimitError as error:
            answer = {"limit": str(error)}
        if self._metrics is not None and "work" in answer:
            gvk = version.gvk
            resource = f"{gvk.api_version}, Kind={gvk.kind}"
            self._metrics.answered(resource, Work(*answer["work"]))
        if "limit" in answer:
            self._limits.reached(key, answer["limit"])
            raise ExpressionLimitError(answer["limit"])
        self._limits.kept(key)
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


def shared() -> Expressions:
    """The expressions of this process; an engine starts with the first of them. A
    forked one has its own.
    """
    return _of_process(os.getpid())


@cache
def _of_process(_pid: int) -> Expressions:
    clock = SystemClock()
    engine = EnginePool(clock=clock)
    atexit.register(engine.close)
    return Expressions(engine, clock=clock)
