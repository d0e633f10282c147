"""A user-assigned identity from a file of the managed identity data plane (mode 3).

Microsoft's own services fetch the certificate of an identity from that data plane and
renew it in a file. These members are read: `client_id`, `tenant_id`, `client_secret`
(the certificate with its key, PKCS12 or PEM, in base64), `authentication_endpoint` (the
authority of the identity's region) and `not_before`. The format is that of the Go
module Azure/msi-dataplane.
"""

import base64
import binascii
import datetime as dt
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from asoreconcile.azure.arm.credentials import (
    TENANT,
    CloudConfig,
    CredentialError,
    Explained,
    Sealed,
    SignInTransport,
    holder,
    identity_options,
    sign_in_transport,
)
from asoreconcile.azure.arm.credentials_certificate import open_certificate
from asoreconcile.azure.arm.endpoint import problem_of
from asoreconcile.base import jsontext
from asoreconcile.base.log import Logger
from asoreconcile.base.tls import Stamp, file_stamp

if TYPE_CHECKING:
    from azure.core.credentials import AccessToken, TokenCredential

_log = Logger(__name__)
# A certificate with its chain has some 10 kB; a larger file is something else.
_MAX_BYTES = 1_048_576
_MEMBERS = (
    "client_id",
    "tenant_id",
    "client_secret",
    "authentication_endpoint",
    "not_before",
)


@attrs.frozen
class IdentityFile:
    """A user-assigned identity whose certificate is in a file that another program
    renews.

    client_id, tenant_id: the ids in the settings or the Secret; requests are counted
    for this client id. Tokens are of the file's tenant and client.
    """

    file: str
    tenant_id: str
    client_id: str
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    origin: str = ""

    @property
    def additional_tenants(self) -> tuple[str, ...]:
        """Always empty: such an identity gets tokens of its own tenant only."""
        return ()

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Read the file; raise CredentialError if it cannot be used.

        transport: not used, because the file names its own authority.
        """
        del transport
        return RenewedIdentity(self)


class RenewedIdentity:
    """A credential that follows its file. Thread-safe.

    The file is checked before each token (once an hour). A certificate that begins
    later than the one in use replaces it. An older certificate, or a file that cannot
    be used, does not replace it and is logged as a warning.
    """

    def __init__(self, source: IdentityFile) -> None:
        self._source = source
        self._path = Path(source.file)
        self._lock = threading.Lock()
        self._seen, self._identity = self._read()
        self._credential = self._made(self._identity)

    def get_token(self, *scopes: str, **options: Any) -> "AccessToken":
        """Return a token; the parameters are azure-identity's.

        Raises CredentialError, or StoppedError once closed.
        """
        return self._current().get_token(*scopes, **options)

    def __repr__(self) -> str:
        return repr(self._credential)

    def _current(self) -> "TokenCredential":
        with self._lock:
            try:
                self._renew()
            except CredentialError as error:
                _log.warning("Keeping the identity's old certificate", error=str(error))
            return self._credential

    def _renew(self) -> None:
        if self._stamp() == self._seen:
            return
        seen, identity = self._read()
        if identity.not_before > self._identity.not_before:
            self._credential, self._identity = self._made(identity), identity
            _log.info("Loaded the identity's new certificate", file=self._source.file)
        elif identity != self._identity:
            _log.warning(
                "Keeping the identity's certificate: that in the file is not newer",
                file=self._source.file,
            )
        self._seen = seen

    def _stamp(self) -> Stamp:
        try:
            if not stat.S_ISREG(self._path.stat().st_mode):
                raise self._unusable("it is no file")
            return file_stamp(self._path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise self._unusable(f"it cannot be read ({reason})") from None

    def _read(self) -> "tuple[Stamp, _Identity]":
        stamp = self._stamp()  # first: a change during the read causes another read
        try:
            with self._path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise self._unusable(f"it cannot be read ({reason})") from None
        return stamp, self._parsed(content)

    def _parsed(self, content: bytes) -> "_Identity":
        problem = ""
        document: object = None
        try:
            document = jsontext.loads(content[:_MAX_BYTES])
        except ValueError:
            problem = "it is no JSON"  # not chained: the error holds the content
        if not problem and not isinstance(document, Mapping):
            problem = "it holds no JSON object"
        if problem or not isinstance(document, Mapping):
            raise self._unusable(problem)
        missing = [
            name
            for name in _MEMBERS
            if not isinstance(document.get(name), str) or not document[name].strip()
        ]
        if missing:
            raise self._unusable(f"it has no {', '.join(missing)}")
        values = {name: document[name].strip() for name in _MEMBERS}
        if problem := problem_of(values["authentication_endpoint"]):
            raise self._unusable(f"authentication_endpoint {problem}")
        if not TENANT.fullmatch(values["tenant_id"]):
            raise self._unusable("tenant_id is no tenant's GUID or domain")
        return _Identity(
            client_id=values["client_id"],
            tenant_id=values["tenant_id"],
            authority=values["authentication_endpoint"],
            secret=values["client_secret"],
            certificate=self._certificate(values["client_secret"]),
            not_before=self._time(values["not_before"]),
        )

    def _certificate(self, text: str) -> bytes:
        try:
            content = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if not content:
            raise self._unusable("client_secret is no base64")
        return open_certificate(content, "", f"client_secret in {self._source.file}")

    def _time(self, text: str) -> dt.datetime:
        try:
            time = dt.datetime.fromisoformat(text)
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            raise self._unusable("not_before is no time such as 2017-03-01T14:11:00Z")
        return time

    def _made(self, identity: "_Identity") -> "TokenCredential":
        cloud = attrs.evolve(self._source.cloud, authority_host=identity.authority)

        def make() -> "TokenCredential":
            from azure.identity import CertificateCredential

            options = identity_options(cloud, sign_in_transport(cloud))
            # The regions' authorities are not among those that discovery knows, and
            # they trust the certificate by its chain.
            options["disable_instance_discovery"] = True
            return CertificateCredential(
                identity.tenant_id,
                identity.client_id,
                certificate_data=identity.certificate,
                send_certificate_chain=True,
                **options,
            )

        who = holder(identity.client_id, self._source.origin)
        return Explained(make, identity.secret, who=who)

    def _unusable(self, problem: str) -> CredentialError:
        return CredentialError(
            f"the identity's file {self._source.file} cannot be used: {problem}"
        )


@attrs.frozen
class _Identity(Sealed):
    """The content of the file. secret: the certificate as the file has it."""

    client_id: str
    tenant_id: str
    authority: str
    secret: str = attrs.field(repr=False)
    certificate: bytes = attrs.field(repr=False)
    not_before: dt.datetime
