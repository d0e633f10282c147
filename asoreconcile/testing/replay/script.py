"""A recording as a script: which answer belongs to which request, at which point.

Recordings mix the requests of several workers, and go on after their resources are
gone. So the script keeps, for each resource, the order of its own reads between its
writes, not the order of the whole recording.
"""

import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import attrs

from asoreconcile.testing.replay.exchanges import (
    ExchangeTarget,
    RecordedExchange,
    target_of,
)

_MONITOR_HEADERS = ("azure-asyncoperation", "location")
_ACCEPTED = 300
_REFUSED = 400


@attrs.frozen
class Take:
    """One recorded answer.

    generation: number of PUTs of the path so far, including this one.
    """

    exchange: RecordedExchange
    generation: int


@attrs.define
class Script:
    """A recording by request.

    puts, deletes, actions: takes in order.
    reads: takes by target and generation.
    monitors: polls of long-running operations.
    resources: paths that are PUT.

    A run of equal reads, or of PUTs that failed the same way, is reduced to its last
    take: the length of the run only tells how often the client asked.
    """

    puts: dict[ExchangeTarget, list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    deletes: dict[ExchangeTarget, list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    actions: dict[ExchangeTarget, list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    reads: dict[tuple[ExchangeTarget, int], list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    monitors: dict[ExchangeTarget, list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    resources: dict[str, str] = attrs.field(factory=dict)


def script_of(exchanges: Sequence[RecordedExchange]) -> Script:
    """Return the script of one recording."""
    reader = _Reader()
    for exchange in exchanges:
        reader.read(exchange)
    script = reader.script
    for takes in script.puts.values():
        _cut_attempts(script, takes)
    return script


def fewest_requests(script: Script) -> Counter[str]:
    """Return the smallest number of requests, by method, until everything existed.

    This counts the recorded client's requests as if each had been sent once, without
    deletions.
    """
    endings = {
        monitor
        for takes in script.deletes.values()
        for take in takes
        for monitor in monitors_of(take.exchange)
    }
    polls = (takes for m, takes in script.monitors.items() if m not in endings)
    return Counter(
        PUT=sum(map(len, script.puts.values())),
        POST=sum(map(len, script.actions.values())),
        GET=sum(map(len, script.reads.values())) + sum(map(len, polls)),
    )


def monitors_of(exchange: RecordedExchange) -> list[ExchangeTarget]:
    """Return the polling URLs of an answer, as requests."""
    found = []
    for name in _MONITOR_HEADERS:
        parts = urllib.parse.urlsplit(exchange.headers.get(name, ""))
        if parts.path:
            query = dict(urllib.parse.parse_qsl(parts.query))
            path = urllib.parse.unquote(parts.path)
            found.append(target_of("GET", path, query.get("api-version", "")))
    return found


def is_within(path: str, top: str) -> bool:
    """Return whether a path equals another one or is below it; both in lower case."""
    return path == top or path.startswith(top + "/")


def without_repeats(takes: Iterable[Take]) -> list[Take]:
    """Return the takes with each run of equal answers reduced to its last.

    Progress counters do not make answers different.
    """
    kept: list[Take] = []
    for take in takes:
        if kept and _essence(kept[-1].exchange) == _essence(take.exchange):
            kept[-1] = take
        else:
            kept.append(take)
    return kept


class _Reader:
    """One pass through a recording, which tracks the resources that exist."""

    def __init__(self) -> None:
        self.script = Script()
        self._generation: Counter[str] = Counter()
        self._deleted: list[str] = []
        self._monitors: set[ExchangeTarget] = set()

    def read(self, exchange: RecordedExchange) -> None:
        target = exchange.target
        if target.method == "PUT":
            self._generation[target.path] += 1
            if exchange.status < _ACCEPTED:
                self.script.resources.setdefault(target.path, exchange.path)
                self._deleted = [p for p in self._deleted if p != target.path]
        self._add(exchange, Take(exchange, self._generation[target.path]))
        if target.method == "DELETE" and exchange.status < _ACCEPTED:
            self._deleted.append(target.path)
        # Some answers name the resource itself. Such a request is a read like any
        # other.
        self._monitors.update(
            monitor
            for monitor in monitors_of(exchange)
            if monitor.path not in self._generation
        )

    def _add(self, exchange: RecordedExchange, take: Take) -> None:
        target, script = exchange.target, self.script
        if target.method == "GET" and target in self._monitors:
            takes = script.monitors[target]
            takes[:] = without_repeats([*takes, take])
        elif any(is_within(target.path, path) for path in self._deleted):
            # This answer describes a deleted resource, so it holds only after the same
            # deletion.
            return
        elif target.method == "PUT":
            script.puts[target].append(take)
        elif target.method == "DELETE":
            script.deletes[target].append(take)
        elif target.method == "POST":
            script.actions[target].append(take)
        elif target.method == "GET":
            reads = script.reads[target, take.generation]
            reads[:] = without_repeats([*reads, take])


def _cut_attempts(script: Script, takes: list[Take]) -> None:
    """Keep one of several PUTs in a row that failed the same way, with its answers."""
    kept: list[Take] = []
    for take in takes:
        before = _failure(script, kept[-1]) if kept else None
        if before is not None and before == _failure(script, take):
            _drop_consequences(script, kept.pop())
        kept.append(take)
    takes[:] = kept


def _failure(script: Script, take: Take) -> tuple[int, object] | None:
    """Return how a PUT failed, at once or later; None if it did not fail."""
    exchange = take.exchange
    if exchange.status >= _REFUSED:
        return _essence(exchange)
    for monitor in monitors_of(exchange):
        polls = script.monitors.get(monitor)
        answer = polls[-1].exchange.answer if polls else None
        if isinstance(answer, dict) and answer.get("status") == "Failed":
            return exchange.status, (answer.get("error") or {}).get("code")
    return None


def _drop_consequences(script: Script, take: Take) -> None:
    for monitor in monitors_of(take.exchange):
        script.monitors.pop(monitor, None)
    target = take.exchange.target
    for moment in list(script.reads):
        if moment[0].path == target.path and moment[1] == take.generation:
            del script.reads[moment]


def _essence(exchange: RecordedExchange) -> tuple[int, object]:
    """Return the parts of an answer that matter: neither progress nor times."""
    answer = exchange.answer
    if not isinstance(answer, dict):
        return exchange.status, answer
    error, status = answer.get("error"), answer.get("status")
    if isinstance(status, str):
        return exchange.status, status
    return exchange.status, error.get("code") if isinstance(error, dict) else answer
