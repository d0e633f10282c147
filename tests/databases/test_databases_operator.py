"""The operator as a process, with a server of PostgreSQL: watches, claims, and the end."""

import copy
import ssl
import time

import pytest
import servers
from operation import WAIT_SECONDS, Operation, resource_for
from pg8000.exceptions import DatabaseError
from pg8000.native import Connection

from asoreconcile.azure.reconcile.model.annotations import (
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import SECRETS

OWNER = {
    "apiVersion": "dbforpostgresql.azure.com/v20250801",
    "kind": "FlexibleServer",
    "metadata": {
        "name": "server",
        # Another operator's, whose status this test writes.
        "annotations": {
            OPERATOR_NAMESPACE: "elsewhere",
        },
    },
    "spec": {"owner": {"name": "rg"}, "location": "westeurope"},
}
USER = {
    "apiVersion": "dbforpostgresql.azure.com/v1",
    "kind": "User",
    "metadata": {"name": "web"},
    "spec": {
        "owner": {"name": "server"},
        "localUser": {
            "password": {"name": "passwords", "key": "user"},
            "serverAdminPassword": {"name": "passwords", "key": "admin"},
            "serverAdminUsername": "postgres-admin",
        },
        "roles": ["pg_monitor"],
    },
}


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        yield running


def lets_in(server, user, password):
    try:
        Connection(
            user,
            password=password,
            host="localhost",
            port=server.port,
            database="postgres",
            ssl_context=ssl.create_default_context(cadata=server.ca),
        ).close()
    except DatabaseError:
        return False
    return True


def secret(**values):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "passwords"},
        "stringData": values,
    }


def test_a_user_follows_its_owner_its_secret_and_its_object(
    operation, postgresql_server, tmp_path
):
    superuser = Connection(
        "postgres",
        password=servers.SUPERUSER_PASSWORD,
        host="localhost",
        port=postgresql_server.port,
        database="postgres",
        ssl_context=postgresql_server.trust(),
    )
    superuser.execute_simple(
        "CREATE ROLE \"postgres-admin\" LOGIN CREATEROLE PASSWORD 'adm-1'"
    )
    superuser.close()
    authorities = tmp_path / "database-ca.pem"
    authorities.write_text(postgresql_server.ca)
    operation.install(OWNER, USER)
    operation.start_manager(AZURE_SYNC_PERIOD="never", SSL_CERT_FILE=str(authorities))
    operation.apply(USER)
    operation.wait_condition(USER, "WaitingForOwner")
    found = {"fullyQualifiedDomainName": f"localhost:{postgresql_server.port}"}
    group = f"/subscriptions/{operation.azure.subscription_id}/resourceGroups/rg"
    owner_id = f"{group}/providers/Microsoft.DBforPostgreSQL/flexibleServers/server"
    operation.azure.seed(owner_id, {"properties": found})
    owner = copy.deepcopy(OWNER)
    owner["metadata"]["annotations"][RESOURCE_ID] = owner_id
    operation.apply(owner)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Succeeded",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    operation.client.patch(
        resource_for(OWNER),
        ObjectKey("default", "server"),
        {
            "status": {
                "conditions": [ready],
                # The operator asks Azure, and does not believe this.
                "fullyQualifiedDomainName": "stranger.example.com:1",
            }
        },
        subresource="status",
    )
    operation.wait_condition(USER, "SecretNotFound")
    operation.apply(secret(user="user-1", admin="adm-1"))
    operation.wait_ready(USER)
    assert lets_in(postgresql_server, "web", "user-1")

    operation.client.patch(
        SECRETS, ObjectKey("default", "passwords"), {"stringData": {"user": "user-2"}}
    )
    until = time.monotonic() + WAIT_SECONDS
    while not lets_in(postgresql_server, "web", "user-2"):
        assert time.monotonic() < until, operation.logs()[-3000:]
    assert not lets_in(postgresql_server, "web", "user-1")

    operation.delete(USER)
    operation.wait_gone(USER)
    assert not lets_in(postgresql_server, "web", "user-2")
    log = operation.logs()
    assert "user-1" not in log
    assert "user-2" not in log
    assert "adm-1" not in log
