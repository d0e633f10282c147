"""Read a credential from the data of a Secret.

The keys are ASO's, and the present keys decide the kind of credential (R8.3). All
mistakes are reported together; no value is ever quoted. Pure.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import attrs

from asoreconcile.azure.arm.credentials import (
    ANY_TENANT,
    TENANT,
    ClientSecret,
    CloudConfig,
    CredentialError,
    CredentialSource,
)
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    TOKEN_FILE,
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.azure.arm.endpoint import problem_of, problem_of_name
from asoreconcile.azure.arm.text_bounds import CREDENTIAL

REQUIRED = ("AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_ID")
CLOUD = {
    "AZURE_AUTHORITY_HOST": "authority_host",
    "AZURE_RESOURCE_MANAGER_ENDPOINT": "endpoint",
    "AZURE_RESOURCE_MANAGER_AUDIENCE": "audience",
}
AZURE_HOSTS = frozenset(
    {
        "login.chinacloudapi.cn",
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.partner.microsoftonline.cn",
        "management.azure.com",
        "management.chinacloudapi.cn",
        "management.usgovcloudapi.net",
    }
)
"""The hosts of Azure's clouds."""
_MODES = ("workloadidentity", "podidentity")
IDENTITY_FILE = "AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS"
_SECRET = "AZURE_CLIENT_SECRET"  # noqa: S105 - a key's name
_CERTIFICATE = "AZURE_CLIENT_CERTIFICATE"
_PASSWORD = "AZURE_CLIENT_CERTIFICATE_PASSWORD"  # noqa: S105 - a key's name
TENANTS = "AZURE_ADDITIONAL_TENANTS"
ENTRA_APP_ID = "ENTRA_APP_ID"
# The limit of one request's header, as Microsoft documents it.
_MOST_TENANTS = 3
_KNOWN = frozenset(
    {
        *REQUIRED,
        *CLOUD,
        *(_SECRET, _CERTIFICATE, _PASSWORD, IDENTITY_FILE, TENANTS, ENTRA_APP_ID),
        "AUTH_MODE",
    }
)
_APPLICATION = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# The id becomes a segment of URL paths: it must not contain further segments.
_SUBSCRIPTION = re.compile(r"[A-Za-z0-9_-]+")


def secret_values(data: Mapping[str, bytes]) -> list[str]:
    """Return the secret values of a credential Secret; ids and addresses are not
    secret.
    """
    values = (data.get(key, b"") for key in (_SECRET, _CERTIFICATE, _PASSWORD))
    return [value.decode("utf-8", "replace").strip() for value in values if value]


@attrs.frozen
class SecretRules:
    """The operator's settings for credentials in Secrets.

    cloud: the cloud for Secrets that name none.
    allow_clouds: whether a Secret may name a cloud (ALLOW_MULTI_ENV_MANAGEMENT).
    cloud_hosts: hosts, or hosts with a port, that such a cloud may have
    (ASORECONCILE_CLOUD_HOSTS).
    token_file: the token file of workload identity.
    """

    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    allow_clouds: bool = False
    cloud_hosts: frozenset[str] = AZURE_HOSTS
    token_file: str = TOKEN_FILE


def credential_in(
    data: Mapping[str, bytes], rules: SecretRules, *, origin: str
) -> CredentialSource:
    """Return the credential that a Secret's decoded data describes.

    origin: the Secret's name, for messages.

    A client secret wins over a certificate, which wins over an identity's file, which
    wins over AUTH_MODE=podidentity; without any of them it is workload identity. Rules:
    R8.3, R8.5.
    Raises CredentialError that names every problem.
    """
    reader = _Reader(data)
    source = _source(reader, rules, origin)
    if reader.problems:
        raise CredentialError("; ".join(reader.problems))
    return source


def entra_app_in(data: Mapping[str, bytes]) -> str:
    """Return the application that calls Microsoft Graph instead of AZURE_CLIENT_ID, or
    "".

    Raises CredentialError.
    """
    given = data.get(ENTRA_APP_ID, b"").decode("utf-8", "replace").strip()
    try:
        return application_id(given) if given else ""
    except ValueError as error:
        raise CredentialError(f"{ENTRA_APP_ID}: {error}") from None


def application_id(text: str) -> str:
    """Return the text if it is an application's id. Raises ValueError."""
    if not _APPLICATION.fullmatch(text):
        raise ValueError("the text is no application's id: write its GUID")
    return text


def tenants_in(text: str) -> tuple[str, ...]:
    """Return the tenants in AZURE_ADDITIONAL_TENANTS, a comma list without
    empty items.
    """
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def tenants_problem(tenants: tuple[str, ...]) -> str:
    """Return why AZURE_ADDITIONAL_TENANTS cannot be used; "" if it can. Pure.
    Rule: H5.
    """
    strange = [t for t in tenants if t != ANY_TENANT and not TENANT.fullmatch(t)]
    if strange:
        # It becomes a segment of the token endpoint's path.
        return f"names what is no tenant's GUID or domain: {_listed(strange)}"
    if len(tenants) > _MOST_TENANTS:
        return (
            f"names {len(tenants)} tenants: Azure takes tokens of {_MOST_TENANTS} "
            "further ones with a request at most"
        )
    return ""


def subscription_problem(subscription_id: str) -> str:
    """Return why a text cannot be a subscription id; "" if it can. Pure."""
    if _SUBSCRIPTION.fullmatch(subscription_id):
        return ""
    return "is no subscription id: write the GUID alone"


