"""Stores the resume tokens of operations that extensions start (`ctx.lro`).

One annotation an operation, under our own prefix: it survives a restart, and another
operator ignores it. The result of such an operation may be exported, so its annotation
has a mark: with a forged one an author could read other resources as the operator. An
operation that ASO has, too, uses ASO's annotation, without a mark; no result of it is
exported.
"""

from collections.abc import Callable

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    OWN_PREFIX,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.base.objects import uid_of

_SUFFIX = "-token"


@attrs.frozen
class AnnotationLroStore:
    """`middleware.context.OperationStore` over the object's annotations. Blocking.

    Names are an operation's, or with a slash an annotation's.
    """

    _patcher: PatchHelper
    _key: Callable[[], RecordKey]

    def load(self, name: str) -> str | None:
        """The token in the working copy's annotation; None if there is none, or if it
        is not marked as ours.
        """
        text = self._patcher.annotations.get(_annotation(name)) or None
        if text is None or _is_asos(name):
            return text
        mark, _, token = text.partition(" ")
        is_ours = self._key().verify(self._parts(name, token), mark)
        return token if is_ours else None

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
        if not _is_asos(name):
            token = f"{self._key().sign(self._parts(name, token))} {token}"
        self._patcher.record({_annotation(name): token, **over})

    def clear(self, name: str) -> None:
        """Remove the annotation, if there is one."""
        if self._patcher.annotations.get(_annotation(name)):
            self._patcher.annotate({_annotation(name): None})

    def _parts(self, name: str, token: str) -> tuple[str, ...]:
        return "operation", uid_of(self._patcher.obj), name, token


def _annotation(name: str) -> str:
    return name if _is_asos(name) else OWN_PREFIX + name + _SUFFIX


def _is_asos(name: str) -> bool:
    return "/" in name
