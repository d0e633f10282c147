"""Our identity in Azure: cloud settings, credential values, and what makes tokens.

A credential is a frozen value, read from settings or a Secret. azure-identity does the
talking and is imported with the first token (0.4 s, 36 MB).
Secret members stay out of every repr, message and log. Rules: R8.1-R8.6.
"""

import logging
import re
from collections.abc import Callable
from functools import partial
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias
from urllib.parse import urlsplit

import attrs

from asoreconcile.arm.ca_bundle import ca_bundle
from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.arm.response import PERHAPS_A_PROXY
from asoreconcile.deferred import Deferred
from asoreconcile.errors import StoppedError, in_chain
from asoreconcile.redaction import Vault, redact

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken, TokenCredential
    from azure.core.exceptions import AzureError

    from asoreconcile.arm.sign_in_transport import AuthorityTransport

DEFAULT_AUTHORITY = "https://login.microsoftonline.com/"
DEFAULT_ENDPOINT = "https://management.azure.com"
DEFAULT_AUDIENCE = "https://management.core.windows.net/"
# Authorities that Microsoft's instance discovery knows; asking it about any other one
# sends the question, and the tenant, to a host that the operator may not reach.
_LISTED_AUTHORITIES = frozenset(
    {
        "login.chinacloudapi.cn",
        "login.microsoft.com",
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.partner.microsoftonline.cn",
        "login.usgovcloudapi.net",
        "login.windows.net",
        "sts.windows.net",
    }
)
ANY_TENANT = "*"
TENANT = re.compile(r"[A-Za-z0-9.-]+")
_CONNECT_TIMEOUT_SECONDS = 10
# Connections to an authority kept open at most: tokens are asked for once an hour.
_SIGN_INS = 4
_READ_TIMEOUT_SECONDS = 30
# They log answers that cannot be read, whole: a token that is cut short is in one.
_QUOTING_LOGGERS = (
    "azure.identity._internal.decorators",
    "azure.identity._internal.get_token_mixin",
    "azure.identity._internal.msal_managed_identity_client",
    "msal.oauth2cli.oauth2",
)
# What azure-identity has wrapped where an answer is not of the form that it takes.
_TRIPPED = (RecursionError, LookupError, TypeError, AttributeError)
_UNREADABLE = (JSONDecodeError, UnicodeDecodeError, *_TRIPPED)


SignInTransport: TypeAlias = "AuthorityTransport | None"
"""What a credential asks its authority through; None makes one of its own."""


class CredentialError(ConditionError):
    """No token: the credential is missing, malformed, or Entra refuses it (D12)."""

    def __init__(self, message: str, *, is_passing: bool = False) -> None:
        """is_passing: the authority did not answer, or is in trouble."""
        super().__init__(
            message,
            reason="CredentialError",
            severity="Warning",
            retry=RetryClass.SLOW,
        )
        self.is_passing = is_passing


def passes(error: "AzureError") -> bool:
    """Whether a failed sign-in may succeed in a moment: no answer, a 429, a 5xx."""
    from azure.core.exceptions import ServiceRequestError, ServiceResponseError

    if isinstance(error, ServiceRequestError | ServiceResponseError):
        return True
    status = getattr(error, "status_code", None) or 0
    return status == 429 or status >= 500


def _token_of(ask: "Callable[[], AccessToken]") -> "AccessToken":
    """What azure-identity gives. Raises AzureError also where it trips over an answer
    that it does not expect.
    """
    from azure.core.exceptions import ClientAuthenticationError

    try:
        return ask()
    except _TRIPPED:
        raise ClientAuthenticationError("Unexpected response") from None


def _is_unreadable(error: "AzureError") -> bool:
    """Whether an authority answered what is no answer to a sign-in."""
    from azure.core.exceptions import DecodeError

    if error.message.startswith("Unexpected response"):
        return True  # of no class of its own, with the answer behind these words
    wrapped = error.__cause__
    return isinstance(error, DecodeError) or isinstance(
        wrapped, (DecodeError, *_UNREADABLE)
    )


