"""Ways into ARM: one client a credential, shared by all objects that use it."""

from asoreconcile.arm.client import ArmClient
from asoreconcile.azure.work import Connection
from asoreconcile.errors import ConditionError
from asoreconcile.objects import JsonObject


class GlobalConnection:
    """`azure.work.Connections` with the one credential of the operator's settings."""

    def __init__(
        self, client: ArmClient | None, *, subscription_id: str, source: str
    ) -> None:
        """client: None when the settings name no subscription."""
        self._connection = (
            None
            if client is None
            else Connection(client, subscription_id=subscription_id, source=source)
        )

    def for_object(self, obj: JsonObject) -> Connection:  # noqa: ARG002 - see Connections
        if self._connection is None:
            raise ConditionError(
                "no Azure credential: set AZURE_SUBSCRIPTION_ID, AZURE_TENANT_ID, "
                "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET in the operator's settings",
                reason="CredentialError",
            )
        return self._connection
