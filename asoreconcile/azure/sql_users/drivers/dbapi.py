"""Sessions over the connection of a driver."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import attrs

from asoreconcile.azure.sql_users.server import ServerError
from asoreconcile.azure.sql_users.statement import Statement

_VALUE = re.compile(r"(?<!:):([a-z]+)")


@attrs.define(eq=False)
class DriverSession:
    """The parts of a `server.Session` that all drivers share.

    failure: converts an exception of the driver; its text must not show the statement.
    """

    _connection: Any
    _failure: Callable[[Exception], ServerError]

    def close(self) -> None:
        """Close the connection, see `server.Session.close`."""
        with suppress(Exception):  # it is of no use any more
            self._connection.close()

    def _said(self, call: Callable[[], Any]) -> Any:
        """Return the result of a call of the driver. Raises ServerError."""
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - the driver knows of what types
            failure = self._failure(error)
        # Not chained: the driver's exceptions hold the statement.
        raise failure


@attrs.define(eq=False)
class DbApiSession(DriverSession):
    """A session over the Python database API (PEP 249), style pyformat.

    quote: quotes a value of a query; without it the driver sends values separately.
    """

    _quote: Callable[[str], str] | None = None

    def query(self, sql: str, **values: str) -> Sequence[Sequence[Any]]:
        """Run a query, see `server.Session.query`."""

        def ask() -> list[Sequence[Any]]:
            with self._connection.cursor() as cursor:
                if self._quote is None:
                    cursor.execute(_VALUE.sub(r"%(\1)s", sql), values)
                else:
                    texts = {name: self._quote(one) for name, one in values.items()}
                    cursor.execute(_VALUE.sub(lambda found: texts[found[1]], sql))
                return list(cursor.fetchall())

        rows: list[Sequence[Any]] = self._said(ask)
        return rows

    def execute(self, statement: Statement) -> None:
        """Run a statement, see `server.Session.execute`."""

        def say() -> None:
            with self._connection.cursor() as cursor:
                cursor.execute(statement.sql)

        self._said(say)
