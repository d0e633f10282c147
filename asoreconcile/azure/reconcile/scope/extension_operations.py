"""Stores the resume tokens of operations that extensions start (`ctx.lro`), and marks
all tokens.

One annotation an operation, under our own prefix: it survives a restart, and another
operator ignores it. Each token has a mark: with a forged one an author could read other
resources as the operator. An operation that ASO has, too, uses ASO's annotation; its
mark is in an annotation of our own.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.reconcile.model.annotations import (
    OWN_PREFIX,
    POLLER_ID,
    POLLER_MARK,
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
        """Return the token in the working copy's annotation; None if there is none, or
        if it is not marked as ours.
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
            for note in (POLLER_TOKEN, POLLER_ID, POLLER_MARK)
            if self._patcher.annotations.get(note)
        }
        mark = self._key().sign(self._parts(name, token))
        saved = {name: token, _mark_at(name): mark}
        if not _is_asos(name):
            saved = {_annotation(name): f"{mark} {token}"}
        self._patcher.record({**saved, **over})

    def clear(self, name: str) -> None:
        """Remove the annotation, if there is one."""
        stored = self._patcher.annotations
        names = (_annotation(name), _mark_at(name))
        if gone := {note: None for note in names if stored.get(note)}:
            self._patcher.annotate(gone)

    def has_mark(self, name: str) -> bool:
        """Return whether the token in ASO's annotation `name` has the operator's mark;
        any other token is loaded only with its mark.
        """
        if not _is_asos(name):
            return True
        stored = self._patcher.annotations
        mark = stored.get(_mark_at(name)) or ""
        parts = self._parts(name, stored.get(name) or "")
        return bool(mark) and self._key().verify(parts, mark)

    def marked(self, notes: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return annotations to write, with the mark of the object's own operation if
        its token is among them; a mark that is given stays.
        """
        token = notes.get(POLLER_TOKEN)
        if not token:
            return dict(notes)
        mark = self._key().sign(self._parts(POLLER_TOKEN, token))
        return {POLLER_MARK: mark, **notes}

    def _parts(self, name: str, token: str) -> tuple[str, ...]:
        return "operation", uid_of(self._patcher.obj), name, token


def _annotation(name: str) -> str:
    return name if _is_asos(name) else OWN_PREFIX + name + _SUFFIX


def _mark_at(name: str) -> str:
    return f"{OWN_PREFIX}{name.rpartition('/')[2]}-mark"


def _is_asos(name: str) -> bool:
    return "/" in name