def _source(reader: "_Reader", rules: SecretRules, origin: str) -> CredentialSource:
    subscription, tenant, client = reader.required()
    cloud = reader.cloud(rules)
    tenants = tenants_in(reader.text(TENANTS))
    if problem := tenants_problem(tenants):
        reader.problems.append(f"{TENANTS} {problem}")
    mode = reader.mode()
    if _SECRET in reader:
        secret = reader.filled(_SECRET)
        return ClientSecret(
            tenant, client, secret, subscription, cloud, tenants, origin
        )
    if _CERTIFICATE in reader:
        reader.filled(_CERTIFICATE)
        content, password = reader.content(_CERTIFICATE), reader.line(_PASSWORD)
        return ClientCertificate(
            tenant, client, content, password, subscription, cloud, tenants, origin
        )
    if cloud != rules.cloud and rules.allow_clouds:
        # Tokens of the pod are good for every identity that trusts the operator.
        reader.problems.append(
            f"a cloud of its own needs {_SECRET} or {_CERTIFICATE}: the operator's own "
            "identity signs in to the operator's cloud alone"
        )
    if IDENTITY_FILE in reader:
        file = reader.filled(IDENTITY_FILE)
        return IdentityFile(file, tenant, client, subscription, cloud, origin)
    if mode == "podidentity":
        return ManagedIdentity(client, subscription, cloud, origin)
    return WorkloadIdentity(
        tenant, client, subscription, cloud, tenants, rules.token_file, origin
    )


class _Reader:
    """One Secret's data, and the problems found in it."""

    def __init__(self, data: Mapping[str, bytes]) -> None:
        # Nothing parses a value that is too long.
        fits = {key for key, value in data.items() if len(value) <= CREDENTIAL.most}
        self._data = {key: data[key] if key in fits else b"" for key in data}
        self.problems = [
            f"key {key} has {len(data[key])} bytes, and at most {CREDENTIAL.most} are "
            "read"
            for key in sorted(_KNOWN & (data.keys() - fits))
        ]

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def content(self, key: str) -> bytes:
        return self._data.get(key, b"")

    def line(self, key: str) -> str:
        """Return a value that may begin and end with blanks, without surrounding line
        breaks.
        """
        try:
            return self.content(key).decode().strip("\r\n")
        except UnicodeDecodeError:
            self.problems.append(f"key {key} is not text")
            return ""

    def text(self, key: str) -> str:
        return self.line(key).strip()

    def filled(self, key: str) -> str:
        if not self.content(key).strip():
            self.problems.append(f"key {key} is empty: fill it, or remove the key")
            return ""
        return "" if key == _CERTIFICATE else self.text(key)

    def required(self) -> tuple[str, str, str]:
        values = [self.text(key) for key in REQUIRED]
        missing = [
            self._missing(key)
            for key, value in zip(REQUIRED, values, strict=True)
            if not value and not self._is_binary(key)
        ]
        if missing:
            self.problems.append(f"add {_listed(missing)}")
        problem = values[0] and subscription_problem(values[0])
        if problem:
            self.problems.append(f"{REQUIRED[0]} {problem}")
        return values[0], values[1], values[2]

    def _missing(self, key: str) -> str:
        if key in self._data:
            return f"{key} (it is empty)"
        import difflib

        unknown_keys = sorted(self._data.keys() - _KNOWN)
        # Only names of unknown keys, never a value.
        similar = difflib.get_close_matches(key, unknown_keys, n=1, cutoff=0.8)
        return f"{key} (is {similar[0]} a misspelling of it?)" if similar else key

    def _is_binary(self, key: str) -> bool:
        return any(problem == f"key {key} is not text" for problem in self.problems)

    def mode(self) -> str:
        given = self.text("AUTH_MODE").lower()
        if given and given not in _MODES:
            self.problems.append(f"AUTH_MODE must be {' or '.join(_MODES)}")
        return given

    def cloud(self, rules: SecretRules) -> CloudConfig:
        given = {key: self.text(key) for key in CLOUD}
        present = [key for key, value in given.items() if value]
        absent = [key for key, value in given.items() if not value]
        if not present:
            return rules.cloud
        if not rules.allow_clouds:
            self.problems.append(
                f"remove {_listed(present)}, or let the operator's settings say "
                "ALLOW_MULTI_ENV_MANAGEMENT=true"
            )
        elif absent:
            self.problems.append(
                f"{_listed(present)} without {_listed(absent)}: give all three or none"
            )
        for key in present:
            is_name = key == "AZURE_RESOURCE_MANAGER_AUDIENCE"
            problem = problem_of_name(given[key]) if is_name else problem_of(given[key])
            if problem:
                self.problems.append(f"{key} {problem}")
        made = self._made_cloud(given)
        if made != rules.cloud:
            self._check_hosts(given, rules)
        return made

    def _check_hosts(self, given: Mapping[str, str], rules: SecretRules) -> None:
        """Check the hosts that a Secret names: its author must not choose where the
        operator connects to.
        """
        for key in ("AZURE_AUTHORITY_HOST", "AZURE_RESOURCE_MANAGER_ENDPOINT"):
            url = given[key]
            if not url or problem_of(url) or not rules.allow_clouds:
                continue
            parts = urlsplit(url.lower())
            if not {parts.hostname, parts.netloc} & rules.cloud_hosts:
                self.problems.append(
                    f"{key} is not on a host that the operator's settings allow: let "
                    "an administrator add it to ASORECONCILE_CLOUD_HOSTS"
                )

    def _made_cloud(self, given: Mapping[str, str]) -> CloudConfig:
        present = [key for key, value in given.items() if value]
        return CloudConfig(**{CLOUD[key]: given[key] for key in present})


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
