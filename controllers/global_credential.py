"""The credential in the operator's settings, for objects without a narrower one.

The first of these that the settings have: workload identity, a certificate, the file of
a user-assigned identity, a client secret, the machine's managed identity (operations
section 1).
"""

from asoreconcile.azure.arm.ca_bundle import (
    CertificateBundleError,
    ProxyVariableError,
    ca_bundle,
)
from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
    CredentialSource,
)
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.credentials_secret import (
    IDENTITY_FILE,
    TENANTS,
    subscription_problem,
    tenants_in,
    tenants_problem,
)
from asoreconcile.azure.controllers.environment import Environment, flag
from asoreconcile.redaction import register

_ORIGIN = "the operator's settings"
# Variables that only azure-identity would read; ASO's settings have no such names.
_UNREAD = {
    "AZURE_CLIENT_CERTIFICATE_PATH": "put the certificate itself into "
    "AZURE_CLIENT_CERTIFICATE",
    "AZURE_PASSWORD": "Entra takes no passwords from programs any more; use a client "
    "secret, a certificate or workload identity",
}


def global_credential(
    reader: Environment, cloud: CloudConfig, token_file: str, notices: list[str]
) -> CredentialSource | None:
    """Return the global credential; None without AZURE_SUBSCRIPTION_ID, which is
    allowed.

    Problems are added to the reader, remarks to `notices`.
    """
    by_workload = reader.parsed("USE_WORKLOAD_IDENTITY_AUTH", flag, False)
    if reader.text("AUTH_MODE"):
        notices.append("AUTH_MODE is read in credential Secrets only, not here")
    subscription = reader.text("AZURE_SUBSCRIPTION_ID")
    if not subscription:
        notices.append(
            "No AZURE_SUBSCRIPTION_ID: there is no global credential, each object "
            "needs one of its own or of its namespace"
        )
        return None
    if problem := subscription_problem(subscription):
        reader.problems.append(f"AZURE_SUBSCRIPTION_ID {problem}")
    source = _source(reader, cloud, token_file, notices, by_workload=by_workload)
    if not reader.problems:
        try:
            ca_bundle()
            source.credential()
        except (CertificateBundleError, CredentialError, ProxyVariableError) as error:
            reader.problems.append(str(error))
    return source


def _source(
    reader: Environment,
    cloud: CloudConfig,
    token_file: str,
    notices: list[str],
    *,
    by_workload: bool,
) -> CredentialSource:
    subscription = reader.text("AZURE_SUBSCRIPTION_ID")
    client = reader.text("AZURE_CLIENT_ID")
    certificate = reader.raw("AZURE_CLIENT_CERTIFICATE")
    secret = reader.text("AZURE_CLIENT_SECRET")
    # The operator's own secrets are hidden in the texts of all namespaces.
    for value in (certificate, reader.raw("AZURE_CLIENT_CERTIFICATE_PASSWORD"), secret):
        register(value.strip())
    tenants = tenants_in(reader.text(TENANTS))
    if problem := tenants_problem(tenants):
        reader.problems.append(f"{TENANTS} {problem}")
    identity_file = reader.text(IDENTITY_FILE)
    used, unused = _choice(
        USE_WORKLOAD_IDENTITY_AUTH=by_workload,
        AZURE_CLIENT_CERTIFICATE=bool(certificate),
        AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS=bool(identity_file),
        AZURE_CLIENT_SECRET=bool(secret),
    )
    notices.extend(f"{name} is not used: {used} comes first" for name in unused)
    if not used:
        if tenants:
            notices.append(f"{TENANTS} is not used: a managed identity has one tenant")
        return _of_machine(reader, cloud, notices)
    if used == IDENTITY_FILE:
        if tenants:
            notices.append(f"{TENANTS} is not used: the identity's file has one tenant")
        # The file says whose it is; ids of the settings are not needed.
        tenant, client = reader.text("AZURE_TENANT_ID"), reader.text("AZURE_CLIENT_ID")
        return IdentityFile(identity_file, tenant, client, subscription, cloud, _ORIGIN)
    needed = f"needed with {used}"
    tenant = reader.required("AZURE_TENANT_ID", needed)
    client = reader.required("AZURE_CLIENT_ID", needed)
    if by_workload:
        return WorkloadIdentity(
            tenant, client, subscription, cloud, tenants, token_file, _ORIGIN
        )
    if certificate:
        content, password = (
            certificate.encode(),
            reader.raw("AZURE_CLIENT_CERTIFICATE_PASSWORD"),
        )
        return ClientCertificate(
            tenant, client, content, password, subscription, cloud, tenants, _ORIGIN
        )
    return ClientSecret(tenant, client, secret, subscription, cloud, tenants, _ORIGIN)


def _choice(**given: bool) -> tuple[str, list[str]]:
    """Return the first setting that is given, and those that it hides."""
    names = [name for name, is_given in given.items() if is_given]
    return (names[0], names[1:]) if names else ("", [])


def _of_machine(
    reader: Environment, cloud: CloudConfig, notices: list[str]
) -> CredentialSource:
    for name, advice in _UNREAD.items():
        reader.refuse(name, f"is not read: {advice}")
    notices.append(
        "The machine's managed identity is used: there is neither workload identity, "
        "a certificate nor a client secret in the settings"
    )
    return ManagedIdentity(
        reader.text("AZURE_CLIENT_ID"),
        reader.text("AZURE_SUBSCRIPTION_ID"),
        cloud,
        _ORIGIN,
    )
