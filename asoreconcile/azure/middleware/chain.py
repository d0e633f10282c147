"""Chains: the extensions of one point and one kind, composed to one function at start.

The outermost extension is called first and decides whether the next one is called; the
last link is the reconciler's own step, the point's default. Chains are composed
once, then immutable, and called by many worker threads. A link that breaks the rules of
its point fails, so that nothing is written (`ExtensionFailedError`).
"""

import inspect
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.catalogue.suggestions import hint
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.extension_points import (
    POINTS,
    ExtensionPoint,
    Req,
    Res,
)
from asoreconcile.azure.middleware.extension_set import (
    ANY_ARM_KIND,
    ANY_KIND,
    API_LEVEL,
    BUILT_IN_ORDER,
    Extension,
    ExtensionError,
    ExtensionSet,
)
from asoreconcile.azure.middleware.stated_names import unknown_names
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind

if TYPE_CHECKING:
    from asoreconcile.azure.middleware.metrics import ExtensionMetrics

_log = Logger(__name__)

NextCall = Callable[[Any], Any]
Ends = Mapping[ExtensionPoint[Any, Any], NextCall]
"""Other functions than the points' defaults for the ends of the chains."""
_OWN: Ends = {}
_ANY = frozenset({ANY_ARM_KIND, ANY_KIND})


class ExtensionFailedError(AsoreconcileError):
    """An extension broke a rule of its point, or raised an error that is not one of
    this project's; the message names the extension and the point.

    fields: extension, set, place of registration and point, for log records.
    """

    def __init__(self, link: Extension, set_name: str, problem: str) -> None:
        super().__init__(
            f"extension {link.name} ({link.defined}, set {set_name}) {problem} at "
            f"point {link.point.name}"
        )
        self.fields = {
            "extension": link.name,
            "extensionSet": set_name,
            "defined": link.defined,
            "point": link.point.name,
        }


@attrs.frozen
class LinkRow:
    """A link in the form in which it is listed for users."""

    extension_set: str
    name: str
    defined: str


@attrs.frozen
class ChainRow:
    """A chain in the form in which it is listed for users, outermost link first.

    end: the step of the reconciler that the innermost link's `call_next` takes.
    """

    kind: GroupKind
    point: str
    links: tuple[LinkRow, ...]
    end: str


@attrs.frozen(eq=False)
class Extensions:
    """All chains of a process. Made by `compose`; immutable, safe from any thread."""

    _chains: Mapping[tuple[str, GroupKind], NextCall]
    _everywhere: Mapping[str, NextCall]
    _rows: tuple[ChainRow, ...]

    @classmethod
    def compose(
        cls,
        sets: Iterable[ExtensionSet] = (),
        *,
        kinds: Collection[GroupKind],
        without_arm: Collection[GroupKind] = (),
        ends: Ends = _OWN,
        metrics: "ExtensionMetrics | None" = None,
    ) -> "Extensions":
        """Compose the sets to one function per point and kind.

        kinds: the catalogue's kinds. without_arm: those that are not resources of ARM.
        ends: other functions than the points' defaults for the ends of the chains.

        Sets of a higher order wrap those of a lower one; sets of equal order are sorted
        by name, the first outermost. Raises ExtensionError naming every set and kind
        that does not fit.
        """
        ordered = sorted(sets, key=lambda one: (-one.order, one.name))
        known = frozenset(kinds)
        outside = frozenset(without_arm)
        _require_sound(ordered, known, outside)
        chains: dict[tuple[str, GroupKind], NextCall] = {}
        rows = []
        for (point, kind), links in _by_chain(ordered, known, outside).items():
            call = ends.get(point, point.default)
            # From the inside out: each needs the one below it.
            for name, link in reversed(links):
                call = linked(link, name, call, metrics)
            chains[point.name, kind] = call
            rows.append(_row(point, kind, links))
        rows.sort(key=lambda row: (row.kind, row.point))
        everywhere = {one.name: ends.get(one, one.default) for one in POINTS}
        return cls(chains, everywhere, tuple(rows))

    @classmethod
    def of_catalogue(
        cls,
        sets: Iterable[ExtensionSet],
        catalogue: Catalogue,
        *,
        ends: Ends = _OWN,
        metrics: "ExtensionMetrics | None" = None,
    ) -> "Extensions":
        """Compose the sets for all kinds of a catalogue.

        Raises ExtensionError as `compose`, and for owners and paths that a set of
        another package states and the catalogue lacks; a test checks the built-in sets.
        """
        kinds = list(catalogue.kinds())
        sets = tuple(sets)
        made = cls.compose(
            sets,
            kinds=[kind.group_kind for kind in kinds],
            without_arm=[kind.group_kind for kind in kinds if not kind.is_arm],
            ends=ends,
            metrics=metrics,
        )
        # The schemas of all kinds with extensions would be loaded at each start.
        check_names((one for one in sets if one.order > BUILT_IN_ORDER), catalogue)
        return made

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


