"""Check that each credential in use can be read, and signs in. No value is shown."""

from collections.abc import Callable, Iterator, Mapping

from asoreconcile.azure.arm.credentials import CredentialError, CredentialSource
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.credentials_secret import (
    SecretRules,
    credential_in,
    secret_values,
)
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject, Finding
from asoreconcile.azure.controllers.diagnosis.object_parts import data_of, settings_in
from asoreconcile.azure.controllers.settings import SettingsError
from asoreconcile.azure.controllers.workload_tokens import SERVICE_ACCOUNT
from asoreconcile.azure.reconcile.model.annotations import EXPORTS_AS_CREDENTIALS
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, key_of
from asoreconcile.redaction import redact, register

_CREDENTIALS = CheckSubject("credentials")

Try = Callable[[CredentialSource], int]
"""Signs in, and says how many subscriptions can be read; raises CredentialError,
ArmError, ArmTransportError."""

_OF_ITS_PLACE = (ManagedIdentity, WorkloadIdentity, IdentityFile)


def of_secret(secret: JsonObject, try_: Try | None) -> Iterator[Finding]:
    """Check one Secret that objects sign in with.

    try_: signs in; None only reads the Secret.

    Blocking if `try_` calls Azure.
    """
    name = f"Secret {key_of(secret)}"
    data = data_of(secret)
    for value in secret_values(data):
        register(value, namespace=key_of(secret).namespace)
    try:
        source = credential_in(data, SecretRules(), origin=name)
    except CredentialError as wrong:
        yield _CREDENTIALS.error(f"{name}: {wrong}", "mend the keys of the Secret")
        return
    yield from _tried(name, source, try_, namespace=key_of(secret).namespace)


def is_workload_identity(secret: JsonObject) -> bool:
    """Return whether a Secret signs in with a token of a service account."""
    try:
        found = credential_in(data_of(secret), SecretRules(), origin="")
    except CredentialError:
        return False  # a finding of `of_secret`
    return isinstance(found, WorkloadIdentity)


def of_strict_identities(
    lacks: Mapping[str, str], *, is_strict: bool
) -> Iterator[Finding]:
    """Check the namespaces whose credential is a workload identity.

    lacks: texts by namespace, each the reason why the strict mode would fail, or "".
    is_strict: true if that mode is in force.
    """
    failing = [f"{name} ({why})" for name, why in sorted(lacks.items()) if why]
    names = ", ".join(failing)
    remedy = (
        f"create the ServiceAccount {SERVICE_ACCOUNT} there, and a federated "
        "credential with the subject "
        f"system:serviceaccount:NAMESPACE:{SERVICE_ACCOUNT}; the chart's "
        "workloadIdentityAuthMode: strict grants the right to its token"
    )
    if failing and is_strict:
        text = f"no workload identity signs in from {names}"
        yield _CREDENTIALS.error(text, remedy)
    elif failing:
        text = f"strict workload identity would not work yet in {names}"
        yield _CREDENTIALS.ok(f"{text}: before the switch, {remedy}")
    elif lacks:
        count = len(lacks)
        yield _CREDENTIALS.ok(f"{count} namespaces are ready for strict identities")


def of_export(name: str, *, is_allowed: bool) -> Iterator[Finding]:
    """Check a credential that an Azure object exports. is_allowed: true if its
    Namespace has the annotation.
    """
    if not is_allowed:
        yield _CREDENTIALS.error(
            f"Secret {name} is exported by an Azure object, which ASO accepts as a "
            "credential and this operator does not",
            f'annotate its Namespace with {EXPORTS_AS_CREDENTIALS}: "true" if whoever '
            "may create objects there may choose the identity",
        )


def of_settings_credential(secret: JsonObject, try_: Try | None) -> Iterator[Finding]:
    """Check the operator's own credential; wrong settings are reported by another
    check.
    """
    try:
        settings = settings_in(secret)
    except SettingsError:
        return
    if settings.credential is None:
        yield _CREDENTIALS.warning(
            "the settings have no credential",
            "give each namespace a Secret aso-credential, or set AZURE_SUBSCRIPTION_ID "
            "and a sign-in in the settings",
        )
        return
    yield from _tried("the operator's settings", settings.credential, try_)


def of_missing(name: str, users: Mapping[str, str]) -> Finding:
    """Return the finding for a missing Secret. users: an object that names the Secret,
    by the Secret's name.
    """
    return _CREDENTIALS.error(
        f"Secret {name} does not exist, and {users[name]} signs in with it",
        "create it in that namespace, or take the annotation away",
    )


def _tried(
    name: str, source: CredentialSource, try_: Try | None, *, namespace: str = ""
) -> Iterator[Finding]:
    if try_ is None:
        yield _CREDENTIALS.ok(f"{name} can be read; --azure tries to sign in")
    elif isinstance(source, _OF_ITS_PLACE):
        yield _CREDENTIALS.unknown(
            f"{name} is an identity of the pod or its machine",
            "it can be tried there alone: run `asoctl doctor --azure` in a pod of the "
            "operator",
        )
    else:
        try:
            count = try_(source)
        except (ArmError, ArmTransportError, AsoreconcileError) as failed:
            yield _CREDENTIALS.error(
                f"{name}: {redact(str(failed), namespace=namespace)}",
                "look whether the client secret or certificate has expired, and at the "
                "proxy and the endpoint's address",
            )
            return
        yield _CREDENTIALS.ok(f"{name} signs in, and reads {count} subscriptions")
