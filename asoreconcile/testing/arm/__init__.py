"""A simulator of Azure Resource Manager, for tests and for trying things out."""

from asoreconcile.base import extras

extras.require_extra("azure", "asoreconcile.testing.arm")

from asoreconcile.testing.arm.journal import JournalEntry  # noqa: E402 - what it needs
from asoreconcile.testing.arm.server import ArmServer  # noqa: E402 - is looked for

__all__ = ["ArmServer", "JournalEntry"]
