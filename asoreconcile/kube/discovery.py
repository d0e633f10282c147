"""Discovery: the resources of the server's kinds, read on first use.

Rule: CL-7.
"""

import threading

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import GroupKind, GroupVersionKind, JsonObject, dig
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import NotFoundError
from asoreconcile.kube.resources import ApiResource


class UnknownKindError(AsoreconcileError):
    """The server does not serve the kind, or not at that version."""


class Discovery:
    """The kinds of one API server, group by group. Safe from any thread.

    If a kind is not found, discovery asks the server again, as kinds may be added
    later.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._versions: dict[str, list[str]] = {}
        self._kinds: dict[tuple[str, str], dict[str, ApiResource]] = {}

    def resource(self, kind: GroupKind | GroupVersionKind) -> ApiResource:
        """Return the resource of a kind, at its version or the server's preferred one.

        Blocks for up to two requests. Raises UnknownKindError, and the exceptions of
        the client.
        """
        with self._lock:
            found = self._find(kind)
            if found is None:
                self._forget(kind.group)
                found = self._find(kind)
        if found is None:
            raise UnknownKindError(
                f"the server does not serve {kind}: its CRD is not there, or not yet"
            )
        return found

    def _find(self, kind: GroupKind | GroupVersionKind) -> ApiResource | None:
        """Return the resource if it is cached; read its group if not. The caller holds
        the lock.
        """
        try:
            if isinstance(kind, GroupVersionKind):
                return self._served(kind.group, kind.version).get(kind.kind)
            for version in self._preferred_first(kind.group):
                found = self._served(kind.group, version).get(kind.kind)
                if found is not None:
                    return found
        except NotFoundError:
            return None
        return None

    def _preferred_first(self, group: str) -> list[str]:
        known = self._versions.get(group)
        if known is None:
            known = self._versions[group] = self._read_versions(group)
        return known

    def _read_versions(self, group: str) -> list[str]:
        if not group:
            versions = self._client.read("/api").get("versions")
            return [str(one) for one in versions] if isinstance(versions, list) else []
        document = self._client.read(f"/apis/{group}")
        preferred = dig(document, "preferredVersion.version")
        versions = [
            str(one["version"]) for one in _entries(document, "versions", "version")
        ]
        # The server's own order for the others: newest and most stable first.
        return sorted(versions, key=lambda version: version != preferred)

    def _served(self, group: str, version: str) -> dict[str, ApiResource]:
        known = self._kinds.get((group, version))
        if known is None:
            known = self._kinds[group, version] = self._read_kinds(group, version)
        return known

    def _read_kinds(self, group: str, version: str) -> dict[str, ApiResource]:
        root = f"/apis/{group}" if group else "/api"
        document = self._client.read(f"{root}/{version}")
        return {
            str(one["kind"]): ApiResource(
                group,
                version,
                str(one["name"]),
                str(one["kind"]),
                namespaced=bool(one.get("namespaced")),
            )
            for one in _entries(document, "resources", "name", "kind")
            # "pods/status" is not a kind, nor is the Scale of "deployments/scale".
            if "/" not in one["name"]
        }

    def _forget(self, group: str) -> None:
        self._versions.pop(group, None)
        for known in [one for one in self._kinds if one[0] == group]:
            del self._kinds[known]


def _entries(document: JsonObject, field: str, *names: str) -> list[JsonObject]:
    """Return the list entries that have all required fields, because aggregated API
    servers may send anything.
    """
    found = document.get(field)
    return [
        one
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict) and all(isinstance(one.get(n), str) for n in names)
    ]
