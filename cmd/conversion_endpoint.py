"""Where a manager on this machine converts objects between versions: port and trust."""

import socket
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from asoreconcile.azure.catalogue.webhookclient import WebhookClient
from asoreconcile.azure.cmd.subprocesses import ChildError
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.testing.throwaway_certificates import certificate_authority

_HOST = "127.0.0.1"
_STEP_SECONDS = 0.05


@attrs.frozen
class ConversionEndpoint:
    """A free port, and a folder with a certificate for it."""

    port: int
    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "ConversionEndpoint":
        """Choose a port, and write a certificate into a folder, which is made."""
        folder.mkdir()
        authority = certificate_authority()
        certificate, key = authority.issue([_HOST])
        (folder / "tls.crt").write_bytes(certificate)
        (folder / "tls.key").write_bytes(key)
        (folder / "ca.crt").write_bytes(authority.pem)
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            return cls(probe.getsockname()[1], folder)

    @property
    def arguments(self) -> tuple[str, ...]:
        """What makes a manager listen here."""
        return f"--webhook-port={self.port}", f"--webhook-cert-dir={self.folder}"

    @property
    def client(self) -> WebhookClient:
        """What CRDs say of it."""
        url = f"https://{_HOST}:{self.port}"
        return WebhookOptions(cert_dir=self.folder, url=url).client()

    def wait(self, check: Callable[[], None], timeout_seconds: float) -> None:
        """Block until somebody listens. check: raises if nobody ever will.

        Raises ChildError when the time is over.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            check()
            try:
                socket.create_connection((_HOST, self.port), timeout=1.0).close()
            except OSError:
                if time.monotonic() > deadline:
                    message = f"no webhook within {timeout_seconds:g} s"
                    raise ChildError(message) from None
                time.sleep(_STEP_SECONDS)
            else:
                return
