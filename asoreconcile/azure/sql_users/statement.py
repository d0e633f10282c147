"""One SQL statement, in full and without its secrets."""

import attrs

from asoreconcile.redaction import HIDDEN


@attrs.frozen
class Secret:
    """A quoted part of a statement that is never shown."""

    text: str = attrs.field(repr=False)


@attrs.frozen
class Statement:
    """A statement. sql: the text for the server. shown: the text for logs and
    conditions.
    """

    sql: str = attrs.field(repr=False)
    shown: str

    @classmethod
    def of(cls, *parts: str | Secret) -> "Statement":
        """Return the statement made of parts that are keywords or quoted."""
        return cls(
            "".join(p.text if isinstance(p, Secret) else p for p in parts),
            "".join(f"'{HIDDEN}'" if isinstance(p, Secret) else p for p in parts),
        )

    def __str__(self) -> str:
        return self.shown
