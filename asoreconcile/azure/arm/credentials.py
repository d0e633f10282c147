"""The operator's identity in Azure: cloud settings, credential values, token sources.

A credential is a frozen value, read from settings or a Secret. azure-identity makes the
requests and is imported with the first token (0.4 s, 36 MB).

Secret members never appear in a repr, message or log. Rules: R8.1-R8.6.
"""

import logging
import re
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import partial
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias
from urllib.parse import urlsplit

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY
from asoreconcile.base.errors import StoppedError, in_chain
from asoreconcile.base.lazy import Lazy
from asoreconcile.redaction import SecretRegistry, redact

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken, TokenCredential
    from azure.core.exceptions import AzureError

    from asoreconcile.azure.arm.transport import ArmTransport

DEFAULT_AUTHORITY = "https://login.microsoftonline.com/"
DEFAULT_ENDPOINT = "https://management.azure.com"
DEFAULT_AUDIENCE = "https://management.core.windows.net/"
# Authorities that Microsoft's instance discovery knows. For any other one a discovery
# request would send the tenant to a host that the operator may not reach.
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
# Maximum of open connections to an authority: tokens are requested once an hour.
_SIGN_INS = 4
_READ_TIMEOUT_SECONDS = 30
_MAX_SIGN_IN_BYTES = 4 * 1024 * 1024
# These loggers log unreadable answers whole, with a truncated token in them.
_QUOTING_LOGGERS = (
    "azure.identity._internal.decorators",
    "azure.identity._internal.get_token_mixin",
    "azure.identity._internal.msal_managed_identity_client",
    "msal.managed_identity",
    "msal.oauth2cli.oauth2",
)
# The exceptions that azure-identity raises or wraps for an answer of an unexpected
# form.
_TRIPPED = (RecursionError, LookupError, TypeError, AttributeError, ArithmeticError)
_UNREADABLE = (JSONDecodeError, UnicodeDecodeError, Base64Error, *_TRIPPED)
# The start of its messages for an answer without a token or an error, and for one that
# is not JSON; the answer follows, and there is no exception class.
_NO_ANSWER = (
    "Unexpected response",
    "No response content",
    "Authentication failed: None",
)
# It raises ValueError for other reasons, too; for a wrong number the message quotes it.
_NO_NUMBER = ("invalid literal for int()", "cannot convert float")


SignInTransport: TypeAlias = "ArmTransport | None"
"""What a credential asks its authority through; None makes one of its own."""


class CredentialError(ConditionError):
    """There is no token: the credential is missing or malformed, or Entra refuses it
    (D12).
    """

    def __init__(
        self, message: str, *, is_passing: bool = False, is_gone: bool = False
    ) -> None:
        """is_passing: if true, the authority did not answer, or had a temporary
        failure. is_gone: if true, the object's own Secret does not exist.
        """
        super().__init__(
            message,
            reason="CredentialError",
            severity="Warning",
            retry=RetryClass.SLOW,
        )
        self.is_passing = is_passing
        self.is_gone = is_gone


def passes(error: "AzureError") -> bool:
    """Return whether a failed sign-in may succeed later: no response, a 429, a 5xx."""
    from azure.core.exceptions import ServiceRequestError, ServiceResponseError

    if isinstance(error, ServiceRequestError | ServiceResponseError):
        return True
    status = getattr(error, "status_code", None) or 0
    return status == 429 or status >= 500


def _token_of(ask: "Callable[[], AccessToken]") -> "AccessToken":
    """Return the token from azure-identity.

    Raises AzureError also if azure-identity fails on a response that it does not
    expect.
    """
    from azure.core.exceptions import ClientAuthenticationError

    try:
        return ask()
    except (ValueError, *_TRIPPED) as error:
        if not _is_misread(error):
            raise
        raise ClientAuthenticationError("Unexpected response") from None


def _is_unreadable(error: "AzureError") -> bool:
    """Return whether the response of the authority cannot be read as an answer to a
    sign-in.
    """
    from azure.core.exceptions import DecodeError

    if error.message.startswith(_NO_ANSWER):
        return True
    wrapped = error.__cause__
    return isinstance(error, DecodeError) or (
        isinstance(wrapped, DecodeError) or _is_misread(wrapped)
    )


def _is_misread(error: BaseException | None) -> bool:
    """Return whether an error comes from parsing an answer."""
    return isinstance(error, _UNREADABLE) or (
        isinstance(error, ValueError) and str(error).startswith(_NO_NUMBER)
    )


def _authority_host(text: str) -> str:
    return text.strip() or DEFAULT_AUTHORITY


def _endpoint(text: str) -> str:
    return text.strip() or DEFAULT_ENDPOINT


def _audience(text: str) -> str:
    return text.strip() or DEFAULT_AUDIENCE


@attrs.frozen
class CloudConfig:
    """The addresses of an Azure cloud; public Azure by default, "" means the
    default.
    """

    authority_host: str = attrs.field(
        default=DEFAULT_AUTHORITY, converter=_authority_host
    )
    endpoint: str = attrs.field(default=DEFAULT_ENDPOINT, converter=_endpoint)
    audience: str = attrs.field(default=DEFAULT_AUDIENCE, converter=_audience)

    @property
    def scope(self) -> str:
        """The OAuth scope for ARM: the audience and `/.default`.

        An audience that ends with a slash keeps it (`//.default`): Entra takes
        everything before `/.default` as the audience, and `https://a/` and `https://a`
        are different.
        """
        return f"{self.audience}/.default"

    @property
    def is_listed_authority(self) -> bool:
        """Return whether Microsoft's instance discovery knows the authority."""
        return (urlsplit(self.authority_host).hostname or "") in _LISTED_AUTHORITIES