def _authority_host(text: str) -> str:
    return text.strip() or DEFAULT_AUTHORITY


def _endpoint(text: str) -> str:
    return text.strip() or DEFAULT_ENDPOINT


def _audience(text: str) -> str:
    return text.strip() or DEFAULT_AUDIENCE


@attrs.frozen
class CloudConfig:
    """Which cloud: public Azure by default; "" means the default."""

    authority_host: str = attrs.field(
        default=DEFAULT_AUTHORITY, converter=_authority_host
    )
    endpoint: str = attrs.field(default=DEFAULT_ENDPOINT, converter=_endpoint)
    audience: str = attrs.field(default=DEFAULT_AUDIENCE, converter=_audience)

    @property
    def scope(self) -> str:
        """The OAuth scope for ARM: the audience and `/.default`.

        An audience that ends in a slash keeps it (`//.default`): Entra takes all before
        `/.default` for the audience, and `https://a/` is another one than `https://a`.
        """
        return f"{self.audience}/.default"

    @property
    def is_listed_authority(self) -> bool:
        """Whether Microsoft's instance discovery knows the authority."""
        return (urlsplit(self.authority_host).hostname or "") in _LISTED_AUTHORITIES


class CredentialSource(Protocol):
    """A credential's content, wherever it was read: settings or a Secret.

    Values also have an `origin`, where they were read, for texts.
    """

    @property
    def cloud(self) -> CloudConfig:
        """The cloud that the credential signs in to."""

    @property
    def subscription_id(self) -> str:
        """The subscription of objects that name none themselves."""

    @property
    def client_id(self) -> str:
        """The client id; "" for the machine's own identity."""

    @property
    def additional_tenants(self) -> tuple[str, ...]:
        """Further tenants that it may sign in to, beside its own."""

    @property
    def tenant_id(self) -> str:
        """The principal's own tenant; "" for the machine's."""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """What makes tokens of it; raises CredentialError for malformed content.

        transport: of `sign_in_transport`, shared by credentials of one authority;
        without it each has one of its own (0.7 MB, 40 ms).
        """


def auxiliary_tenants(source: CredentialSource) -> tuple[str, ...]:
    """The further tenants whose tokens go with its requests (H5).

    Neither its own, nor `*`, which lets azure-identity sign in anywhere and names none.
    """
    own = source.tenant_id.lower()
    further = {t.lower(): t for t in source.additional_tenants if t != ANY_TENANT}
    return tuple(tenant for key, tenant in further.items() if key != own)


class Sealed:
    """Cannot be pickled: the bytes would show what no repr does."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        message = f"{type(self).__name__} is not pickled: it holds a secret"
        raise TypeError(message)


@attrs.frozen
class ClientSecret(Sealed):
    """A service principal that shows a secret (mode 1)."""

    tenant_id: str
    client_id: str
    client_secret: str = attrs.field(repr=False)
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    additional_tenants: tuple[str, ...] = ()
    origin: str = ""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """What makes tokens. azure-identity is imported with the first of them."""
        return client_secret(self, transport)


def client_secret(
    source: ClientSecret, transport: SignInTransport = None
) -> "TokenCredential":
    """azure-identity's credential for a service principal with a secret.

    Makes no request. Its `get_token` blocks, tries once, and raises CredentialError.
    """
    check_tenant(source.tenant_id)

    def make() -> "TokenCredential":
        from azure.identity import ClientSecretCredential

        return ClientSecretCredential(
            source.tenant_id,
            source.client_id,
            source.client_secret,
            additionally_allowed_tenants=list(source.additional_tenants),
            **identity_options(source.cloud, transport),
        )

    who = holder(source.client_id, source.origin)
    return Explained(make, source.client_secret, who=who)


def check_tenant(tenant_id: str) -> None:
    """Raises CredentialError for what cannot be a part of the token endpoint's URL."""
    if not TENANT.fullmatch(tenant_id):
        # azure-identity would put it into a URL as it is.
        raise CredentialError(
            "AZURE_TENANT_ID is no tenant id: write the tenant's GUID or its domain"
        )


