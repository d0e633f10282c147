"""Servers of databases, and worlds with the object that owns each."""

from collections.abc import Iterator
from typing import Any

import pytest
import servers
from databaseworlds import MySqlWorld, PostgreSqlWorld, prepared
from startstate import StartState

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


@pytest.fixture(scope="module")
def postgresql_start(
    tmp_path_factory: pytest.TempPathFactory, postgresql_server: servers.Running
) -> Iterator[StartState]:
    with PostgreSqlWorld(tmp_path_factory.mktemp("postgresql")) as world:
        world.server = postgresql_server
        users = database_users(
            postgresql_kind(postgresql_server.trust), clock=world.clock
        )
        with prepared(world, users) as ready:
            yield StartState(ready)


@pytest.fixture(scope="module")
def mysql_start(
    tmp_path_factory: pytest.TempPathFactory, mariadb_server: servers.Running
) -> Iterator[StartState]:
    with MySqlWorld(tmp_path_factory.mktemp("mysql")) as world:
        world.server = mariadb_server
        users = database_users(mysql_kind(mariadb_server.trust), clock=world.clock)
        with prepared(world, users) as ready:
            yield StartState(ready)


def _restored(state: StartState) -> Iterator[Any]:
    state.restore()
    yield state.root
    state.root.cluster.faults.release_all()
    state.root.users.close()


@pytest.fixture
def postgresql(postgresql_start: StartState) -> Iterator[Any]:
    """The module's world of PostgreSQL, in the state in which each test begins."""
    yield from _restored(postgresql_start)


@pytest.fixture
def mysql(mysql_start: StartState) -> Iterator[Any]:
    """The same of MySQL."""
    yield from _restored(mysql_start)
