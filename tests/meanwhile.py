"""An action in the middle of a reconcile, before or after its PUT."""

from asoreconcile.azure.middleware.extension_points import POST_RECONCILE, PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import ExtensionSet


class Meanwhile:
    """An extension set for a kind; each reconcile calls the function that a
    test sets.
    """

    def __init__(self, group_kind):
        self.before_put = self.after_put = lambda: None
        self.set = ExtensionSet("meanwhile")
        self.set.on(PRE_RECONCILE, group_kind)(self._before)
        self.set.on(POST_RECONCILE, group_kind)(self._after)

    def _before(self, request, call_next):
        self.before_put()
        return call_next(request)

    def _after(self, request, call_next):
        self.after_put()
        return call_next(request)
