"""An embedded Kubernetes API server for tests and for trying things out."""

from asoreconcile.testing.kube.server import KubeServer, Served

__all__ = ["KubeServer", "Served"]
