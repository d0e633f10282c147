"""The kinds that webhooks answer for while this process reconciles none.

For AZURE_OPERATOR_MODE=webhooks: other processes reconcile the objects, this one
answers the API server's questions about them. It lists and watches no objects.
"""

from collections.abc import Callable, Iterable, Mapping

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind

_log = Logger(__name__)


class AnsweredKinds:
    """`controllers.crd_watcher.Kinds` for webhooks alone. One thread calls it."""

    def __init__(self, admit: Callable[[GroupKind], None]) -> None:
        """admit: answer a kind's reviews; called again when its version changes."""
        self._admit = admit
        self._versions: Mapping[GroupKind, KindVersion] = {}
        self.on_failure: Callable[[], None] = lambda: None
        """Never called: nothing here can fail."""

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        """The version of each kind, as set last."""
        return self._versions

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Serve these kinds; none of them can fail to start."""
        started = {version.group_kind: version for version in versions}
        for version in started.values():
            self._admit(version.group_kind)
            _log.info("Answering for kind", kind=str(version.gvk))
        self._versions = {**self._versions, **started}
        return {}

    def end(self, group_kind: GroupKind) -> None:
        """Remove a kind. Its paths stay, as there are no reviews of a kind that is
        gone.
        """
        self._versions = {
            known: version
            for known, version in self._versions.items()
            if known != group_kind
        }
