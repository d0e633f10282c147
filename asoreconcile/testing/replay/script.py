"""A recording as a script: what to answer to which request, at which point.

Recordings interleave several workers and outlive their resources: what counts is not
the order of the whole, but the order of each resource's own reads between its writes.
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
    """One recorded answer. generation: PUTs of its path so far, itself included."""

    exchange: RecordedExchange
    generation: int


@attrs.define
class Script:
    """puts, deletes, actions: takes in order. reads: by target and generation.

    monitors: the polls of long-running operations. resources: paths that are PUT.
    Runs of equal reads, and of PUTs that failed alike, are cut to the last: how many
    there are says how often somebody asked, not what Azure does.
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
    """The script of one recording."""
    reader = _Reader()
    for exchange in exchanges:
        reader.read(exchange)
    script = reader.script
    for takes in script.puts.values():
        _cut_attempts(script, takes)
    return script


def fewest_requests(script: Script) -> Counter[str]:
    """How many requests the recorded client made until everything was there, by
    method, had it asked for nothing twice. Its deletions are left out.
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
    """The URLs an answer wants polled, as requests of their own."""
    found = []
    for name in _MONITOR_HEADERS:
        parts = urllib.parse.urlsplit(exchange.headers.get(name, ""))
        if parts.path:
            query = dict(urllib.parse.parse_qsl(parts.query))
            path = urllib.parse.unquote(parts.path)
            found.append(target_of("GET", path, query.get("api-version", "")))
    return found


def is_within(path: str, top: str) -> bool:
    """Whether a path is another one or below it; both in lower case."""
    return path == top or path.startswith(top + "/")


def without_repeats(takes: Iterable[Take]) -> list[Take]:
    """Runs of equal answers cut to their last, whatever their progress counters say."""
    kept: list[Take] = []
    for take in takes:
        if kept and _essence(kept[-1].exchange) == _essence(take.exchange):
            kept[-1] = take
        else:
            kept.append(take)
    return kept


class _Reader:
    """Goes through a recording once, knowing at each point what there is in Azure."""

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
        # Some answers name the resource itself: that is a read like any other.
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
            return  # said of what is gone: true only after the same deletion
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
    """Leave one of several PUTs in a row that failed alike, with what followed it."""
    kept: list[Take] = []
    for take in takes:
        before = _failure(script, kept[-1]) if kept else None
        if before is not None and before == _failure(script, take):
            _drop_consequences(script, kept.pop())
        kept.append(take)
    takes[:] = kept


def _failure(script: Script, take: Take) -> tuple[int, object] | None:
    """How a PUT failed, at once or later; None when it did not."""
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
    """What makes an answer another one: not how far an operation is, or when."""
    answer = exchange.answer
    if not isinstance(answer, dict):
        return exchange.status, answer
    error, status = answer.get("error"), answer.get("status")
    if isinstance(status, str):
        return exchange.status, status
    return exchange.status, error.get("code") if isinstance(error, dict) else answer
