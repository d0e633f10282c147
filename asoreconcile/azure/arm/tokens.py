"""The resume token of a long-running operation, in exactly ASO's JSON.

The token is stored in the annotation `poller-resume-token`. So an operation outlives
this process, and ASO and this operator can continue each other's operations. The token
contains no body and no secret except the signature in a monitor's URL: URLs are kept
out of the repr. Pure.
Rule: R1.14.
"""

import itertools
from enum import Enum
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import attrs

from asoreconcile.azure.arm.ids import same
from asoreconcile.base import jsontext
from asoreconcile.base.errors import AsoreconcileError

TokenType = Literal["GenericResource", "GenericDeleteResponse"]
RESOURCE: TokenType = "GenericResource"
DELETE: TokenType = "GenericDeleteResponse"


# The members of a query that differ if a poll's answer names the same monitor again.
_SIGNATURE = frozenset("tcsh")


class TokenError(AsoreconcileError):
    """The text is not a token of this operator or of ASO; the message never quotes it
    (R1.14).
    """


class TokenShape(Enum):
    """The way in which an operation is polled: the kind of URL, and the meaning of its
    responses.
    """

    ASYNC = "async"  # Azure-AsyncOperation: a status document
    BODY = "body"  # the resource's own provisioningState
    LOCATION = "loc"  # Location: 202 until the operation's own answer
    OPERATION_LOCATION = "oploc"  # Operation-Location: a status document


@attrs.frozen
class Token:
    """An operation that was running when last seen.

    type: the kind of first request, a PUT (`GenericResource`) or a DELETE.
    url: the URL to read next: absolute, opaque, its query signed.
    state: the last status word.
    location, original_url, method: only with a status document; `location` is the first
    response's `Location` or "", `original_url` the first request's URL.
    """

    shape: TokenShape
    type: TokenType
    url: str = attrs.field(repr=False)
    state: str
    location: str = attrs.field(default="", repr=False)
    original_url: str = attrs.field(default="", repr=False)
    method: str = ""
    final_state: str = ""

    @property
    def verb(self) -> str:
        """The method of the first request."""
        return self.method or ("DELETE" if self.type == DELETE else "PUT")


def dumps(token: Token, *, type_name: str = "") -> str:
    """Return the annotation's value: ASO's members in ASO's order, escaped as Go does.

    type_name: the `type` that ASO writes for an operation that is neither a PUT nor a
    DELETE.
    """
    document = {"type": type_name or token.type, "token": _members(token)}
    text = jsontext.dumps(document).decode()
    for char, escape in _GO_ESCAPES:
        text = text.replace(char, escape)
    return text


def is_signed_anew(before: Token, after: Token) -> bool:
    """Return whether two tokens name one monitor and differ at most in state and
    signature.

    Either can then be polled; the newer one stays valid longer.
    """
    same_urls = (_unsigned(before.url), _unsigned(before.location)) == (
        _unsigned(after.url),
        _unsigned(after.location),
    )
    alike = attrs.evolve(
        after, url=before.url, location=before.location, state=before.state
    )
    return same_urls and alike == before


def _unsigned(url: str) -> tuple[str, list[str]]:
    """Return an address without its query, and the query without the signature."""
    address, _, query = url.partition("?")
    members = query.split("&")
    return address, [one for one in members if one.partition("=")[0] not in _SIGNATURE]


def concerns(token: Token, arm_id: str, *, deleting: bool) -> bool:
    """Return whether a token from an annotation can belong to this resource and verb.

    A copied manifest contains another resource's token: drop that token and read the
    resource. A location token names no resource; only the verb is compared.
    """
    if (token.type == DELETE) is not deleting:
        return False
    subject = token.url if token.shape is TokenShape.BODY else token.original_url
    return not subject or same(_path(subject), arm_id)


def is_near(token: Token, arm_id: str) -> bool:
    """Return whether each monitor is in the resource's subscription and of its
    provider, as Azure's monitors are.

    The operator reads a monitor with its own identity, and an author can write a token
    that aims the read at any other resource.
    """
    own = _segments(arm_id)
    monitors = [_segments(_path(url)) for url in (token.url, token.location) if url]
    return all(
        _subscription(monitor) == _subscription(own)
        and _providers(monitor) <= _providers(own)
        # Servers resolve these to another path.
        and not {".", ".."}.intersection(monitor)
        for monitor in monitors
    )


