"""The objects of a kind that are cached: namespaces and selectors.

Pure. Rules: CA-2, CA-3.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from asoreconcile.base.errors import check_is, check_list
from asoreconcile.base.objects import GroupKind, JsonObject
from asoreconcile.base.signatures import check_takes
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection, selector_validator

Transform = Callable[[JsonObject], JsonObject]
"""Gets an object that it may change; returns it, or another one."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

ALL_OTHER_NAMESPACES = ""
"""In `Scope.namespaces`: all namespaces that are not listed there."""


@attrs.frozen
class Selector:
    """Label and field selectors. None takes the selector of the next wider scope."""

    label: str | None = attrs.field(default=None, validator=selector_validator)
    field: str | None = attrs.field(default=None, validator=selector_validator)


Namespaces = Mapping[str, Selector] | Sequence[str]


def _check_namespaces(_options: object, _field: object, namespaces: Any) -> None:
    check_list("namespaces", namespaces)
    for name in namespaces or ():
        check_is("a namespace", name, str)
        if name != ALL_OTHER_NAMESPACES and not _NAMESPACE.fullmatch(name):
            raise ValueError(f"{name!r:.80} is no name of a namespace")


@attrs.frozen
class Scope:
    """A selection of the objects of a kind to cache.

    namespaces: the only namespaces, each with optional selectors, and
    ALL_OTHER_NAMESPACES for the rest; None for the whole cluster. transform: reduces an
    object before it is cached; must not fail (IN-10). Selectors are strings:
    `app=mine`. Raises TypeError for other types, and if namespaces is a string.
    """

    namespaces: Namespaces | None = attrs.field(
        default=None, validator=_check_namespaces
    )
    label_selector: str | None = attrs.field(default=None, validator=selector_validator)
    field_selector: str | None = attrs.field(default=None, validator=selector_validator)
    transform: Transform | None = None

    def __attrs_post_init__(self) -> None:
        if self.transform is not None:
            check_takes(self.transform, "object", what="transform", lazy=True)

    def by_namespace(self) -> Mapping[str, Selector] | None:
        """Return the selector of each namespace, None for all namespaces. Raises
        ValueError for an empty set of namespaces: that would cache nothing.
        """
        if self.namespaces is None:
            return None
        if not self.namespaces:
            raise ValueError("no namespaces to watch: None watches the whole cluster")
        if isinstance(self.namespaces, Mapping):
            return self.namespaces
        return dict.fromkeys(self.namespaces, Selector())


EVERYTHING = Scope()


def _by_group_kind(
    kinds: Mapping[GroupKind, Scope] | Mapping[ApiResource, Scope],
) -> Mapping[GroupKind, Scope]:
    """Return the scopes by group and kind. Raises TypeError for other keys: they
    would never match.
    """
    found = {}
    for key, scope in kinds.items():
        kind = key.group_kind if isinstance(key, ApiResource) else key
        check_is("a key of kinds", kind, GroupKind, ApiResource)
        check_is(f"the scope of {kind}", scope, Scope)
        found[kind] = scope
    return found


@attrs.frozen(kw_only=True)
class CacheOptions(Scope):
    """The objects of the cluster that are watched and cached. Rule: CA-2.

    namespaces: the only namespaces to watch, as a sequence or as a mapping from names
    to selectors; None for the whole cluster. label_selector, field_selector: watch only
    matching objects.
    kinds: scopes of single kinds, by their `GroupKind` or `ApiResource`.
    transform: reduces an object before it is cached, unless its kind's scope has a
    transform (IN-10).
    streaming: request the initial list as a stream; servers without support are
    detected. Raises TypeError as `Scope` does, and for other keys of kinds.
    """

    kinds: Mapping[GroupKind, Scope] = attrs.field(
        factory=dict, converter=_by_group_kind
    )
    streaming: bool = True


@attrs.frozen
class WatchScope:
    """The part of a scope that one watch covers.

    others: for a watch of all namespaces, the namespaces that other watches of the
    scope cover.
    """

    selection: Selection
    others: frozenset[str] = frozenset()
    namespace: str | None = attrs.field(init=False)
    """The watched namespace; None: all of the cluster except `others`."""

    @namespace.default
    def _selected(self) -> str | None:
        return self.selection.namespace


def watch_scopes(
    resource: ApiResource,
    scope: Scope = EVERYTHING,
    *,
    default: Scope = EVERYTHING,
    metadata_only: bool = False,
) -> tuple[WatchScope, ...]:
    """Return the watches that together cover the scope.

    Precedence: the kind's selector for the namespace, the kind's selector, the
    default's selector for the namespace, the default's selector.
    """
    own = scope.by_namespace() if resource.namespaced else None
    general = default.by_namespace() if resource.namespaced else None
    chosen = own if own is not None else general
    if chosen is None:
        chosen = {ALL_OTHER_NAMESPACES: Selector()}
    whole = Selector(scope.label_selector, scope.field_selector)
    fallback = Selector(default.label_selector, default.field_selector)
    others = [name for name in chosen if name != ALL_OTHER_NAMESPACES]
    found = []
    for namespace in chosen:
        said = (
            (own or {}).get(namespace, Selector()),
            whole,
            (general or {}).get(namespace, Selector()),
            fallback,
        )
        found.append(
            _part(
                resource,
                namespace,
                label=_first(one.label for one in said),
                requirements=_requirements(_first(one.field for one in said)),
                others=others,
                metadata_only=metadata_only,
            )
        )
    return tuple(found)


def _part(
    resource: ApiResource,
    namespace: str,
    *,
    label: str,
    requirements: list[str],
    others: list[str],
    metadata_only: bool,
) -> WatchScope:
    if namespace == ALL_OTHER_NAMESPACES and resource.namespaced:
        # Other watches cover them: each object would be delivered twice, with two
        # versions.
        requirements += [f"metadata.namespace!={name}" for name in others]
        namespace, requirements = _as_path(requirements)
    selection = Selection(
        resource,
        namespace or None,
        label_selector=label,
        field_selector=",".join(requirements),
        metadata_only=metadata_only,
    )
    return WatchScope(selection, frozenset() if namespace else frozenset(others))


def _as_path(requirements: list[str]) -> tuple[str, list[str]]:
    """Return the namespace that a field selector requires, and the remaining terms.

    A request to `/namespaces/x/` costs the server less, and needs permissions only for
    one namespace.
    """
    for term in requirements:
        name, _, value = term.partition("=")
        if name == "metadata.namespace":
            return value.removeprefix("="), [one for one in requirements if one != term]
    return ALL_OTHER_NAMESPACES, requirements


def _requirements(field_selector: str) -> list[str]:
    return [term.strip() for term in field_selector.split(",") if term.strip()]


def _first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value is not None), "")
