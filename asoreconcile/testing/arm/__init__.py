"""A simulator of Azure Resource Manager for tests and for trying things out."""

from asoreconcile.testing.arm.server import ArmServer, Exchange

__all__ = ["ArmServer", "Exchange"]
