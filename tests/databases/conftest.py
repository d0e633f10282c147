"""Servers of databases, and worlds with the object that owns each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import servers
from databaseworlds import MySqlWorld, PostgreSqlWorld, prepared

from asoreconcile.azure.sql_users.kinds import (
    database_users,
    mysql_kind,
    postgresql_kind,
)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[servers.Running]:
    if servers.postgresql_programs() is None:
        pytest.skip("no PostgreSQL here: hack/databases fetches one")
    with servers.postgresql() as running:
        yield running


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[servers.Running]:
    if servers.mariadb_programs() is None:
        pytest.skip("no MariaDB here: hack/databases fetches one")
    with servers.mariadb() as running:
        yield running


@pytest.fixture
def postgresql(
    tmp_path: Path, postgresql_server: servers.Running
) -> Iterator[prepared]:
    with PostgreSqlWorld(tmp_path) as world:
        world.server = postgresql_server
        users = database_users(
            postgresql_kind(postgresql_server.trust), clock=world.clock
        )
        with prepared(world, users) as ready:
            yield ready


@pytest.fixture
def mysql(tmp_path: Path, mariadb_server: servers.Running) -> Iterator[prepared]:
    with MySqlWorld(tmp_path) as world:
        world.server = mariadb_server
        users = database_users(mysql_kind(mariadb_server.trust), clock=world.clock)
        with prepared(world, users) as ready:
            yield ready