class CredentialSource(Protocol):
    """The content of a credential, read from settings or a Secret.

    Implementations also have an `origin`, which names that place in messages.
    """

    @property
    def cloud(self) -> CloudConfig:
        """The cloud that the credential signs in to."""

    @property
    def subscription_id(self) -> str:
        """The subscription of objects that do not name one."""

    @property
    def client_id(self) -> str:
        """The client id; "" for the machine's own identity."""

    @property
    def additional_tenants(self) -> tuple[str, ...]:
        """Further tenants that the credential may sign in to."""

    @property
    def tenant_id(self) -> str:
        """The principal's own tenant; "" for the machine's."""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Return the object that makes tokens; raises CredentialError for malformed
        content.

        transport: a result of `sign_in_transport`, shared by credentials of one
        authority; None makes one for this credential (0.7 MB, 40 ms).
        """


def auxiliary_tenants(source: CredentialSource) -> tuple[str, ...]:
    """Return the further tenants whose tokens are sent with each request (H5).

    The credential's own tenant is left out, and so is `*`, which lets azure-identity
    sign in to any tenant and names none.
    """
    own = source.tenant_id.lower()
    further = {t.lower(): t for t in source.additional_tenants if t != ANY_TENANT}
    return tuple(tenant for key, tenant in further.items() if key != own)


class Sealed:
    """A base class of values that cannot be pickled, because the bytes would show a
    secret.
    """

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        message = f"{type(self).__name__} is not pickled: it holds a secret"
        raise TypeError(message)


@attrs.frozen
class ClientSecret(Sealed):
    """A service principal that signs in with a secret (mode 1)."""

    tenant_id: str
    client_id: str
    client_secret: str = attrs.field(repr=False)
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    additional_tenants: tuple[str, ...] = ()
    origin: str = ""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Return the token source. azure-identity is imported with the first token.

        Makes no request. `get_token` blocks, tries once, and raises CredentialError.
        """
        check_tenant(self.tenant_id)

        def make() -> "TokenCredential":
            from azure.identity import ClientSecretCredential

            return ClientSecretCredential(
                self.tenant_id,
                self.client_id,
                self.client_secret,
                additionally_allowed_tenants=list(self.additional_tenants),
                **identity_options(self.cloud, transport),
            )

        who = holder(self.client_id, self.origin)
        return Explained(make, self.client_secret, who=who)


def check_tenant(tenant_id: str) -> None:
    """Raise CredentialError for a tenant id that cannot be part of the token endpoint's
    URL.
    """
    if not TENANT.fullmatch(tenant_id):
        # azure-identity would put it into a URL unescaped.
        raise CredentialError(
            "AZURE_TENANT_ID is no tenant id: write the tenant's GUID or its domain"
        )


def sign_in_transport(cloud: CloudConfig) -> "ArmTransport":
    """Return a transport to an authority, to be shared by its credentials. Close it
    later.
    """
    from asoreconcile.azure.arm.transport import ArmTransport

    return ArmTransport(
        url=cloud.authority_host,
        connections=_SIGN_INS,
        read_seconds=_READ_TIMEOUT_SECONDS,
        max_bytes=_MAX_SIGN_IN_BYTES,
    )


def identity_options(
    cloud: CloudConfig, transport: SignInTransport = None
) -> dict[str, Any]:
    """Return the keyword arguments for azure-identity credentials that ask an
    authority.

    They allow one try with short time limits: the workqueue waits, not a worker.
    transport: transport to the authority; by default one for this credential.
    """
    return {
        "authority": cloud.authority_host,
        "disable_instance_discovery": not cloud.is_listed_authority,
        # The queue tries again later; azure-identity would hold a worker meanwhile.
        "retry_total": 0,
        "transport": transport or sign_in_transport(cloud),
    }


def holder(client_id: str, origin: str) -> str:
    """Return the owner of a credential, for messages."""
    return f"client {client_id} ({origin})" if origin else f"client {client_id}"


def _registry_of(*secrets: str) -> SecretRegistry:
    """Return a registry of this credential alone: the objects that use it are not
    known here.
    """
    registry = SecretRegistry()
    for secret in secrets:
        registry.register(secret)
    return registry


class Explained:
    """A token source. Its errors name the credential's owner and a remedy, but no
    secret.

    make: returns azure-identity's credential. It is called for the first token: the
    package takes long to load, and a replica that does not lead never signs in.
    who: name of the owner for messages, `client <id>`. advice: advice if there is no
    token, or "".
    """

    def __init__(
        self,
        make: "Callable[[], TokenCredential]",
        *secrets: str,
        who: str,
        advice: str = "",
    ) -> None:
        # Everything that they log is also raised.
        for name in _QUOTING_LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._credential = Lazy(make)
        self._secrets = _registry_of(*secrets)
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
        """Return a token; the parameters are azure-identity's.

        Raises CredentialError, or StoppedError once closed.
        """
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
            # From creating it; not chained, as it may quote the secret.
            message, is_passing = self._secrets.redact(str(error)), False
        except AzureError as error:
            if stopped := in_chain(error, StoppedError):
                raise stopped from None
            # Not chained: azure-identity's exceptions hold the request and its form.
            message = self._secrets.redact(redact(error.message))
            is_passing = passes(error)
            if _is_unreadable(error):
                # The message does not help, and quotes the answer, including a token.
                message = f"the authority's answer cannot be read{PERHAPS_A_PROXY}"
        advice = f": {self._advice}" if self._advice else ""
        raise CredentialError(
            f"no token for {self._who}: {message}{advice}", is_passing=is_passing
        )

    def __repr__(self) -> str:
        return f"credential of {self._who}"
