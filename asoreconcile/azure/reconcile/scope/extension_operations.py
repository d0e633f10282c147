"""Stores the resume tokens of operations that extensions start (`ctx.lro`).

One annotation an operation, under our own prefix: it survives a restart, and another
operator ignores it. An operation that ASO has, too, uses ASO's annotation.
"""

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    OWN_PREFIX,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper

_SUFFIX = "-token"


@attrs.frozen
class AnnotationLroStore:
    """`middleware.context.OperationStore` over the object's annotations. Blocking.

    Names are an operation's, or with a slash an annotation's.
    """

    _patcher: PatchHelper

    def load(self, name: str) -> str | None:
        """The token in the working copy's annotation; None if there is none."""
        return self._patcher.annotations.get(_annotation(name)) or None

    def save(self, name: str, token: str) -> None:
        """Stored before this returns. An extension's operation starts when the object's
        own is over, so the same write clears the object's token.
        """
        # With a leftover annotation the next process would poll an operation that is
        # over.
        over = {
            note: None
            for note in (POLLER_TOKEN, POLLER_ID)
            if self._patcher.annotations.get(note)
        }
        self._patcher.record({_annotation(name): token, **over})

    def clear(self, name: str) -> None:
        """Remove the annotation, if there is one."""
        if self.load(name) is not None:
            self._patcher.annotate({_annotation(name): None})


def _annotation(name: str) -> str:
    return name if "/" in name else OWN_PREFIX + name + _SUFFIX
