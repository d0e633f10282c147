"""An embedded Kubernetes API server for tests and for trying things out."""

from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.knobs.journal import Served
from asoreconcile.testing.kube.server import KubeServer
from asoreconcile.testing.kube.store.persistence import DataFolderError
from asoreconcile.testing.mishaps import Mishap

__all__ = ["DataFolderError", "KubeServer", "Mishap", "Served", "User"]
