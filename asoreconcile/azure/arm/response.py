"""One HTTP response of ARM."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import attrs

from asoreconcile.base import foreign_json, jsontext
from asoreconcile.base.lazy import computed_once
from asoreconcile.base.objects import JsonObject

# Headers that only ARM sends, and Microsoft Graph ("request-id"). We add other ids if
# an answer lacks them.
_MARKS = (
    "x-ms-request-id",
    "x-ms-routing-request-id",
    "x-ms-failure-cause",
    "request-id",
    "azure-asyncoperation",
    "operation-location",
)
PERHAPS_A_PROXY = ": see whether a proxy answers in Azure's place"


class BrokenBodyError(ValueError):
    """The body is not empty and not JSON: an HTML page, or a truncated document."""


@attrs.frozen(slots=False)
class ArmResponse:
    """Status, headers (keys in lower case) and the undecoded body. Immutable."""

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict)
    content: bytes = attrs.field(default=b"", repr=False)

    @computed_once
    def document(self) -> Any:
        """The JSON in the body; None for an empty body and for the literal `null`.

        Raises BrokenBodyError for any other text. Rule: V6.
        """
        if not self.content.strip():
            return None
        try:
            return jsontext.loads(self.content)
        except jsontext.JSONDecodeError:
            return self._lenient_document()

    @property
    def json_object(self) -> JsonObject | None:
        """The body if it is a JSON object, else None. Raises BrokenBodyError."""
        return self.document if isinstance(self.document, dict) else None

    @property
    def result(self) -> JsonObject | list[Any] | None:
        """The body as the result of an action, which may be a list; None for other
        values.
        """
        try:
            document = self.document
        except BrokenBodyError:
            return None
        return document if isinstance(document, dict | list) else None

    @property
    def text(self) -> str:
        """The body as UTF-8; invalid bytes become U+FFFD."""
        return self.content.decode("utf-8", "replace")

    @property
    def is_marked(self) -> bool:
        """Return whether the response has a header that only ARM or Graph sends."""
        return any(self.header(name) for name in _MARKS)

    @property
    def is_foreign(self) -> bool:
        """Return whether the response is from a machine between the operator and Azure,
        such as a proxy.

        Such a response says nothing about the resource. ARM marks its responses with
        headers and sends JSON. For the response to a HEAD, only the content type
        decides.
        """
        if self.is_marked:
            return False
        if not self.content.strip():
            return "html" in self.header("content-type").lower()
        try:
            _ = self.document
        except BrokenBodyError:
            return True
        return False

    @property
    def date(self) -> datetime | None:
        """The time on the server's clock, because the clock of this machine may be
        wrong.
        """
        return parsed_date(self.headers.get("date", ""))

    def header(self, name: str) -> str:
        """Return one header's value, "" without it. name: in lower case."""
        return self.headers.get(name, "").strip()

    def _lenient_document(self) -> Any:
        # Accept a byte order mark and NaN; but the result must be valid JSON for a
        # status.
        try:
            found = json.loads(
                foreign_json.mended(self.content).decode("utf-8-sig"),
                parse_constant=_no_number,
                parse_float=_finite,
            )
            text = json.dumps(found, ensure_ascii=False)
            return jsontext.loads(text)
        except (ValueError, RecursionError) as error:
            raise BrokenBodyError(
                f"the body of {len(self.content)} bytes is not JSON{PERHAPS_A_PROXY}"
            ) from error


def _no_number(text: str) -> None:
    """Return None for NaN and Infinity, which JSON does not have."""
    del text


def _finite(text: str) -> float | None:
    number = float(text)
    return number if isfinite(number) else None


def parsed_date(text: str) -> datetime | None:
    """Return an HTTP date in UTC; None for any other text."""
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
