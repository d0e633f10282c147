"""An embedded Kubernetes API server, for tests and for trying things out."""

from asoreconcile.testing.fault_injection import InjectedFault
from asoreconcile.testing.kube.access.users import User
from asoreconcile.testing.kube.controls.journal import Served
from asoreconcile.testing.kube.server import KubeServer
from asoreconcile.testing.kube.store.persistence import DataFolderError

__all__ = ["DataFolderError", "InjectedFault", "KubeServer", "Served", "User"]