def _path(url: str) -> str:
    try:
        return unquote(urlsplit(url).path)
    except ValueError:
        return ""


def _segments(path: str) -> list[str]:
    return [part for part in path.lower().replace("\\", "/").split("/") if part]


def _subscription(segments: list[str]) -> str:
    return "".join(segments[1:2]) if segments[:1] == ["subscriptions"] else ""


def _providers(segments: list[str]) -> set[str]:
    pairs = itertools.pairwise(segments)
    return {name for word, name in pairs if word == "providers"}


def loads(text: str, *, type_name: str = "") -> Token:
    """Parse an annotation's value: any JSON with the same meaning. Raises TokenError.

    type_name: a further `type`, as for `dumps`.

    Unknown members are ignored; an unknown `type`, a missing `token` and an unknown
    inner shape are errors (R1.14).
    """
    try:
        document = jsontext.loads(text)
    except jsontext.JSONDecodeError:
        # Not chained: the decoder's error quotes the text, and monitors are signed.
        raise TokenError("the poller token is not JSON") from None
    if not isinstance(document, dict):
        raise TokenError("the poller token is not a JSON object")
    type_: TokenType
    match document.get("type"):
        case "GenericResource":
            type_ = RESOURCE
        case "GenericDeleteResponse":
            type_ = DELETE
        case str(other) if other and other == type_name:
            type_ = RESOURCE
        case _:
            raise TokenError("the poller token is of a type that ASO does not write")
    inner = document.get("token")
    if not isinstance(inner, dict):
        raise TokenError("the poller token has no member 'token'")
    return _token(type_, inner)


# Go's encoder escapes these so that JSON can be part of HTML; they occur in strings
# only.
_GO_ESCAPES = (
    ("&", "\\u0026"),
    ("<", "\\u003c"),
    (">", "\\u003e"),
    ("\u2028", "\\u2028"),
    ("\u2029", "\\u2029"),
)


def _members(token: Token) -> dict[str, str]:
    match token.shape:
        case TokenShape.ASYNC:
            return {"asyncURL": token.url, **_status_members(token)}
        case TokenShape.OPERATION_LOCATION:
            return {"oplocURL": token.url, **_status_members(token)}
        case TokenShape.BODY | TokenShape.LOCATION:
            return {
                "type": token.shape.value,
                "pollURL": token.url,
                "state": token.state,
            }


def _status_members(token: Token) -> dict[str, str]:
    return {
        "locURL": token.location,
        "origURL": token.original_url,
        "method": token.method,
        "finalState": token.final_state,
        "state": token.state,
    }


def _token(type_: TokenType, inner: dict[str, Any]) -> Token:
    # Checked in this order, as ASO does.
    if "asyncURL" in inner:
        return _status_token(TokenShape.ASYNC, type_, inner, "asyncURL")
    if inner.get("type") == "body":
        return _url_token(TokenShape.BODY, type_, inner)
    if inner.get("type") == "loc":
        return _url_token(TokenShape.LOCATION, type_, inner)
    if "oplocURL" in inner:
        return _status_token(TokenShape.OPERATION_LOCATION, type_, inner, "oplocURL")
    raise TokenError("the poller token has none of the forms that ASO writes")


def _url_token(shape: TokenShape, type_: TokenType, inner: dict[str, Any]) -> Token:
    return Token(shape, type_, _url(inner, "pollURL"), _text(inner, "state"))


def _status_token(
    shape: TokenShape, type_: TokenType, inner: dict[str, Any], url_member: str
) -> Token:
    return Token(
        shape,
        type_,
        _url(inner, url_member),
        _text(inner, "state"),
        location=_text(inner, "locURL"),
        original_url=_text(inner, "origURL"),
        method=_text(inner, "method").upper(),
        final_state=_text(inner, "finalState"),
    )


def _url(inner: dict[str, Any], member: str) -> str:
    value = _text(inner, member)
    if not value:
        raise TokenError(f"the poller token has no '{member}'")
    return value


def _text(inner: dict[str, Any], member: str) -> str:
    value = inner.get(member, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TokenError(f"the poller token's '{member}' is no text")
    return value
