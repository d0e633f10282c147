"""The page of a sandbox, which also shows its simulated Azure and has buttons."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.manifests import (
    Manifest,
    ManifestError,
    parse_manifests,
)
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.cmd.local_cluster import LocalCluster
from asoreconcile.azure.cmd.manifests import AppliedManifests, ManifestsError
from asoreconcile.azure.cmd.ui.charts import ManagerCharts
from asoreconcile.azure.cmd.ui.cluster_page import ClusterPage, PageError
from asoreconcile.azure.cmd.ui.differences_view import three_sides
from asoreconcile.azure.cmd.ui.object_rows import parsed_key, row_key
from asoreconcile.azure.cmd.ui.request_log import RequestLog
from asoreconcile.azure.cmd.ui.sandbox_plan import planned
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    key_of,
    resource_version,
)
from asoreconcile.kube.errors import ApiError, NotFoundError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.kube.selection import Selection
from asoreconcile.testing.arm.named_faults import NAMED

_CHARTS_SECONDS = 2.0


class SandboxPage(ClusterPage):
    """Everything that the page shows of a sandbox, and may change in it."""

    mode = "sandbox"
    discovery_seconds = 1.0
    missing = ()

    def __init__(
        self,
        cluster: LocalCluster,
        kinds: Callable[[], Mapping[GroupKind, KindVersion]],
        *,
        conversion: WebhookClient | None,
        metrics_port: int,
        faults: Sequence[str],
    ) -> None:
        """kinds: returns the kinds that have objects.
        conversion: the conversion webhook of the manager, if it has one.
        metrics_port: port of the manager's metrics.
        faults: scripts of the simulator's faults that have a button.
        """
        super().__init__(cluster.client, server="sandbox on this machine")
        self._cluster = cluster
        self._kinds = kinds
        self._conversion = conversion
        self._log = RequestLog(self.index.key_of_id, self.clock)
        self._charts = ManagerCharts(metrics_port)
        self._charts_due = 0.0
        self._scripts = {script.partition("=")[0]: script for script in faults}
        self._faults: set[str] = set()

    def about(self) -> JsonObject:
        """Return the description of a cluster's page, and the buttons."""
        return {**super().about(), "writable": True, "faults": self._buttons()}

    def charts(self) -> JsonObject:
        """Return the manager's queues and budgets."""
        return self._charts.document

    def requests(self) -> JsonObject:
        """Return the last requests to Azure, the newest first."""
        return {"requests": self._log.last()}

    def compare(
        self, version: KindVersion, obj: JsonObject, document: JsonObject
    ) -> None:
        """Add requests, and the difference of the object and the simulated Azure."""
        row = document["row"]
        if row["armId"]:
            document["requests"] = self._log.last(row["armId"])
        heard = (r for r in document["requests"] if r["status"] and r["status"] < 400)
        document["lastSync"] = next((request["time"] for request in heard), None)
        document["difference"] = {"rows": []}
        if not version.is_arm:
            sentence = "Nothing is compared: the object is no resource of ARM."
            document["missing"].append(sentence)
            return
        namespace = key_of(obj).namespace
        objects = [
            *self.watch.objects(namespace),
            self.client.get(NAMESPACES, ObjectKey("", namespace)),
            *self.client.list_all(Selection(CONFIG_MAPS, namespace=namespace)),
        ]
        change = planned(
            obj,
            objects,
            self._cluster.azure("resources")["resources"],
            subscription=self._cluster.settings["AZURE_SUBSCRIPTION_ID"],
            clock=self.clock,
        )
        last_put = self._log.last_put(row["armId"] or "")
        document["difference"]["rows"] = three_sides(change, last_put)
        if change.action == "cannot tell":
            why = change.why.rstrip(".")
            document["missing"].append(f"Nothing is compared: {why}.")
        if row["state"] == "ready":
            document["drift"] += [
                {"path": one.path, "about": one.rule} for one in change.changes
            ]

    def change(self, what: str, wish: JsonObject) -> JsonObject:
        """Switch a fault, apply manifests or delete an object. Raises PageError,
        ApiError.
        """
        area, _, name = what.partition("/")
        match area:
            case "faults" if name in self._scripts:
                return self._switch(name, on=bool(wish.get("on")))
            case "apply" if isinstance(wish.get("yaml"), str):
                return {"results": list(self._apply(wish["yaml"]))}
            case "delete":
                return self._delete(str(wish.get("key")))
        raise PageError(404, "There is nothing of this name to change.")

    def kinds(self) -> Mapping[GroupKind, KindVersion]:
        """Return the kinds that have objects."""
        return self._kinds()

    def tick(self) -> None:
        """Publish the requests that the simulator got since the last time, and
        charts.
        """
        answer = self._cluster.azure(f"journal?after={self._log.count}")
        for request in self._log.add(answer["entries"]):
            self.stream.publish("request", request)
        now = self.clock.monotonic()
        if now >= self._charts_due:
            self._charts_due = now + _CHARTS_SECONDS
            if self._charts.read():
                self.stream.publish("charts", self._charts.document)

    def _buttons(self) -> list[JsonObject]:
        return [
            {
                "name": name,
                "title": name.replace("-", " ").capitalize(),
                "about": f"{NAMED[name][0][:1].upper()}{NAMED[name][0][1:]}.",
                "on": name in self._faults,
            }
            for name in self._scripts
        ]

    def _switch(self, name: str, *, on: bool) -> JsonObject:
        (self._faults.add if on else self._faults.discard)(name)
        self._cluster.disturb_azure(
            *(script for name, script in self._scripts.items() if name in self._faults)
        )
        self.stream.publish("faults", self._buttons())
        return {"faults": self._buttons()}

    def _apply(self, text: str) -> Iterator[JsonObject]:
        """Apply manifests one by one; yield the outcome of each. Raises PageError."""
        try:
            manifests = parse_manifests(text, path="line")
        except ManifestError as error:
            raise PageError(400, f"The manifests cannot be read: {error}") from error
        if not manifests:
            raise PageError(400, "There is no manifest in the text.")
        for manifest in manifests:
            group_kind = gvk_of(manifest.obj).group_kind
            is_ours = group_kind.group in builtin().groups()
            key = key_of(manifest.obj)
            place = ObjectKey(key.namespace or "default", key.name)
            try:
                outcome, message = self._applied(manifest), ""
            except (ManifestsError, ApiError) as error:
                outcome, message = "refused", str(error)
            yield {
                "key": row_key(group_kind, place) if is_ours else None,
                "outcome": outcome,
                "message": message or f"{group_kind.kind} {place}",
            }

    def _applied(self, manifest: Manifest) -> str:
        """Return the outcome for one manifest. Raises ManifestsError, ApiError."""
        one = AppliedManifests(builtin(), [manifest], all_versions=True)
        if any(not self._is_served(version) for version in one.versions):
            one.install_kinds(self.client, conversion=self._conversion)
        before = one.find(self.client, manifest.obj)
        one.apply(self.client)
        after = one.find(self.client, manifest.obj)
        if before is None or after is None:
            return "created"
        is_same = resource_version(before) == resource_version(after)
        return "unchanged" if is_same else "changed"

    def _is_served(self, version: KindVersion) -> bool:
        try:
            self.client.list_page(resource_of(version))
        except NotFoundError:
            return False
        return True

    def _delete(self, key: str) -> JsonObject:
        row, _ = self.index.get(key)
        found = self.watch.get(*parsed_key(key)) if row else None
        if found is None:
            raise PageError(404, "There is no such object of Azure.")
        self.client.delete(resource_of(found[0]), key_of(found[1]))
        return {}
