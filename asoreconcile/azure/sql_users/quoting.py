"""Quote names and texts for SQL: the only way from a spec to a statement. Pure.

PostgreSQL runs with standard_conforming_strings, MySQL's sessions with
NO_BACKSLASH_ESCAPES (`drivers.mysql` sets it): so only a quote ends a text. Sessions
use UTF-8, in which no byte of another character is a quote.
"""

from asoreconcile.azure.arm.condition_error import unusable


def ansi_identifier(name: str) -> str:
    """Return `"name"`, for PostgreSQL. Raises ConditionError for an invalid name."""
    return '"' + _checked(name).replace('"', '""') + '"'


def mysql_identifier(name: str) -> str:
    """Return a database's name in backticks. Raises ConditionError."""
    return "`" + _checked(name).replace("`", "``") + "`"


def tsql_identifier(name: str) -> str:
    """Return `[name]`, for Azure SQL. Raises ConditionError."""
    return "[" + _checked(name).replace("]", "]]") + "]"


def text(value: str) -> str:
    """Return a text in single quotes, in which only a quote is special.

    Raises ConditionError for a zero character, without showing the text.
    """
    if "\0" in value:
        raise unusable("a value has a zero character, which SQL cannot say")
    return "'" + value.replace("'", "''") + "'"


def postgresql_text(value: str) -> str:
    """Return a quoted text that does not depend on the server's backslash setting."""
    if "\\" not in value:
        return text(value)
    return "E" + text(value.replace("\\", "\\\\"))


def tsql_text(value: str) -> str:
    """Return a quoted text in Unicode."""
    return "N" + text(value)


def mysql_account(user: str, host: str) -> str:
    """Return `'user'@'host'`. Raises ConditionError."""
    return f"{text(_checked(user))}@{text(_checked(host))}"


def _checked(name: str) -> str:
    if not name:
        raise unusable("a name is empty: set it")
    if "\0" in name:
        raise unusable(f"{name!r} has a zero character: no name can have one")
    return name
