"""Worlds with the object that owns a server of a database."""

import base64
import itertools
from typing import Any

import servers
from world import World

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LAST_RECONCILED_VERSION,
    RESOURCE_ID,
)
from asoreconcile.base.objects import GroupKind, key_of

_numbers = itertools.count(1)


class DatabaseWorld(World):
    """A world whose owner object says where a real server is."""

    group = ""
    owner_version = ""
    provider = ""

    @property
    def owner_id(self) -> str:
        """The ARM id of the server."""
        group = f"/subscriptions/{self.azure.subscription_id}/resourceGroups/rg"
        return f"{group}/providers/{self.provider}/flexibleServers/server"

    def make_owner(self, host: str) -> dict[str, Any]:
        """The FlexibleServer as its own reconciles leave it, Ready."""
        obj: dict[str, Any] = {
            "apiVersion": f"{self.group}/{self.owner_version}",
            "kind": "FlexibleServer",
            "metadata": {"name": "server", "namespace": "default"},
            "spec": {"owner": {"name": "rg"}, "location": "westeurope"},
        }
        self.apply(obj)
        self.annotate(obj, **{RESOURCE_ID: self.owner_id})
        condition = {
            "type": "Ready",
            "status": "True",
            "reason": "Succeeded",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        found = {"fullyQualifiedDomainName": host}
        self.azure.seed(self.owner_id, {"properties": found})
        status = {"conditions": [condition], **found}
        self.client.patch(
            self.resource_for(obj),
            key_of(obj),
            {"status": status},
            subresource="status",
        )
        return obj

    def set_secret(self, **values: str) -> None:
        """The Secret of all passwords here."""
        data = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
        obj = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "passwords", "namespace": "default"},
            "data": data,
        }
        self.apply(obj, marked=False)

    def user(
        self, name: str = "", azure_name: str | None = None, **spec: Any
    ) -> dict[str, Any]:
        """A User's manifest; its Secret's keys are `user` and `admin`."""
        local = {
            "password": {"name": "passwords", "key": "user"},
            "serverAdminPassword": {"name": "passwords", "key": "admin"},
            "serverAdminUsername": servers.ADMIN,
        }
        content = {"owner": {"name": "server"}, "localUser": local, **spec}
        if azure_name is not None:
            content["azureName"] = azure_name
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "User",
            "metadata": {
                "name": name or f"user-{next(_numbers)}",
                "namespace": "default",
            },
            "spec": content,
        }

    def asos(self, user: dict[str, Any]) -> dict[str, Any]:
        """The manifest of a user as Azure Service Operator leaves it."""
        user["metadata"]["labels"] = {LAST_RECONCILED_VERSION: "v2.21.0"}
        user["metadata"]["finalizers"] = [FINALIZER]
        return user

    def reason(self, obj: dict[str, Any]) -> tuple[str, str]:
        """Reason and message of a Ready condition after one reconcile."""
        self.run(obj)
        ready = self.ready(obj)
        return ready["reason"], ready.get("message", "")

    def events_of(self, reason: str) -> list[str]:
        return [e[3] for e in self.events if e[2] == reason]


class PostgreSqlWorld(DatabaseWorld):
    group = "dbforpostgresql.azure.com"
    owner_version = "v20250801"
    provider = "Microsoft.DBforPostgreSQL"


class MySqlWorld(DatabaseWorld):
    group = "dbformysql.azure.com"
    owner_version = "v20241230"
    provider = "Microsoft.DBforMySQL"


class prepared:  # noqa: N801 - as a function
    def __init__(self, world: Any, users: Any) -> None:
        self.world, self.users = world, users

    def __enter__(self) -> Any:
        world, group = self.world, self.world.group
        world.install(f"{group}/FlexibleServer", f"{group}/User")
        world.users = self.users
        world.external[GroupKind(group, "User")] = self.users
        world.owner = world.make_owner(f"localhost:{world.server.port}")
        world.set_secret(user="first-password", admin=servers.ADMIN_PASSWORD)
        return world

    def __exit__(self, *exc: object) -> None:
        self.users.close()
