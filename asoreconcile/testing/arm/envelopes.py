"""The formats of error bodies: ARM's own, and those of providers (E1, E2)."""

from collections.abc import Callable

from asoreconcile.base import jsontext
from asoreconcile.base.objects import JsonObject

JSON_TYPE = "application/json; charset=utf-8"

_PAGE = (
    "<!DOCTYPE html>\r\n<html><head><title>{status}</title></head>\r\n"
    "<body><center><h1>{status} {code}</h1></center><hr></body></html>\r\n"
)
_TITLES = {400: "Bad Request", 404: "Not Found", 409: "Conflict"}


def _details(code: str, message: str) -> list[JsonObject]:
    return [{"code": code, "target": None, "message": message}]


_Make = Callable[[int, str, str], JsonObject]
_MAKERS: dict[str, _Make] = {
    "arm": lambda _, code, message: {"error": {"code": code, "message": message}},
    # The outer code is a general one, and the inner code tells more (E3).
    "details": lambda _, code, message: {
        "error": {
            "code": "RetryableError",
            "message": "A retryable error occurred.",
            "details": _details(code, message),
        }
    },
    "inner": lambda _, code, message: {
        "error": {
            "code": "BadRequest",
            "message": "The request failed.",
            "target": None,
            "details": None,
            "additionalInfo": None,
            "innerError": {"code": code, "message": message, "innerError": None},
        }
    },
    "extra": lambda status, code, message: {
        "error": {
            "code": code,
            "message": message,
            "subCode": status * 100,
            "traceId": "00000000000000000000000000000000",
            "referenceCode": "aso-0001",
        }
    },
    "twice": lambda _, code, message: {
        "error": {"code": code, "message": message},
        "code": code,
        "message": message,
    },
    "code-only": lambda _, code, __: {"error": {"code": code}},
    "text": lambda _, code, message: {"error": f"{code}: {message}"},
    # These have no `error`: Cosmos DB, AKS, Web, many 405s, IoT Hub, RFC 7807.
    "bare": lambda _, code, message: {"code": code, "message": message},
    "aks": lambda _, code, message: {
        "code": code,
        "details": [{"code": "Unspecified", "message": message}],
        "message": message,
        "subcode": "",
    },
    "web": lambda _, code, message: {
        "Code": code,
        "Message": message,
        "Target": None,
        "Details": [
            {"Message": message},
            {"Code": code},
            {"ErrorEntity": {"Code": code, "Message": message}},
        ],
        "Innererror": None,
    },
    "message": lambda _, __, message: {"Message": message},
    "numbered": lambda status, code, message: {
        "code": status * 1000 + 2,
        "httpStatusCode": code,
        "message": message,
    },
    "problem": lambda status, code, _: {
        "type": "https://tools.ietf.org/html/rfc9110#section-15.5",
        "title": _TITLES.get(status, code),
        "status": status,
        "traceId": "00-00000000000000000000000000000000-0000000000000000-00",
    },
}
NAMES = (*_MAKERS, "html", "empty")


def wrap(envelope: str, status: int, code: str, message: str) -> tuple[bytes, str]:
    """Return the body and the content type of an error.

    envelope: one of `NAMES`. Raises KeyError for another name.
    """
    if envelope == "empty":
        return b"", ""
    if envelope == "html":
        return _PAGE.format(status=status, code=code).encode(), "text/html"
    return jsontext.dumps(_MAKERS[envelope](status, code, message)), JSON_TYPE
