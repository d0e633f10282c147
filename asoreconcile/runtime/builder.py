"""Add kinds that a controller watches besides its own, by a chain of calls.

app.reconcile(WIDGETS, Widgets(app)).owns(CONFIG_MAPS).watches(SECRETS, users_of)
"""

from collections.abc import Callable
from typing import Any, Self

from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import ApiResource
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.handlers import Handler, enqueue_owner, enqueue_self
from asoreconcile.runtime.predicates import Predicate
from asoreconcile.runtime.sources import Watch

InformerSource = ApiResource | Informer | type | TypedInformer[Any]
"""A kind, a resource class, or an informer of either."""


class ControllerBuilder:
    """Adds watches to a controller. Methods act at once and return the builder."""

    def __init__(
        self,
        controller: Controller,
        primary: Informer | None,
        informer: Callable[[Any], Informer],
    ) -> None:
        """primary: the informer of the reconciled kind, if any. informer: returns the
        informer of another kind.
        """
        self.controller = controller
        self._primary = primary
        self._informer = informer

    def owns(self, source: InformerSource, *, when: Predicate | None = None) -> Self:
        """Also watch objects that this controller creates: a change enqueues the object
        that their ownerReferences name as the controller. Rule: HA-2.

        when: a predicate; all events count without one. Raises ValueError for a
        controller without a kind.
        """
        if self._primary is None:
            raise ValueError(
                f"{self.controller.name} reconciles no kind that could own"
            )
        owner = self._primary.resource
        handler = enqueue_owner(
            # An object may have several owners, and only one of them manages it.
            owner.group_kind,
            only_controller=True,
            namespaced=owner.namespaced,
        )
        return self.watches(source, handler, when=when)

    def watches(
        self,
        source: InformerSource,
        handler: Handler = enqueue_self,
        *,
        when: Predicate | None = None,
        resync_seconds: float = 0.0,
    ) -> Self:
        """Also watch a kind. The arguments are those of `Watch`; the handler is often
        `map_to(function)`.
        """
        informer = self._informer(source)
        self.controller.watch(Watch(informer, handler, when, resync_seconds))
        return self
