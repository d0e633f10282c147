"""A recording as a script: what to answer to which request, at which point.

Recordings interleave several workers and outlive their resources: what counts is not
the order of the whole, but the order of each resource's own reads between its writes.
"""

import urllib.parse
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import attrs

from asoreconcile.testing.replay.exchanges import Exchange, Target, target_of

_MONITOR_HEADERS = ("azure-asyncoperation", "location")
_ACCEPTED, _REFUSED = 300, 400


@attrs.frozen
class Take:
    """One recorded answer. generation: PUTs of its path so far, itself included."""

    exchange: Exchange
    generation: int


@attrs.define
class Script:
    """puts, deletes, actions: takes in order. reads: by target and generation.

    monitors: the polls of long-running operations. resources: paths that are PUT.
    Runs of equal reads, and of equal refusals of a PUT, are cut to one: how many there
    are says when somebody asked, not what Azure does.
    """

    puts: dict[Target, list[Take]] = attrs.field(factory=lambda: defaultdict(list))
    deletes: dict[Target, list[Take]] = attrs.field(factory=lambda: defaultdict(list))
    actions: dict[Target, list[Take]] = attrs.field(factory=lambda: defaultdict(list))
    reads: dict[tuple[Target, int], list[Take]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    monitors: dict[Target, list[Take]] = attrs.field(factory=lambda: defaultdict(list))
    resources: dict[str, str] = attrs.field(factory=dict)


def script_of(exchanges: Sequence[Exchange]) -> Script:
    """The script of one recording."""
    reader = _Reader()
    for exchange in exchanges:
        reader.read(exchange)
    return reader.script


def monitors_of(exchange: Exchange) -> list[Target]:
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
        self._monitors: set[Target] = set()

    def read(self, exchange: Exchange) -> None:
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

    def _add(self, exchange: Exchange, take: Take) -> None:
        target, script = exchange.target, self.script
        if target.method == "GET" and target in self._monitors:
            takes = script.monitors[target]
            takes[:] = without_repeats([*takes, take])
        elif any(is_within(target.path, path) for path in self._deleted):
            return  # said of what is gone: true only after the same deletion
        elif target.method == "PUT":
            takes = script.puts[target]
            if exchange.status >= _REFUSED:
                takes[:] = without_repeats([*takes, take])
            else:
                takes.append(take)
        elif target.method == "DELETE":
            script.deletes[target].append(take)
        elif target.method == "POST":
            script.actions[target].append(take)
        elif target.method == "GET":
            reads = script.reads[target, take.generation]
            reads[:] = without_repeats([*reads, take])


def _essence(exchange: Exchange) -> tuple[int, object]:
    """What makes an answer another one: not how far an operation is, or when."""
    answer = exchange.answer
    if not isinstance(answer, dict):
        return exchange.status, answer
    error = answer.get("error")
    if isinstance(error, dict):
        return exchange.status, error.get("code")
    status = answer.get("status")
    return exchange.status, status if isinstance(status, str) else answer
