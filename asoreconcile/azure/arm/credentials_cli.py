"""The Azure CLI's sign-in, for commands that a person runs; the operator never
uses it.
"""

from typing import TYPE_CHECKING

import attrs

from asoreconcile.azure.arm.credentials import CloudConfig, Explained, SignInTransport

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential


@attrs.frozen
class AzureCli:
    """The user who ran `az login`. subscription_id: the subscription to work
    on, or "".
    """

    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    tenant_id: str = ""
    client_id: str = ""
    additional_tenants: tuple[str, ...] = ()
    origin: str = "the Azure CLI"

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":  # noqa: ARG002 - it runs a program
        """Return azure-identity's credential that runs `az account get-access-token`.

        Starts nothing yet. `get_token` blocks, and raises CredentialError if `az` is
        missing or the user is not signed in.
        """

        def make() -> "TokenCredential":
            from azure.identity import AzureCliCredential

            return AzureCliCredential(tenant_id=self.tenant_id)

        return Explained(
            make,
            who="the user of `az login`",
            advice="run `az login`, or set AZURE_SUBSCRIPTION_ID, AZURE_TENANT_ID, "
            "AZURE_CLIENT_ID and AZURE_CLIENT_SECRET",
        )