def check_names(sets: Iterable[ExtensionSet], catalogue: Catalogue) -> None:
    """Make sure that the owners and paths that factories state are in the catalogue.
    Raises ExtensionError with all that are not.
    """
    problems = [
        f"extension {link.name} ({link.defined}, set {one.name}): {why}"
        for one in sets
        for link in one.freeze()
        for why in unknown_names(link, catalogue)
    ]
    if problems:
        raise ExtensionError("; ".join(problems))


def _require_sound(
    sets: Sequence[ExtensionSet],
    known: frozenset[GroupKind],
    outside: frozenset[GroupKind],
) -> None:
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
        unknown = {
            (link.kind, link.defined)
            for link in one.freeze()
            if link.kind not in known | _ANY
        }
        problems += [
            f"extension set {one.name!r} ({defined}) names {kind}, which is no known "
            f"kind{hint(str(kind), map(str, known))}"
            for kind, defined in sorted(unknown)
        ]
        problems += [
            f"extension {link.name} of set {one.name!r} would not reach "
            f"{_names(outside)}: kinds without ARM do not run point "
            f"{link.point.name}"
            for link in one.freeze()
            if link.point.needs_arm and link.kind in outside
        ]
    if problems:
        raise ExtensionError("; ".join(problems))


def _names(kinds: Iterable[GroupKind]) -> str:
    return ", ".join(str(kind) for kind in sorted(kinds))


def _by_chain(
    sets: Sequence[ExtensionSet],
    known: frozenset[GroupKind],
    outside: frozenset[GroupKind],
) -> dict[tuple[ExtensionPoint[Any, Any], GroupKind], list[tuple[str, Extension]]]:
    """Return the links of each chain, outermost first, each with its set's name."""
    chains: dict[
        tuple[ExtensionPoint[Any, Any], GroupKind], list[tuple[str, Extension]]
    ] = {}
    for one in sets:
        for link in one.freeze():
            # A link for any kind is added to each kind's chain at the start, so that a
            # call needs only one lookup.
            several = {ANY_KIND: known, ANY_ARM_KIND: known - outside}
            for kind in sorted(several.get(link.kind, {link.kind})):
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
        point.end,
    )


def linked(
    link: Extension,
    set_name: str,
    inner: NextCall,
    metrics: "ExtensionMetrics | None" = None,
) -> NextCall:
    """Return one link wrapped with its checks, log line and measurements.

    The function raises ExtensionFailedError if the link breaks a rule of its point.
    """
    log = _log.bind(
        point=link.point.name,
        kind=str(link.kind),
        extensionSet=set_name,
        extension=link.name,
    )

    def call(request: Any) -> Any:
        next_link = _NextLink(link, set_name, inner)
        log.debug("Calling extension")
        started = time.perf_counter()
        outcome = "error"
        try:
            result = _checked(link, set_name, request, next_link)
            outcome = getattr(result, "outcome", "ok")
        # Raised by a link that waits, so not a failure: counted separately, or an alert
        # on errors would fire at each long operation.
        except SuboperationPending:
            outcome = "pending"
            raise
        finally:
            if metrics is not None:
                seconds = time.perf_counter() - started - next_link.seconds
                metrics.observe(link, set_name, outcome=outcome, seconds=seconds)
        return result

    return call


@attrs.define
class _NextLink:
    """The `call_next` of one run of a link.

    problem: the rule that a call broke, or "". has_result: whether the next link
    returned a result. raised: the exception of the next link. seconds: its duration.
    """

    _link: Extension
    _set_name: str
    _inner: NextCall
    problem: str = ""
    has_result: bool = False
    raised: Exception | None = None
    seconds: float = 0.0
    _was_called: bool = False

    def __call__(self, request: Any) -> Any:
        # A second PUT or DELETE in one reconcile would overwrite the token of the
        # first.
        if self._was_called:
            self.problem = "called its next link twice"
        elif not isinstance(request, self._link.point.request):
            kind = type(request).__name__
            self.problem = f"called its next link with a request of type {kind}"
        if self.problem:
            raise ExtensionFailedError(self._link, self._set_name, self.problem)
        self._was_called = True
        started = time.perf_counter()
        try:
            result = self._inner(request)
        except Exception as error:
            self.raised = error
            raise
        finally:
            self.seconds = time.perf_counter() - started
        self.has_result = True
        return result


def _checked(link: Extension, set_name: str, request: Any, next_link: _NextLink) -> Any:
    """Run a link, and return its result if it keeps the rules of its point.

    Raises ExtensionFailedError otherwise, and for errors of the link that are not this
    project's. A link may have swallowed the error of a wrong call: the rule counts.
    """
    try:
        result = link.run(request, next_link)
    except AsoreconcileError:
        raise
    except Exception as error:
        if error is next_link.raised:
            raise
        problem = f"raised {type(error).__name__}"
        raise ExtensionFailedError(link, set_name, problem) from error
    if inspect.iscoroutine(result):
        result.close()  # or Python warns that it was never awaited
    problem = next_link.problem or link.point.problem(
        result, has_next=next_link.has_result
    )
    if not problem and isinstance(next_link.raised, SuboperationPending):
        problem = "caught the wait of its next link"
    if problem:
        raise ExtensionFailedError(link, set_name, problem)
    return result
