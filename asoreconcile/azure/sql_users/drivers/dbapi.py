"""A session over a connection of the Python database API (PEP 249), style pyformat."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from asoreconcile.azure.sql_users.server import ServerError
from asoreconcile.azure.sql_users.statement import Statement

_VALUE = re.compile(r"(?<!:):([a-z]+)")


class DbApiSession:
    """`server.Session`."""

    def __init__(
        self,
        connection: Any,
        failure: Callable[[Exception], ServerError],
        *,
        quote: Callable[[str], str] | None = None,
    ) -> None:
        """failure: converts an exception of the driver; its text must not show the
        statement.
        quote: quotes a value of a query; without it the driver sends values separately.
        """
        self._connection = connection
        self._failure = failure
        self._quote = quote

    def query(self, sql: str, **values: str) -> Sequence[Sequence[Any]]:
        """Run a query, see `server.Session.query`."""
        rows: Sequence[Sequence[Any]] = []

        def ask(cursor: Any) -> None:
            nonlocal rows
            if self._quote is None:
                cursor.execute(_VALUE.sub(r"%(\1)s", sql), values)
            else:
                texts = {name: self._quote(value) for name, value in values.items()}
                cursor.execute(_VALUE.sub(lambda found: texts[found[1]], sql))
            rows = list(cursor.fetchall())

        self._with_cursor(ask)
        return rows

    def execute(self, statement: Statement) -> None:
        """Run a statement, see `server.Session.execute`."""
        self._with_cursor(lambda cursor: cursor.execute(statement.sql))

    def close(self) -> None:
        """Close the connection, see `server.Session.close`."""
        with suppress(Exception):  # it is of no use any more
            self._connection.close()

    def _with_cursor(self, call: Callable[[Any], object]) -> None:
        try:
            with self._connection.cursor() as cursor:
                call(cursor)
        except Exception as error:  # noqa: BLE001 - the driver knows of what types
            failure = self._failure(error)
        else:
            return
        # Not chained: the driver's exceptions hold the statement.
        raise failure
