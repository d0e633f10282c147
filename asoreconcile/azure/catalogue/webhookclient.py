"""The address at which the API server finds the operator's webhooks."""

import attrs

from asoreconcile.base.objects import JsonObject

CONVERT_PATH = "/convert"
MUTATE_PATH = "/mutate"
VALIDATE_PATH = "/validate"


@attrs.frozen
class WebhookClient:
    """An address for CRDs and webhook configurations.

    url: `https://host:port`; if empty, the service `namespace`/`name` at `port`.
    ca_bundle: base64 of the PEM that the webhook's certificate is verified with; "" if
    another component injects it.
    """

    url: str = ""
    namespace: str = ""
    name: str = ""
    port: int = 443
    ca_bundle: str = ""

    def config(self, path: str) -> JsonObject:
        """Return the `clientConfig` of a webhook, or of a CRD's conversion, served at
        `path`.
        """
        bundle = {"caBundle": self.ca_bundle} if self.ca_bundle else {}
        if self.url:
            return {"url": self.url.rstrip("/") + path, **bundle}
        service = {
            "namespace": self.namespace,
            "name": self.name,
            "path": path,
            "port": self.port,
        }
        return {"service": service, **bundle}
