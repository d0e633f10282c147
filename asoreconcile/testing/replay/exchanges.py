"""Recorded traffic read from its archive: requests to ARM and their answers."""

import tarfile
import urllib.parse
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import attrs
import orjson

from asoreconcile.base.objects import JsonObject

# Length and type are set by the server here; the remaining budget of the recording
# means nothing in a replay.
_DROPPED = ("content-length", "content-type", "transfer-encoding")
_BUDGET = "ratelimit"


@attrs.frozen
class ExchangeTarget:
    """The identity of a request: method, path and api-version.

    path: in lower case, without a slash at the end.

    Other query parameters are left out: they are signatures and time stamps.
    """

    method: str
    path: str
    api_version: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}?api-version={self.api_version}"


@attrs.frozen
class RecordedExchange:
    """One recorded request and its answer.

    body, answer: JSON value, text or None.
    endpoint: `https://host` to which the request went.
    headers: headers of the answer; names in lower case, the last value of each.
    """

    target: ExchangeTarget
    path: str
    endpoint: str
    body: Any = attrs.field(repr=False)
    status: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    answer: Any = attrs.field(repr=False)


def target_of(method: str, path: str, api_version: str) -> ExchangeTarget:
    """Return the identity of a request. Path and api-version are compared
    without case.
    """
    return ExchangeTarget(method, path.rstrip("/").lower(), api_version.lower())


def exchange_of(raw: JsonObject) -> RecordedExchange:
    """Return an exchange from its form in the archive: `method`, `url`, `request_body`,
    ...
    """
    parts = urllib.parse.urlsplit(raw["url"])
    path = urllib.parse.unquote(parts.path).rstrip("/")
    query = dict(urllib.parse.parse_qsl(parts.query))
    return RecordedExchange(
        target=target_of(raw["method"], path, query.get("api-version", "")),
        path=path,
        endpoint=f"{parts.scheme}://{parts.netloc}",
        body=raw["request_body"],
        status=raw["status"],
        headers={
            name.lower(): value if isinstance(value, str) else value[-1]
            for name, value in raw["headers"].items()
            if name.lower() not in _DROPPED and _BUDGET not in name.lower()
        },
        answer=raw["body"],
    )


def read_recordings(
    archive: str | Path, names: Collection[str]
) -> dict[str, list[RecordedExchange]]:
    """Return the named recordings of an archive. Names that it lacks are left out."""
    found: dict[str, list[RecordedExchange]] = {}
    with tarfile.open(archive) as members:
        for member in members:
            name = Path(member.name).stem
            file = members.extractfile(member) if name in names else None
            if file is not None:
                raw = orjson.loads(file.read())["exchanges"]
                found[name] = [exchange_of(exchange) for exchange in raw]
    return found
