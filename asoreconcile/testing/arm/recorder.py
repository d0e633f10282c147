"""A recording of the simulator's exchanges, for `asoreconcile.testing.replay`."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.outputs import is_secret
from asoreconcile.testing.http import HttpRequest, HttpResponse

# A replay takes any text for it.
_HIDDEN = "{REDACTED}"


class ExchangeRecorder:
    """Exchanges in memory until they are written. The caller holds the server's lock.

    Values of secret members, and all texts that actions such as listKeys return, are
    not recorded.
    """

    def __init__(self, path: str | Path) -> None:
        """path: archive that is written, such as `story.tar.xz`."""
        self._path = Path(path)
        self._exchanges: list[JsonObject] = []

    def note(self, url: str, request: HttpRequest, response: HttpResponse) -> None:
        """Add one exchange.

        url: address of the server.
        """
        is_action = request.method == "POST"
        self._exchanges.append(
            {
                "method": request.method,
                "url": f"{url}{request.target}",
                "request_body": _hidden(_parsed(request.body)),
                "status": response.status,
                "headers": dict(response.headers),
                "body": _hidden(_parsed(response.body), every_text=is_action),
            }
        )

    def write(self) -> None:
        """Write the archive with one recording, named after the file."""
        name = self._path.name.partition(".")[0]
        text = jsontext.dumps({"name": name, "exchanges": self._exchanges})
        entry = tarfile.TarInfo(f"recordings/{name}.json")
        entry.size = len(text)
        with tarfile.open(self._path, "w:xz") as archive:
            archive.addfile(entry, io.BytesIO(text))


def _parsed(body: bytes | Iterable[bytes]) -> Any:
    if not body or not isinstance(body, bytes):
        return None
    try:
        return jsontext.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def _hidden(value: Any, *, every_text: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            name: _hidden(inner, every_text=every_text or is_secret(name))
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_hidden(item, every_text=every_text) for item in value]
    return _HIDDEN if every_text and isinstance(value, str) else value
