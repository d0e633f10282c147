"""A simulator of Microsoft Graph's groups, as an application sees them.

The entry point is `server.GraphServer`.
"""

from asoreconcile.testing.graph.faults import GraphFaults
from asoreconcile.testing.graph.server import GraphServer

__all__ = ["GraphFaults", "GraphServer"]
