"""A simulator of Azure Resource Manager for tests and for trying things out."""

from asoreconcile.testing.arm.journal import JournalEntry
from asoreconcile.testing.arm.server import ArmServer

__all__ = ["ArmServer", "JournalEntry"]
