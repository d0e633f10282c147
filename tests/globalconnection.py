"""One connection for all objects, without Secrets, in tests of the reconciler."""

from typing import Any

from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection


class GlobalConnection:
    """A `ConnectionResolver`. client: None for one that has no credential."""

    def __init__(self, client: Any, *, subscription_id: str = "", **more: Any) -> None:
        self._connection = (
            None
            if client is None
            else Connection(client, subscription_id=subscription_id, **more)
        )

    def for_object(self, _obj: Any) -> Connection:
        if self._connection is None:
            raise CredentialError("there is no credential")
        return self._connection
