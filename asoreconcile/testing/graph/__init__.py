"""Microsoft Graph's groups, as an application sees them: `server.GraphServer`."""

from asoreconcile.testing.graph.faults import GraphFaults
from asoreconcile.testing.graph.server import GraphServer

__all__ = ["GraphFaults", "GraphServer"]
