"""Sign a command in to Azure: with the operator's settings, else with the Azure CLI."""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from asoreconcile.azure.arm.ca_bundle import CertificateBundleError, ProxyVariableError
from asoreconcile.azure.arm.credentials import CredentialSource
from asoreconcile.azure.arm.credentials_cli import AzureCli
from asoreconcile.azure.cmd.broken_pipe import usage_errors
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.controllers.settings import (
    Settings,
    SettingsError,
    from_environment,
)
from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection
from asoreconcile.base.clock import SystemClock

_SIGN_INS = (
    "AZURE_CLIENT_CERTIFICATE",
    "AZURE_CLIENT_SECRET",
    "USE_WORKLOAD_IDENTITY_AUTH",
)
# Variables that are read, but do not belong to the identity.
_OF_A_POD = {"POD_NAMESPACE": "asoctl"}


@contextmanager
def signed_in(
    environment: Mapping[str, str] = os.environ, *, connections: int = 8
) -> Iterator[Connection]:
    """Return clients of ARM and Microsoft Graph, which are closed at the end of the
    block.

    They write nothing by themselves, and sign in with their first request. Raises
    click.UsageError for settings that cannot be used, of the connection too.
    """
    with usage_errors(SettingsError):
        settings = from_environment({**environment, **_OF_A_POD})
    source = _credential_source(settings, environment)
    factory = ArmClientFactory(
        clock=SystemClock(),
        user_agent="asoctl",
        connections=connections,
        read_only=True,
        graph_endpoint=settings.graph_endpoint,
    )
    app = "" if isinstance(source, AzureCli) else settings.entra_app_id
    with closing(factory):
        with usage_errors(CertificateBundleError, ProxyVariableError):
            made = factory(source, "asoctl", entra_app_id=app)
        yield made


def _credential_source(
    settings: Settings, environment: Mapping[str, str]
) -> CredentialSource:
    """Return the settings' global credential if there is one, else the Azure CLI's.

    A machine's managed identity is not used: a person's machine has none, and finding
    that out takes long.
    """
    if settings.credential is not None and any(map(environment.get, _SIGN_INS)):
        return settings.credential
    return AzureCli(
        subscription_id=environment.get("AZURE_SUBSCRIPTION_ID", ""),
        cloud=settings.cloud,
        tenant_id=environment.get("AZURE_TENANT_ID", ""),
    )
