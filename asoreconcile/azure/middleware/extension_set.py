"""Sets of extensions, each registered for a point and some kinds."""

import sys
from collections.abc import Callable
from typing import Any

import attrs

from asoreconcile.azure.middleware.extension_points import (
    ExtensionPoint,
    Middleware,
    Req,
    Res,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind
from asoreconcile.base.signatures import check_takes

API_LEVEL = 1
BUILT_IN_ORDER = 0
THIRD_PARTY_ORDER = 100

# Every kind, users of databases and groups of Entra included: for policies that cut
# across, such as a freeze of changes. Only for points that all kinds run.
ANY_KIND = GroupKind("*", "*")
# Every kind that is a resource of ARM: such as for tags, which others do not have.
ANY_ARM_KIND = GroupKind("*", "ARM")


class ExtensionError(AsoreconcileError):
    """The extensions do not fit together; the operator does not start with them."""


@attrs.frozen
class Extension:
    """One extension at one point for one kind, and the place of its registration."""

    point: ExtensionPoint[Any, Any]
    kind: GroupKind
    run: Middleware[Any, Any]
    name: str
    defined: str


@attrs.define(eq=False, repr=False)
class ExtensionSet:
    """Collects extensions while modules load; immutable after a chain has been made of
    it.

    name: unique among all sets of a process.
    order: a set of a higher order wraps those of lower ones; the built-in sets have 0,
    the innermost place.
    api: the level of this interface that the set was written for.
    kinds: kinds of an extension that is registered without kinds.

    Not thread-safe. Within a set the extension registered first is the outermost.
    """

    name: str
    order: int = THIRD_PARTY_ORDER
    api: int = API_LEVEL
    _kinds: tuple[GroupKind, ...] = attrs.field(default=(), kw_only=True)
    _links: list[Extension] = attrs.field(init=False, factory=list)
    _frozen: bool = attrs.field(init=False, default=False)

    def on(
        self,
        point: ExtensionPoint[Req, Res],
        *kinds: GroupKind,
        defined: str = "",
    ) -> Callable[[Middleware[Req, Res]], Middleware[Req, Res]]:
        """Return a decorator that registers a function for a point and some kinds.

            @aks.on(PRE_RECONCILE, MANAGED_CLUSTER)
            def not_on_fridays(req, call_next): ...

        kinds: kinds of the extension; by default those of the set. `ANY_KIND` and
        `ANY_ARM_KIND` are possible, too.
        defined: the place to name in lists and errors; "" is the calling line.

        Raises ExtensionError if there is no kind, if the set is already in use, for
        `ANY_KIND` at a point that only kinds of ARM run, and for a function that cannot
        be called with a request and the next link and return a result, such as an
        `async` one.
        """
        kinds = kinds or self._kinds
        if not kinds:
            raise ExtensionError(f"extension set {self.name!r}: name at least one kind")
        if point.needs_arm and ANY_KIND in kinds:
            raise ExtensionError(
                f"extension set {self.name!r}: users of databases and kinds of Entra "
                f"do not run point {point.name}: register for ANY_ARM_KIND"
            )
        defined = defined or _where_called()

        def register(run: Middleware[Req, Res]) -> Middleware[Req, Res]:
            if self._frozen:
                raise ExtensionError(
                    f"extension set {self.name!r} is in use: register before start"
                )
            try:
                check_takes(run, "request", "call_next", what="extension")
            except TypeError as error:
                raise ExtensionError(
                    f"extension set {self.name!r}, point {point.name}: {error}"
                ) from error
            name = _name_of(run)
            self._links.extend(
                Extension(point, kind, run, name, defined) for kind in kinds
            )
            return run

        return register

    def freeze(self) -> tuple[Extension, ...]:
        """Return the links in order of registration; nothing can be added
        afterwards.
        """
        self._frozen = True
        return tuple(self._links)

    def __repr__(self) -> str:
        return f"ExtensionSet({self.name!r}, order={self.order})"


def built_in(group: str, kind: str) -> ExtensionSet:
    """Return the empty set of the project's own extensions for one kind of Azure.

    group: the first label of the kind's group, such as `network`.
    """
    own = built_in_kind(group, kind)
    return ExtensionSet(f"{group}.{kind}", BUILT_IN_ORDER, kinds=(own,))


def built_in_kind(group: str, kind: str) -> GroupKind:
    """Return a kind of Azure. Parameters as `built_in`."""
    return GroupKind(f"{group}.azure.com", kind)


def _where_called() -> str:
    caller = sys._getframe(2)  # noqa: SLF001 - the only way to a cheap module and line
    return f"{caller.f_globals.get('__name__', '?')}:{caller.f_lineno}"


def _name_of(run: Middleware[Any, Any]) -> str:
    name = getattr(run, "__qualname__", None) or type(run).__qualname__
    return str(name)