def sign_in_transport(cloud: CloudConfig) -> "AuthorityTransport":
    """A transport to an authority, for all who sign in there. Close it in the end."""
    from asoreconcile.arm.sign_in_transport import AuthorityTransport

    return AuthorityTransport(
        url=cloud.authority_host,
        connections=_SIGN_INS,
        read_seconds=_READ_TIMEOUT_SECONDS,
    )


def identity_options(
    cloud: CloudConfig, transport: SignInTransport = None
) -> dict[str, Any]:
    """Keyword arguments for any credential of azure-identity that asks an authority.

    One try with short time limits: the workqueue waits, not a worker. TLS is verified
    against the same bundle as ARM's.
    """
    options: dict[str, Any] = {
        "authority": cloud.authority_host,
        "disable_instance_discovery": not cloud.is_listed_authority,
        # The queue tries again later; azure-identity would hold a worker meanwhile.
        "retry_total": 0,
        "connection_timeout": _CONNECT_TIMEOUT_SECONDS,
        "read_timeout": _READ_TIMEOUT_SECONDS,
    }
    if transport is not None:
        return {**options, "transport": transport}
    import certifi

    bundle = ca_bundle()
    if bundle != certifi.where():
        options["connection_verify"] = bundle
    return options


def holder(client_id: str, origin: str) -> str:
    """Whose a credential is, for texts."""
    return f"client {client_id} ({origin})" if origin else f"client {client_id}"


def _vault(*secrets: str) -> Vault:
    """One's own: whose objects use the credential is not known here."""
    vault = Vault()
    for secret in secrets:
        vault.know(secret)
    return vault


class Explained:
    """A credential whose failures say whose it is and what to do, and no secret.

    make: of azure-identity's credential, asked with the first token: the package takes
    long to load, and a replica that does not lead signs in nowhere.
    who: `client <id>`, for texts. advice: what to do when no token comes, or "".
    """

    def __init__(
        self,
        make: "Callable[[], TokenCredential]",
        *secrets: str,
        who: str,
        advice: str = "",
    ) -> None:
        # Whatever they log is raised as well.
        for name in _QUOTING_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._credential = Deferred(make)
        self._vault = _vault(*secrets)
        self._who = who
        self._advice = advice

    def get_token(
        self,
        *scopes: str,
        claims: str | None = None,
        tenant_id: str | None = None,
        enable_cae: bool = False,
        **options: Any,
    ) -> "AccessToken":
        """As azure-identity's; raises CredentialError, or StoppedError once closed."""
        from azure.core.exceptions import AzureError

        try:
            ask = partial(
                self._credential().get_token,
                *scopes,
                claims=claims,
                tenant_id=tenant_id,
                enable_cae=enable_cae,
                **options,
            )
            return _token_of(ask)
        except ValueError as error:
            # Of making it, and not chained: it may quote what it is made of.
            message, is_passing = self._vault.redact(str(error)), False
        except AzureError as error:
            if stopped := in_chain(error, StoppedError):
                raise stopped from None
            # Not chained: azure-identity's exceptions hold the request and its form.
            message = self._vault.redact(redact(error.message))
            is_passing = passes(error)
            if _is_unreadable(error):
                # What was said of it helps nobody, and quotes it, a token included.
                message = f"the authority's answer cannot be read{PERHAPS_A_PROXY}"
        advice = f": {self._advice}" if self._advice else ""
        raise CredentialError(
            f"no token for {self._who}: {message}{advice}", is_passing=is_passing
        )

    def __repr__(self) -> str:
        return f"credential of {self._who}"
