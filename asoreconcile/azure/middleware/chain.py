"""Chains: the extensions of one point and one kind, composed to one function at start.

The outermost extension is called first and decides whether the next one is called; the
last link is the reconciler's own behaviour (`default_handlers`). Chains are composed
once, then immutable, and called by many worker threads.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

import attrs

from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.default_handlers import DefaultHandlers
from asoreconcile.azure.middleware.extension_points import (
    POINTS,
    ExtensionPoint,
    Req,
    Res,
)
from asoreconcile.azure.middleware.extension_set import (
    ANY_KIND,
    API_LEVEL,
    Extension,
    ExtensionError,
    ExtensionSet,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind

_log = Logger(__name__)

NextCall = Callable[[Any], Any]


class NextCalledTwice(AsoreconcileError):  # noqa: N818 - named after what happened
    """An extension called `call_next` twice, so that the inner links might act
    twice.
    """


class LinkMetrics(Protocol):
    """Counts and times the runs of links (`middleware.metrics`). Thread-safe."""

    def observe(
        self, link: Extension, set_name: str, /, *, outcome: str, seconds: float
    ) -> None:
        """Count one run.

        outcome: one of a fixed set of words.
        seconds: duration without that of the inner links.
        """


@attrs.frozen
class LinkRow:
    """A link in the form in which it is listed for users."""

    extension_set: str
    name: str
    defined: str


@attrs.frozen
class ChainRow:
    """A chain in the form in which it is listed for users, outermost link first."""

    kind: GroupKind
    point: str
    links: tuple[LinkRow, ...]


class Extensions:
    """All chains of a process. Made by `compose`; immutable, safe from any thread."""

    def __init__(
        self,
        chains: Mapping[tuple[str, GroupKind], NextCall],
        everywhere: Mapping[str, NextCall],
        rows: Sequence[ChainRow],
    ) -> None:
        self._chains = chains
        self._everywhere = everywhere
        self._rows = tuple(rows)

    @classmethod
    def compose(
        cls,
        sets: Iterable[ExtensionSet] = (),
        *,
        kinds: Collection[GroupKind],
        terminals: DefaultHandlers | None = None,
        metrics: LinkMetrics | None = None,
    ) -> "Extensions":
        """Compose the sets to one function per point and kind.

        kinds: the catalogue's kinds.

        Sets of a higher order wrap those of a lower one; sets of equal order are sorted
        by name, the first outermost. Raises ExtensionError naming every set and kind
        that does not fit.
        """
        ordered = sorted(sets, key=lambda one: (-one.order, one.name))
        known = frozenset(kinds)
        _require_sound(ordered, known)
        ends = terminals or DefaultHandlers()
        chains: dict[tuple[str, GroupKind], NextCall] = {}
        rows = []
        for (point, kind), links in _by_chain(ordered, known).items():
            call = ends.of(point)
            # From the inside out: each needs the one below it.
            for name, link in reversed(links):
                call = _linked(link, name, call, metrics)
            chains[point.name, kind] = call
            rows.append(_row(point, kind, links))
        rows.sort(key=lambda row: (row.kind, row.point))
        return cls(chains, {point.name: ends.of(point) for point in POINTS}, rows)

    def chain(
        self, point: ExtensionPoint[Req, Res], kind: GroupKind
    ) -> Callable[[Req], Res]:
        """Return the function to call at a point for a kind."""
        call = self._chains.get((point.name, kind)) or self._everywhere[point.name]
        return cast("Callable[[Req], Res]", call)

    def has(self, point: ExtensionPoint[Any, Any], kind: GroupKind) -> bool:
        """Return whether a kind has an extension at this point."""
        return (point.name, kind) in self._chains

    def describe(self) -> tuple[ChainRow, ...]:
        """Return every chain that has links, by kind and point."""
        return self._rows


def _require_sound(sets: Sequence[ExtensionSet], known: frozenset[GroupKind]) -> None:
    problems = []
    names: set[str] = set()
    for one in sets:
        if one.name in names:
            problems.append(f"extension set {one.name!r} is there twice")
        names.add(one.name)
        if one.api != API_LEVEL:
            problems.append(
                f"extension set {one.name!r} is written for api level {one.api}, "
                f"this is {API_LEVEL}"
            )
        unknown = {link.kind for link in one.freeze()} - known - {ANY_KIND}
        problems += [
            f"extension set {one.name!r} names {kind}, which is no known kind"
            for kind in sorted(unknown)
        ]
    if problems:
        raise ExtensionError("; ".join(problems))


def _by_chain(
    sets: Sequence[ExtensionSet], known: frozenset[GroupKind]
) -> dict[tuple[ExtensionPoint[Any, Any], GroupKind], list[tuple[str, Extension]]]:
    """Return the links of each chain, outermost first, each with its set's name."""
    chains: dict[
        tuple[ExtensionPoint[Any, Any], GroupKind], list[tuple[str, Extension]]
    ] = {}
    for one in sets:
        for link in one.freeze():
            # A link for any kind is added to each kind's chain at the start, so that a
            # call needs only one lookup.
            for kind in sorted(known) if link.kind == ANY_KIND else (link.kind,):
                chains.setdefault((link.point, kind), []).append(
                    (one.name, attrs.evolve(link, kind=kind))
                )
    return chains


def _row(
    point: ExtensionPoint[Any, Any],
    kind: GroupKind,
    links: Sequence[tuple[str, Extension]],
) -> ChainRow:
    return ChainRow(
        kind,
        point.name,
        tuple(LinkRow(name, link.name, link.defined) for name, link in links),
    )


def _linked(
    link: Extension, set_name: str, inner: NextCall, metrics: LinkMetrics | None
) -> NextCall:
    """Return one link wrapped with its guard, log line and measurements."""
    log = _log.bind(
        point=link.point.name,
        kind=str(link.kind),
        extensionSet=set_name,
        extension=link.name,
    )
    once = link.point.next_at_most_once

    def call(request: Any) -> Any:
        calls = 0
        inner_seconds = 0.0

        def call_next(inner_request: Any) -> Any:
            nonlocal calls, inner_seconds
            calls += 1
            # A second PUT or DELETE in one reconcile would overwrite the token of the
            # first.
            if once and calls > 1:
                raise NextCalledTwice(
                    f"{link.name} of extension set {set_name!r} called its next link "
                    f"twice ({link.point.name}, {link.kind})"
                )
            started = time.perf_counter()
            try:
                return inner(inner_request)
            finally:
                # Added, not assigned: at points that may call twice both calls are
                # subtracted.
                inner_seconds += time.perf_counter() - started

        log.debug("Calling extension")
        started = time.perf_counter()
        outcome = "error"
        try:
            result = link.run(request, call_next)
            outcome = getattr(result, "outcome", "ok")
        # Raised by a link that waits, so not a failure: counted separately, or an alert
        # on errors would fire at each long operation.
        except SuboperationPending:
            outcome = "pending"
            raise
        finally:
            if metrics is not None:
                seconds = time.perf_counter() - started - inner_seconds
                metrics.observe(link, set_name, outcome=outcome, seconds=seconds)
        return result

    return call
