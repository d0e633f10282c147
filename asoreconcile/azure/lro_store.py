"""Where extensions keep the tokens of long operations of their own (`ctx.lro`).

One annotation an operation, under our own prefix: it survives a restart, and a cluster
that went back to another operator carries only an annotation it ignores. An operation
that ASO knows, too, has the annotation that ASO gives it.
"""

from asoreconcile.azure.annotations import (
    INPUTS,
    OWN_PREFIX,
    POLLER_ID,
    POLLER_TOKEN,
)
from asoreconcile.azure.patch_helper import PatchHelper

_SUFFIX = "-token"


class AnnotationLroStore:
    """`middleware.context.OperationStore` over the object's annotations. Blocking.

    Names are an operation's, or with a slash an annotation's.
    """

    def __init__(self, session: PatchHelper) -> None:
        self._session = session

    def load(self, name: str) -> str | None:
        return self._session.annotation(_annotation(name)) or None

    def save(self, name: str, token: str) -> None:
        """Durable before this returns. An operation of an extension begins when the
        object's own is over, which is noted in the same write.
        """
        over = {
            note: None
            for note in (POLLER_TOKEN, POLLER_ID, INPUTS)
            if self._session.annotation(note)
        }
        self._session.record({_annotation(name): token, **over})

    def clear(self, name: str) -> None:
        if self.load(name) is not None:
            self._session.annotate({_annotation(name): None})


def _annotation(name: str) -> str:
    return name if "/" in name else OWN_PREFIX + name + _SUFFIX
