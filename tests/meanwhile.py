"""An action in the middle of a reconcile, before or after its PUT."""

from collections.abc import Callable
from typing import Any

from asoreconcile.azure.middleware.extension_points import POST_RECONCILE, PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.base.objects import GroupKind


class Meanwhile:
    """An extension set for a kind; each reconcile calls the function that a
    test sets.
    """

    def __init__(self, group_kind: GroupKind) -> None:
        self.before_put: Callable[[], object] = lambda: None
        self.after_put: Callable[[], object] = lambda: None
        self.set = ExtensionSet("meanwhile")
        self.set.on(PRE_RECONCILE, group_kind)(self._before)
        self.set.on(POST_RECONCILE, group_kind)(self._after)

    def _before(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        self.before_put()
        return call_next(request)

    def _after(self, request: Any, call_next: Callable[[Any], Any]) -> Any:
        self.after_put()
        return call_next(request)
