"""Names and texts as SQL has them: the only way from a spec into a statement. Pure.

PostgreSQL runs with standard_conforming_strings, MySQL's sessions with
NO_BACKSLASH_ESCAPES (`drivers.mysql` sets it): so a quote is all that ends a text. The
texts are those of one session in UTF-8, where no byte of a character is a quote.
"""

from asoreconcile.azure.arm.condition_error import ConditionError


def ansi_identifier(name: str) -> str:
    """`"name"`, for PostgreSQL. Raises ConditionError for what no name can be."""
    return '"' + _checked(name).replace('"', '""') + '"'


def mysql_identifier(name: str) -> str:
    """A database's name in backticks. Raises ConditionError."""
    return "`" + _checked(name).replace("`", "``") + "`"


def tsql_identifier(name: str) -> str:
    """`[name]`, for Azure SQL. Raises ConditionError."""
    return "[" + _checked(name).replace("]", "]]") + "]"


def text(value: str) -> str:
    """A text in single quotes, in which only a quote is special. Raises ConditionError
    for a zero character, without saying of what.
    """
    if "\0" in value:
        raise unusable("a value has a zero character, which SQL cannot say")
    return "'" + value.replace("'", "''") + "'"


def postgresql_text(value: str) -> str:
    """As `text`, whatever the server says of backslashes."""
    if "\\" not in value:
        return text(value)
    return "E" + text(value.replace("\\", "\\\\"))


def tsql_text(value: str) -> str:
    """As `text`, in Unicode."""
    return "N" + text(value)


def mysql_account(user: str, host: str) -> str:
    """`'user'@'host'`. Raises ConditionError."""
    return f"{text(_checked(user))}@{text(_checked(host))}"


def unusable(message: str) -> ConditionError:
    """What only an edit of the object, or of its Secret, can mend."""
    return ConditionError(message, reason="Failed", severity="Error")


def _checked(name: str) -> str:
    if not name:
        raise unusable("a name is empty: set it")
    if "\0" in name:
        raise unusable(f"{name!r} has a zero character: no name can have one")
    return name
