"""Stores the resume tokens of operations that extensions start (`ctx.lro`), and marks
all tokens.

Each operation has one annotation under this operator's prefix, which survives a
restart, and which other operators ignore. Each token has a mark, because with a forged
token an author could read other resources with the operator's rights. An operation that
ASO has, too, uses ASO's annotation for its token, and a second annotation for the mark.
"""

from collections.abc import Callable, Mapping

import attrs

from asoreconcile.azure.arm.tokens import Token, dumps
from asoreconcile.azure.reconcile.model.annotations import (
    OWN_PREFIX,
    POLLER_ANNOTATIONS,
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

    A name is that of an operation or, if it contains a slash, that of an annotation.
    """

    _patcher: PatchHelper
    _key: Callable[[], RecordKey]

    def load(self, name: str) -> str | None:
        """Return the token in the working copy's annotation; None if there is none, or
        if it has no mark of this operator.
        """
        text = self._patcher.annotations.get(_annotation(name)) or None
        if text is None or _is_asos(name):
            return text
        mark, _, token = text.partition(" ")
        is_ours = self._key().verify(self._parts(name, token), mark)
        return token if is_ours else None

    def save(self, name: str, token: str) -> None:
        """Store the token in the cluster before this returns.

        An extension's operation starts after the object's own operation has ended, so
        the same write clears the object's token.
        """
        # With a leftover annotation the next process would poll an operation that is
        # over.
        mark = self._key().sign(self._parts(name, token))
        saved = {name: token, _mark_at(name): mark}
        if not _is_asos(name):
            saved = {_annotation(name): f"{mark} {token}"}
        self._patcher.record({**saved, **dict.fromkeys(POLLER_ANNOTATIONS)})

    def clear(self, name: str) -> None:
        """Remove the annotation, if there is one."""
        self._patcher.annotate({_annotation(name): None, _mark_at(name): None})

    def has_mark(self, name: str) -> bool:
        """Return whether the token in ASO's annotation `name` has the operator's mark.

        `load` checks the marks of all other tokens.
        """
        if not _is_asos(name):
            return True
        stored = self._patcher.annotations
        mark = stored.get(_mark_at(name)) or ""
        parts = self._parts(name, stored.get(name) or "")
        return bool(mark) and self._key().verify(parts, mark)

    def record(
        self,
        token: Token,
        poller: str,
        further: Mapping[str, str | None],
        *,
        labelled: Mapping[str, str] | None = None,
    ) -> None:
        """Store the running operation of the object itself, with the operator's mark.

        poller: `PUT_POLLER` or `DELETE_POLLER`, which tells ASO the kind of the
        operation. further: further annotations; the mark among them is kept.
        """
        text = dumps(token)
        mark = self._key().sign(self._parts(POLLER_TOKEN, text))
        stored = {POLLER_MARK: mark, POLLER_TOKEN: text, POLLER_ID: poller, **further}
        self._patcher.record(stored, labelled=labelled)

    def _parts(self, name: str, token: str) -> tuple[str, ...]:
        return "operation", uid_of(self._patcher.obj), name, token


def _annotation(name: str) -> str:
    return name if _is_asos(name) else OWN_PREFIX + name + _SUFFIX


def _mark_at(name: str) -> str:
    return f"{OWN_PREFIX}{name.rpartition('/')[2]}-mark"


def _is_asos(name: str) -> bool:
    return "/" in name
