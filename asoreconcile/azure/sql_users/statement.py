"""One statement, and the same without its secrets."""

import attrs

from asoreconcile.redaction import HIDDEN


@attrs.frozen
class Secret:
    """A part of a statement that nobody is shown, quoted already."""

    text: str = attrs.field(repr=False)


@attrs.frozen
class Statement:
    """sql: what the server gets. shown: what logs, conditions and people get."""

    sql: str = attrs.field(repr=False)
    shown: str

    @classmethod
    def of(cls, *parts: str | Secret) -> "Statement":
        """Put together of parts that are keywords, or quoted."""
        return cls(
            "".join(p.text if isinstance(p, Secret) else p for p in parts),
            "".join(f"'{HIDDEN}'" if isinstance(p, Secret) else p for p in parts),
        )

    def __str__(self) -> str:
        return self.shown
