"""Credentials without a secret of their own: workload identity and managed identity.

Workload identity (mode 5) shows Entra the token that Kubernetes projects into the pod;
managed identity (mode 4) asks the machine. Rules: R8.1-R8.6.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from asoreconcile.azure.arm.ca_bundle import ca_bundle
from asoreconcile.azure.arm.credentials import (
    CloudConfig,
    CredentialError,
    Explained,
    SignInTransport,
    check_tenant,
    holder,
    identity_options,
)
from asoreconcile.redaction import register

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

# The file to which ASO's Deployment projects the service account's token.
TOKEN_FILE = "/var/run/secrets/tokens/azure-identity"  # noqa: S105 - a path
# Kubernetes' tokens have 1-2 kB; a larger file is something else.
_MAX_TOKEN_BYTES = 65_536
# The machine's endpoint answers at once or does not exist.
_MACHINE_TIMEOUT_SECONDS = 5


@attrs.frozen
class WorkloadIdentity:
    """An identity that trusts the cluster's service account tokens.

    token_file: read again for each token from Entra, because Kubernetes replaces it.
    federated: returns the token to show instead of the file's; raises CredentialError.
    """

    tenant_id: str
    client_id: str
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    additional_tenants: tuple[str, ...] = ()
    token_file: str = TOKEN_FILE
    origin: str = ""
    federated: "Callable[[], str] | None" = attrs.field(default=None, eq=False)

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Return the token source; the file is not read before the first token.

        Makes no request. `get_token` raises CredentialError, also if the file is
        missing or empty.
        """
        check_tenant(self.tenant_id)
        path = Path(self.token_file)

        def make() -> "TokenCredential":
            # Not WorkloadIdentityCredential: it keeps what it read for ten minutes.
            from azure.identity import ClientAssertionCredential

            return ClientAssertionCredential(
                self.tenant_id,
                self.client_id,
                self.federated or (lambda: _projected(path)),
                additionally_allowed_tenants=list(self.additional_tenants),
                **identity_options(self.cloud, transport),
            )

        return Explained(make, who=holder(self.client_id, self.origin))


@attrs.frozen
class ManagedIdentity:
    """An identity of the machine. client_id: "" for the machine's own identity.

    The tenant is the machine's, so there is no tenant to name.
    """

    client_id: str
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    origin: str = ""

    @property
    def tenant_id(self) -> str:
        """Always "": the tenant is the machine's own."""
        return ""

    @property
    def additional_tenants(self) -> tuple[str, ...]:
        """Always empty: an identity of a machine gets tokens of its own tenant only."""
        return ()

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":  # noqa: ARG002 - it asks no authority
        """Return the token source, which asks the machine's endpoint and ignores
        `transport`. The environment, as the platform sets it, selects the endpoint.
        """
        who = "the machine's own managed identity"
        if self.client_id:
            who = f"managed identity {holder(self.client_id, self.origin)}"

        def make() -> "TokenCredential":
            from azure.identity import ManagedIdentityCredential

            return ManagedIdentityCredential(
                client_id=self.client_id or None,
                # Injected variables of workload identity must not replace it.
                _exclude_workload_identity_credential=True,
                retry_total=0,
                connection_timeout=_MACHINE_TIMEOUT_SECONDS,
                read_timeout=_MACHINE_TIMEOUT_SECONDS,
                connection_verify=ca_bundle(),
            )

        return Explained(
            make,
            who=who,
            advice="assign it to the machine that the operator runs on, or configure a "
            "client secret, a certificate or workload identity",
        )


def _projected(path: Path) -> str:
    """Return the token that Kubernetes wrote to the file. Raises CredentialError."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_TOKEN_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise CredentialError(
            f"cannot read the service account token {path} ({reason}): project one "
            "for audience api://AzureADTokenExchange into the operator's pod"
        ) from error
    try:
        token = content.decode("ascii").strip()
    except UnicodeDecodeError:
        token = ""
    if not token or len(content) > _MAX_TOKEN_BYTES:
        raise CredentialError(f"{path} holds no service account token")
    register(token)
    return token
