"""The answers to requests from one recording, and a report of the mismatches.

The playback tracks each resource on its own: how many of its PUTs came, and whether the
resource exists. That decides which recorded answer a request gets. A request for which
nothing was recorded (such as a DELETE that the recorded client never sent) is answered
from the current state of the resources.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from asoreconcile.testing.replay.bodies import differences
from asoreconcile.testing.replay.exchanges import ExchangeTarget, RecordedExchange
from asoreconcile.testing.replay.script import (
    Script,
    Take,
    is_within,
    monitors_of,
    script_of,
)

_ACCEPTED = 300
_OK = 200


@attrs.frozen
class Played:
    """An answer.

    exchange: the recorded exchange that it comes from; None if nothing was recorded.
    """

    status: int
    body: Any = None
    exchange: RecordedExchange | None = None


@attrs.frozen
class Asked:
    """One request and the status of its answer."""

    method: str
    path: str
    api_version: str
    status: int


@attrs.frozen
class Summary:
    """The result of a replay so far.

    requests: number of requests by method.
    mismatches: differences of PUT bodies from the recorded ones, a line for each.
    unmatched: writes that the recording does not have.
    unanswered: reads that the recording does not have.
    not_sent: recorded PUTs that did not come.
    left: ids of resources that still exist.
    """

    requests: dict[str, int]
    mismatches: tuple[str, ...]
    unmatched: tuple[str, ...]
    unanswered: tuple[str, ...]
    not_sent: tuple[str, ...]
    left: tuple[str, ...]


class Playback:
    """Answers to requests from one recording. Not thread-safe."""

    def __init__(self, exchanges: Sequence[RecordedExchange]) -> None:
        self._script: Script = script_of(exchanges)
        self._generation: Counter[str] = Counter()
        self._served: Counter[object] = Counter()
        self._there: set[str] = set()
        self._gone: set[str] = set()
        self._newest: dict[str, RecordedExchange] = {}
        self._ending: dict[ExchangeTarget, str] = {}
        self.journal: list[Asked] = []
        self._mismatches: list[str] = []
        self._unmatched: list[str] = []
        self._unanswered: list[str] = []

    def play(self, target: ExchangeTarget, body: Any) -> Played:
        """Return the answer to a request.

        body: parsed JSON, or None.
        """
        played = self._answer(target, body)
        asked = Asked(target.method, target.path, target.api_version, played.status)
        self.journal.append(asked)
        return played

    def summary(self) -> Summary:
        """Return the requests so far, the mismatches, and the recorded requests that
        have not come.
        """
        names = self._script.resources
        return Summary(
            requests=dict(Counter(asked.method for asked in self.journal)),
            mismatches=tuple(self._mismatches),
            unmatched=tuple(self._unmatched),
            unanswered=tuple(self._unanswered),
            not_sent=tuple(str(t) for t in self._script.puts if not self._served[t]),
            left=tuple(names.get(path, path) for path in sorted(self._there)),
        )

    def _answer(self, target: ExchangeTarget, body: Any) -> Played:
        if target.method == "PUT":
            return self._put(target, body)
        if target.method == "DELETE":
            return self._delete(target)
        if target.method == "POST":
            return self._act(target)
        if target.method == "GET":
            return self._get(target)
        if target.method == "HEAD":
            return Played(204 if target.path in self._there else 404)
        return self._refuse(target)

    def _put(self, target: ExchangeTarget, body: Any) -> Played:
        takes = self._script.puts.get(target)
        if not takes:
            return self._refuse(target)
        self._compare(target, takes, body)
        if not self._has_owner(target.path):
            return _not_found(target, "ParentResourceNotFound")
        take = self._next(target, takes)
        exchange = take.exchange
        self._generation[target.path] = take.generation
        self._rewind(take)
        if exchange.status < _ACCEPTED:
            self._there.add(target.path)
            self._gone.discard(target.path)
            self._newest[target.path] = exchange
        return _recorded(exchange)

    def _get(self, target: ExchangeTarget) -> Played:
        if takes := self._script.monitors.get(target):
            return self._poll(target, takes)
        path = target.path
        moment = (target, self._generation[path])
        is_missing = path in self._script.resources and path not in self._there
        if path in self._gone or (is_missing and self._generation[path]):
            return _not_found(target, "ResourceNotFound")
        if takes := self._script.reads.get(moment):
            return _recorded(self._next(moment, takes).exchange)
        if is_missing:
            return _not_found(target, "ResourceNotFound")
        known = self._last_known(target)
        if known is None:
            self._unanswered.append(str(target))
            return _not_found(target, "NotRecorded")
        return Played(_OK, known.answer)

    def _poll(self, monitor: ExchangeTarget, takes: Sequence[Take]) -> Played:
        take = self._next(monitor, takes)
        if take is takes[-1] and monitor in self._ending:
            self._remove(self._ending.pop(monitor))
        return _recorded(take.exchange)

    def _delete(self, target: ExchangeTarget) -> Played:
        path = target.path
        if path not in self._there:
            if path not in self._script.resources:
                return self._refuse(target)
            return _not_found(target, "ResourceNotFound")
        takes = self._script.deletes.get(target)
        if not takes:
            self._remove(path)
            return Played(_OK)
        take = self._next(target, takes)
        self._rewind(take)
        polled = [m for m in monitors_of(take.exchange) if m in self._script.monitors]
        if polled:
            self._ending.update(dict.fromkeys(polled, path))
        elif take.exchange.status < _ACCEPTED:
            self._remove(path)
        return _recorded(take.exchange)

    def _act(self, target: ExchangeTarget) -> Played:
        actions = self._script.actions
        # A recording has the api-version that its client fixed for the action.
        at_another = (one for one in actions if one.path == target.path)
        target = target if target in actions else next(at_another, target)
        if not (takes := actions.get(target)):
            return self._refuse(target)
        if target.path.rpartition("/")[0] not in self._there:
            return _not_found(target, "ResourceNotFound")
        return _recorded(self._next(target, takes).exchange)

    def _refuse(self, target: ExchangeTarget) -> Played:
        self._unmatched.append(str(target))
        return _not_found(target, "NotRecorded")

    def _compare(
        self, target: ExchangeTarget, takes: Sequence[Take], body: Any
    ) -> None:
        """Record how a body differs from the nearest recorded one, if no recorded one
        matches.
        """
        found = [differences(take.exchange.body, body) for take in takes]
        self._mismatches += [f"{target}: {text}" for text in min(found, key=len)]

    def _has_owner(self, path: str) -> bool:
        """Return whether the nearest resource above, among those of the
        script, exists.
        """
        above = [p for p in self._script.resources if is_within(path, p) and p != path]
        return not above or max(above, key=len) in self._there

    def _last_known(self, target: ExchangeTarget) -> RecordedExchange | None:
        """Return the resource as last read before now, or as its PUT was answered."""
        now = self._generation[target.path]
        for generation in range(now, 0, -1):
            takes = self._script.reads.get((target, generation))
            if takes and takes[-1].exchange.status == _OK:
                return takes[-1].exchange
        return self._newest.get(target.path)

    def _next(self, cursor: object, takes: Sequence[Take]) -> Take:
        """Return the next of several takes; the last take is repeated."""
        index = min(self._served[cursor], len(takes) - 1)
        self._served[cursor] += 1
        return takes[index]

    def _rewind(self, take: Take) -> None:
        """Start the takes that follow a write again, when that write is made again."""
        target = take.exchange.target
        for monitor in monitors_of(take.exchange):
            self._served[monitor] = 0
        for moment in self._script.reads:
            if moment[0].path == target.path and moment[1] == take.generation:
                self._served[moment] = 0

    def _remove(self, path: str) -> None:
        """Remove a resource with everything below it."""
        for found in [p for p in self._there if is_within(p, path)]:
            self._there.discard(found)
            self._gone.add(found)


def _recorded(exchange: RecordedExchange) -> Played:
    return Played(exchange.status, exchange.answer, exchange)


def _not_found(target: ExchangeTarget, code: str) -> Played:
    message = f"Nothing is at {target} now."
    return Played(404, {"error": {"code": code, "message": message}})
