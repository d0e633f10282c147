"""The page of a sandbox: also its simulated Azure, and the buttons."""

from collections.abc import Callable, Mapping

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage
from asoreconcile.azure.cmd.ui.request_log import RequestLog
from asoreconcile.base.objects import GroupKind, JsonObject


class SandboxPage(ClusterPage):
    """Everything that the page shows of a sandbox, and may change in it."""

    mode = "sandbox"
    discovery_seconds = 1.0
    missing = ()

    def __init__(
        self,
        cluster: LocalCluster,
        kinds: Callable[[], Mapping[GroupKind, KindVersion]],
    ) -> None:
        """kinds: returns the kinds that have objects."""
        super().__init__(cluster.client, server="sandbox on this machine")
        self._cluster = cluster
        self._kinds = kinds
        self._log = RequestLog(self.index.key_of_id, self.clock)

    def about(self) -> JsonObject:
        """Return the same as for a cluster, and the buttons."""
        return {**super().about(), "writable": True}

    def kinds(self) -> Mapping[GroupKind, KindVersion]:
        """Return the kinds that have objects."""
        return self._kinds()

    def requests(self, after: str) -> JsonObject:  # noqa: ARG002
        """Return the last requests to Azure, the newest first."""
        return {"requests": self._log.last()}

    def tick(self) -> None:
        """Publish the requests that the simulator got since the last time."""
        answer = self._cluster.azure(f"journal?after={self._log.count}")
        for request in self._log.add(answer["entries"]):
            self.stream.publish("request", request)
