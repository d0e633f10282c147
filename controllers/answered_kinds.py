"""The kinds that webhooks answer for where nothing is reconciled.

AZURE_OPERATOR_MODE=webhooks: other processes of the cluster have the objects, this one
has the API server's questions about them. No object is listed or watched.
"""

from collections.abc import Callable, Iterable, Mapping

from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind

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
        """The version that each kind is answered for at, as last told."""
        return self._versions

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Answer for these kinds; none of them can fail to start."""
        started = {version.group_kind: version for version in versions}
        for version in started.values():
            self._admit(version.group_kind)
            _log.info("Answering for kind", kind=str(version.gvk))
        self._versions = {**self._versions, **started}
        return {}

    def end(self, group_kind: GroupKind) -> None:
        """Count it no more. Its paths go on answering: nobody asks of what is gone."""
        self._versions = {
            known: version
            for known, version in self._versions.items()
            if known != group_kind
        }
