"""The operator's webhooks: who answers what the API server asks about Azure kinds.

Conversion at one path for all kinds; admission at one path for a configuration with
wildcards, and per kind at the paths that Azure Service Operator's configuration has.
"""

from base64 import b64encode
from pathlib import Path

import attrs

from asoreconcile.azure.computed import (
    CONFIG_MAP_EXPRESSIONS,
    SECRET_EXPRESSIONS,
    Computed,
)
from asoreconcile.catalogue.kinds import Catalogue, Kind, KindVersion
from asoreconcile.catalogue.problems import Problem
from asoreconcile.catalogue.webhookclient import (
    CONVERT_PATH,
    MUTATE_PATH,
    VALIDATE_PATH,
    WebhookClient,
)
from asoreconcile.clock import Clock
from asoreconcile.controllers.admission import Admission
from asoreconcile.controllers.conversions import converter
from asoreconcile.errors import AsoError
from asoreconcile.expressions.language import shared
from asoreconcile.expressions.process import EngineMissingError
from asoreconcile.objects import JsonObject, dig
from asoreconcile.runtime.health import Verdict
from asoreconcile.webhooks.certificates import FileCertificates
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.server import OFF, WebhookServer, webhook_path


class WebhookOptionsError(AsoError):
    """Webhooks cannot be served as the options say."""


@attrs.frozen
class WebhookOptions:
    """What the command line says of webhooks.

    address: `:9443`; "0" serves none. cert_dir: holds tls.crt and tls.key, and ca.crt
    where they are not their own authority. service: `namespace/name` of the Service
    before the port; url: in its place, where the API server finds it:
    `https://host:port`.
    """

    address: str = "0"
    cert_dir: Path | None = None
    service: str = ""
    url: str = ""

    @property
    def on(self) -> bool:
        return self.address not in OFF

    def client(self) -> WebhookClient:
        """Where the API server finds them. Raises WebhookOptionsError."""
        folder = self._folder()
        try:
            authority = folder / "ca.crt"
            pem = (authority if authority.exists() else folder / "tls.crt").read_bytes()
        except OSError as error:
            raise WebhookOptionsError(f"no certificate in {folder}: {error}") from error
        bundle = b64encode(pem).decode()
        if self.url:
            return WebhookClient(url=self.url, ca_bundle=bundle)
        namespace, _, name = self.service.partition("/")
        return WebhookClient(namespace=namespace, name=name, ca_bundle=bundle)

    def _folder(self) -> Path:
        if self.cert_dir is None:
            raise WebhookOptionsError("webhooks need --webhook-cert-dir")
        return self.cert_dir

    def certificates(self, metrics: WebhookMetrics) -> FileCertificates:
        """Raises WebhookOptionsError for files that cannot be used."""
        folder = self._folder()
        try:
            return FileCertificates(folder, metrics=metrics)
        except OSError as error:
            raise WebhookOptionsError(
                f"cannot use the certificate in {folder}: {error}"
            ) from error


class Webhooks:
    """The server with its functions. `server` is a service of Group.WEBHOOKS."""

    def __init__(
        self,
        options: WebhookOptions,
        catalogue: Catalogue,
        *,
        clock: Clock,
        metrics: WebhookMetrics,
    ) -> None:
        """Listens nowhere yet. Raises WebhookOptionsError, ListenError."""
        self.server = WebhookServer(
            options.address,
            certificates=options.certificates(metrics),
            clock=clock,
            metrics=metrics,
        )
        self._admission = Admission(catalogue, expression_problems)
        self._answered: set[str] = set()
        self.server.convert(CONVERT_PATH, converter(catalogue))
        self.server.validate(VALIDATE_PATH, self._admission.validate)
        self.server.mutate(MUTATE_PATH, self._admission.mutate)

    def admit(self, kind: Kind) -> None:
        """Answer at a kind's own paths too, those of all its versions. Once a kind."""
        for name in kind.versions:
            gvk = kind.gvk(name)
            path = webhook_path("validate", gvk)
            if path not in self._answered:
                self._answered.add(path)
                self.server.validate(path, self._admission.validate)
                self.server.mutate(webhook_path("mutate", gvk), self._admission.mutate)

    def ready(self) -> Verdict:
        """A readiness check: whether a client would be greeted."""
        problem = self.server.problem()
        return Verdict(not problem, (problem,) if problem else ())


def expression_problems(version: KindVersion, obj: JsonObject) -> list[Problem]:
    """What is wrong with an object's export expressions; none evaluated."""
    given = dig(obj, "spec.operatorSpec")
    if not isinstance(given, dict):
        return []
    if not (given.get(SECRET_EXPRESSIONS) or given.get(CONFIG_MAP_EXPRESSIONS)):
        return []
    try:
        return Computed(shared(), version, obj).problems()
    except EngineMissingError as error:
        return [Problem("spec.operatorSpec", str(error))]
