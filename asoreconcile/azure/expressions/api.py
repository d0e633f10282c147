"""The interface of the expressions package: check an expression, evaluate it.

    expressions = shared()
    checked = expressions.check(version, "self.status.id + secret.key1")
    checked.secrets                                    # frozenset({"key1"})
    expressions.evaluate(version, text, obj=obj, secrets={"key1": ...})

Safe from any thread. Blocking: each call waits for one of the engine's processes, at
most 2 s of work for a result and 10 s for its turn.
"""

import atexit
import copy
import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, Protocol, Self

import attrs

from asoreconcile.azure.expressions.metrics import ExpressionMetrics, Work
from asoreconcile.azure.expressions.process import EngineLimitError, EngineProcess
from asoreconcile.base import jsontext
from asoreconcile.base.backoff import exponential
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.fair_share import FairShare
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import GroupVersionKind, JsonObject, key_of

_FIRST_PAUSE_SECONDS = 10.0
_LAST_PAUSE_SECONDS = 600.0
_MAX_CULPRITS = 4096


@attrs.frozen
class _Reached:
    """A limit that was reached, and the time until which the expression is refused."""

    why: str
    times: int
    until: float


class Limits:
    """The expressions that are refused: for 10 s at first, then twice as long each
    time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reached = LruCache[Hashable, _Reached](_MAX_CULPRITS)

    def refusal(self, key: Hashable) -> str:
        """Return why an expression is refused now, as last reported; "" if it
        is not.
        """
        known = self._reached.get(key)
        if known is None or known.until <= self._clock.monotonic():
            return ""
        return known.why

    def reached(self, key: Hashable, why: str) -> None:
        """Refuse `key` from now on: for 10 s at first, then twice as long each time."""
        known = self._reached.get(key)
        times = known.times if known else 0
        pause = exponential(_FIRST_PAUSE_SECONDS, times, _LAST_PAUSE_SECONDS)
        until = self._clock.monotonic() + pause
        self._reached.put(key, _Reached(why, times + 1, until))

    def kept(self, key: Hashable) -> None:
        """Record that an expression stayed within its limits."""
        self._reached.pop(key)


PROCESSES = 3
"""The most processes that evaluate: each takes 30 MB, and starts if none is free."""


class EnginePool:
    """Handles a few requests at a time. Safe from any thread, blocking."""

    def __init__(
        self,
        *,
        clock: Clock,
        make: Callable[[], EngineProcess] = EngineProcess,
        processes: int = PROCESSES,
    ) -> None:
        self._clock = clock
        self._made_in = os.getpid()
        self._engines: Sequence[EngineProcess] = [make() for _ in range(processes)]
        self._fair_share = FairShare(self._engines, clock=clock, work="expressions")

    def ask(self, request: JsonObject, *, namespace: str) -> JsonObject:
        """Return the response to one request. namespace: the namespace whose share is
        used.

        Raises EngineMissingError, EngineLimitError, EngineBusyError.
        Raises RuntimeError in a process that was forked since: two processes on one
        channel would get each other's responses.
        """
        if self._made_in != os.getpid():
            raise RuntimeError(
                "these engines belong to the process that this one was forked from:"
                " make some here"
            )
        number, engine = self._fair_share.acquire(namespace)
        began = self._clock.monotonic()
        try:
            return engine.ask(request)
        finally:
            seconds = self._clock.monotonic() - began
            self._fair_share.release(number, namespace, seconds)

    def close(self) -> None:
        """End the processes; a later request starts one again.

        In a process that was forked since, this does nothing: the processes are not its
        own, and a lock that another thread held at the fork is never released there.
        """
        if self._made_in != os.getpid():
            return
        for engine in self._engines:
            engine.close()


# CEL's own limit is six times as much, but people do not write such texts by hand, and
# they cost memory.
MAX_LENGTH = 16 * 1024
_MAX_MESSAGE = 500


class ExpressionError(AsoreconcileError):
    """An expression is wrong, or failed on an object.

    The message says where and why, and contains no value of a secret.
    """


class ExpressionLimitError(ExpressionError):
    """An expression needs more time or memory than it may use."""


class Typed(Hashable, Protocol):
    """The type of `self` (`catalogue.kinds.KindVersion`)."""

    @property
    def gvk(self) -> GroupVersionKind:
        """Group, version and kind, by which compiled expressions are cached."""

    @property
    def schema(self) -> JsonObject:
        """The OpenAPI schema of the whole object, which expressions are checked
        against.
        """


@attrs.frozen
class Checked:
    """The facts about an expression that are known before it runs.

    gives: one string, or a map of strings.
    secrets: the names that it reads from `secret`.
    whole: true if it also uses `secret` as a map, so that the names are not known.
    """

    gives: Literal["string", "map"]
    secrets: frozenset[str]
    whole: bool = False


class Expressions:
    """Checks and evaluates expressions for any kind version.

    An expression that exceeded a limit is refused for a while, which doubles each time,
    without being run again. Meanwhile it does not delay other expressions.
    """

    def __init__(self, engine: EnginePool, *, clock: Clock) -> None:
        self._engine = engine
        self._metrics: ExpressionMetrics | None = None
        self._kind = lru_cache(maxsize=1024)(_kind)
        self._checked = LruCache[tuple[Typed, str], Checked | ExpressionError](1024)
        self._limits = Limits(clock)

    def counted_by(self, metrics: ExpressionMetrics) -> Self:
        """Return a copy with the same engine and caches that counts its work in these
        metrics.
        """
        counted = copy.copy(self)
        counted._metrics = metrics  # noqa: SLF001 - of this class
        return counted

    def check(self, version: Typed, text: str, *, namespace: str = "") -> Checked:
        """Compile an expression. namespace: the namespace of its author.

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
        """Return the value of an expression for an object: never empty, at most 1 MiB.

        secrets: the values of the names that `check` returned.

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
        """Send one request. name: the object whose limit is checked; "" for all
        objects.
        """
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
    """Shorten a message: errors quote keys and names of any length."""
    if len(message) <= _MAX_MESSAGE:
        return message
    return f"{message[:_MAX_MESSAGE]}..."


def _kind(version: Typed) -> str:
    """Return a name for the type of `self`; two catalogues may differ in a version."""
    digest = hashlib.sha256(jsontext.dumps(version.schema)).hexdigest()
    return f"{version.gvk} {digest}"


def shared() -> Expressions:
    """Return the expressions of this process. The first expression starts an engine.

    A forked process gets its own.
    """
    return _of_process(os.getpid())


@cache
def _of_process(_pid: int) -> Expressions:
    clock = SystemClock()
    engine = EnginePool(clock=clock)
    atexit.register(engine.close)
    return Expressions(engine, clock=clock)
