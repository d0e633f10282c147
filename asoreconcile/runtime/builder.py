"""What a controller looks at besides its own kind, said as a sentence.

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
"""A kind, a class of one, or an informer of either."""


class ControllerBuilder:
    """One controller's kinds. Each method acts at once and answers itself."""

    def __init__(
        self,
        controller: Controller,
        primary: Informer | None,
        informer: Callable[[Any], Informer],
    ) -> None:
        """primary: of the kind that is reconciled, if it is one. informer: finds those
        of others.
        """
        self.controller = controller
        self._primary = primary
        self._informer = informer

    def owns(self, source: InformerSource, *, when: Predicate | None = None) -> Self:
        """Also look at objects this controller makes: a change of one concerns the
        object that its ownerReferences name as the controller. Rule: HA-2.

        when: which events count; all without it. Raises ValueError for a controller of
        no kind.
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
        """Also look at a kind; the arguments are those of a `Watch`, and the handler is
        often `map_to(function)`.
        """
        informer = self._informer(source)
        self.controller.watch(Watch(informer, handler, when, resync_seconds))
        return self
