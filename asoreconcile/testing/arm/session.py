"""A signed-in `requests` session, which acts as another client of the simulator.

Tests use it to prepare or read Azure by hand over the wire, as the portal would.
"""

import tempfile
from pathlib import Path
from typing import Any

import requests

from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.type_facts import published

_TIMEOUT_SECONDS = 30.0
NEWEST = "newest"


class ArmSession(requests.Session):
    """A session that accepts paths and adds the token and an api-version. Close it.

    Absolute URLs (monitors, next links) are requested unchanged.
    """

    def __init__(self, url: str, *, ca_pem: bytes, token: str) -> None:
        """Make a session.

        token: bearer token; if it is empty, none is sent.
        """
        super().__init__()
        self.trust_env = False
        self._url = url
        self._folder = tempfile.TemporaryDirectory()
        trusted = Path(self._folder.name, "ca.pem")
        trusted.write_bytes(ca_pem)
        self.verify = str(trusted)
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def request(  # type: ignore[override] # fewer positional arguments
        self,
        method: str | bytes,
        url: str | bytes,
        *,
        api_version: str | None = NEWEST,
        **options: Any,
    ) -> requests.Response:
        """Send one request. Redirects are not followed.

        api_version: version to send, by default the newest one of the type; None sends
        none.
        """
        target = url.decode() if isinstance(url, bytes) else url
        if api_version == NEWEST:
            api_version = _newest_version(target.partition("?")[0])
        if not target.startswith("https://"):
            target = self._url + target
            if api_version is not None:
                options["params"] = {
                    "api-version": api_version,
                    **(options.get("params") or {}),
                }
        options.setdefault("timeout", _TIMEOUT_SECONDS)
        options["allow_redirects"] = False
        return super().request(method, target, **options)

    def close(self) -> None:
        """Close the connections and remove the folder with the authority's
        certificate.
        """
        super().close()
        self._folder.cleanup()


def _newest_version(path: str) -> str:
    """Return the newest published api-version of the resource or list at a path."""
    address = parse(path) or parse(f"{path}/any")
    facts = published().find(address.type) if address else None
    return max(facts.versions) if facts else "2024-01-01"
