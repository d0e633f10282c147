"""Who a command signs in to Azure as: the operator's settings, else the Azure CLI."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import click

from asoreconcile.arm.client import ArmClient
from asoreconcile.arm.credentials import CredentialSource
from asoreconcile.arm.credentials_cli import AzureCli
from asoreconcile.clock import SystemClock
from asoreconcile.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.controllers.settings import SettingsError, from_environment

_SIGN_INS = (
    "AZURE_CLIENT_CERTIFICATE",
    "AZURE_CLIENT_SECRET",
    "USE_WORKLOAD_IDENTITY_AUTH",
)
# Read, but no part of who signs in.
_OF_A_POD = {"POD_NAMESPACE": "asoctl"}


@contextmanager
def signed_in_client(
    environment: Mapping[str, str] = os.environ, *, connections: int = 8
) -> Iterator[ArmClient]:
    """A client of ARM that writes nothing by itself, closed at the end. Signs in with
    the first request.

    Raises click.UsageError for settings that cannot be used.
    """
    factory = ArmClientFactory(
        clock=SystemClock(),
        user_agent="asoctl",
        connections=connections,
        read_only=True,
    )
    try:
        yield factory(credential_source(environment), "asoctl").client
    finally:
        factory.close()


def credential_source(environment: Mapping[str, str]) -> CredentialSource:
    """The settings' global credential where they name one; else the Azure CLI's.

    A machine's managed identity is not taken: on a person's machine there is none, and
    to find that out takes long. Raises click.UsageError.
    """
    try:
        settings = from_environment({**environment, **_OF_A_POD})
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    if settings.credential is not None and any(map(environment.get, _SIGN_INS)):
        return settings.credential
    return AzureCli(
        subscription_id=environment.get("AZURE_SUBSCRIPTION_ID", ""),
        cloud=settings.cloud,
        tenant_id=environment.get("AZURE_TENANT_ID", ""),
    )
