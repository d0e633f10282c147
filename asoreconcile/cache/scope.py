"""Which objects of a kind are cached: namespaces and selectors.

Pure. Rules: CA-2, CA-3.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection
from asoreconcile.objects import GroupKind, JsonObject

Transform = Callable[[JsonObject], JsonObject]
"""Gets an object nobody else holds; returns it, changed, or another one."""

ALL_OTHER_NAMESPACES = ""
"""In `Scope.namespaces`: all namespaces that are not named beside it."""


@attrs.frozen
class Selector:
    """What the server leaves out. None leaves it to the next wider scope."""

    label: str | None = None
    field: str | None = None


Namespaces = Mapping[str, Selector] | Sequence[str]


@attrs.frozen
class Scope:
    """What to cache of a kind.

    namespaces: the only ones, each with selectors of its own if it has any, and
    ALL_OTHER_NAMESPACES for the rest; None is the whole cluster. transform: what is
    kept of an object; must not fail (IN-10).
    """

    namespaces: Namespaces | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform | None = None

    def by_namespace(self) -> Mapping[str, Selector] | None:
        """Raises ValueError for no namespaces at all: that would cache nothing."""
        if self.namespaces is None:
            return None
        if not self.namespaces:
            raise ValueError("no namespaces to watch: None watches the whole cluster")
        if isinstance(self.namespaces, Mapping):
            return self.namespaces
        return dict.fromkeys(self.namespaces, Selector())


EVERYTHING = Scope()


@attrs.frozen(kw_only=True)
class CacheOptions:
    """What of the cluster is watched and kept. Rule: CA-2.

    namespaces: the only ones to watch, a sequence or selectors by name; None is the
    whole cluster. label_selector, field_selector: the server leaves the rest out.
    kinds: what is different for some kinds. transform: what is kept of an object, where
    its kind's scope does not say (IN-10). streaming: ask for initial state as a stream;
    servers that cannot are found out.
    """

    namespaces: Namespaces | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    kinds: Mapping[GroupKind, Scope] = attrs.field(factory=dict)
    transform: Transform | None = None
    streaming: bool = True

    def default(self) -> Scope:
        """What counts of a kind where nothing else is said of it."""
        return Scope(
            self.namespaces, self.label_selector, self.field_selector, self.transform
        )


@attrs.frozen
class WatchScope:
    """What one watch brings of a scope.

    others: where the selection is of all namespaces, those that are not in it, but in
    parts beside it.
    """

    selection: Selection
    others: frozenset[str] = frozenset()
    namespace: str | None = attrs.field(init=False)
    """The watched namespace; None: all of the cluster except `others`."""

    @namespace.default
    def _selected(self) -> str | None:
        return self.selection.namespace

    def covers(self, namespace: str) -> bool:
        """Whether this watch delivers the objects of a namespace."""
        if self.namespace is None:
            return namespace not in self.others
        return namespace == self.namespace


def watch_scopes(
    resource: ApiResource,
    scope: Scope = EVERYTHING,
    *,
    default: Scope = EVERYTHING,
    metadata_only: bool = False,
) -> tuple[WatchScope, ...]:
    """What to watch, one watch each; together they are the scope.

    What is said of a namespace of the kind counts before what is said of the kind, then
    what the default says of the namespace, then the default.
    """
    own = scope.by_namespace() if resource.namespaced else None
    general = default.by_namespace() if resource.namespaced else None
    chosen = own if own is not None else general
    if chosen is None:
        chosen = {ALL_OTHER_NAMESPACES: Selector()}
    whole = Selector(scope.label_selector, scope.field_selector)
    fallback = Selector(default.label_selector, default.field_selector)
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
                others=[name for name in chosen if name != ALL_OTHER_NAMESPACES],
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
        # Their own watches bring them: each object would come twice, by two versions.
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
    """A namespace that a field selector asks for, and the other terms.

    The server answers `/namespaces/x/` from less than everything, and permissions for
    one namespace are enough for it.
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
