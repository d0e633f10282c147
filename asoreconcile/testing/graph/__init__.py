"""A simulator of Microsoft Graph, as an application sees it.

The entry point is `server.GraphServer`.
"""

from asoreconcile.testing.graph.faults import GraphFaults
from asoreconcile.testing.graph.server import GraphServer

__all__ = ["GraphFaults", "GraphServer"]
