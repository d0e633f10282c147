"""The resume token of a long-running operation, in ASO's JSON to the byte.

It is stored in the annotation `poller-resume-token`, so that an operation outlives this
process and one begun by ASO goes on under us, and the other way round. It holds no
body and no secret but what a monitor URL signs: URLs are kept out of the repr.
Pure. Rule: R1.14.
"""

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


# What differs where a poll's answer names the same monitor again.
_SIGNATURE = frozenset("tcsh")


class TokenError(AsoreconcileError):
    """A text that is no token of ours or ASO's; it never quotes the text (R1.14)."""


class TokenShape(Enum):
    """How an operation is watched: which kind of URL is polled, and what its answers
    mean.
    """

    ASYNC = "async"  # Azure-AsyncOperation: a status document
    BODY = "body"  # the resource's own provisioningState
    LOCATION = "loc"  # Location: 202 until the operation's own answer
    OPERATION_LOCATION = "oploc"  # Operation-Location: a status document


@attrs.frozen
class Token:
    """An operation that was running when last seen.

    type: what began it, a PUT (`GenericResource`) or a DELETE.
    url: what to read next: absolute, opaque, its query signed.
    state: the last status word.
    location, original_url, method: only with a status document; `location` is the
    first answer's `Location` or "", `original_url` the first request's URL.
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
    """The annotation's value: ASO's members in ASO's order, escaped as Go does.

    type_name: what ASO writes as the `type` of an operation that is no PUT or DELETE.
    """
    document = {"type": type_name or token.type, "token": _members(token)}
    text = jsontext.dumps(document).decode()
    for char, escape in _GO_ESCAPES:
        text = text.replace(char, escape)
    return text


def is_signed_anew(before: Token, after: Token) -> bool:
    """Whether two tokens name one monitor, in the same state or another, and differ in
    how its URL is signed at most: either can be polled, the newer one for longer.
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
    """An address, and its query without what Azure signs it by."""
    address, _, query = url.partition("?")
    members = query.split("&")
    return address, [one for one in members if one.partition("=")[0] not in _SIGNATURE]


def concerns(token: Token, arm_id: str, *, deleting: bool) -> bool:
    """Whether a token from an annotation can be of this resource and verb.

    A copied manifest brings another resource's token along: drop that one and read the
    resource. A location token names no resource, only the verb is compared.
    """
    if (token.type == DELETE) is not deleting:
        return False
    subject = token.url if token.shape is TokenShape.BODY else token.original_url
    return not subject or same(unquote(urlsplit(subject).path), arm_id)


def loads(text: str, *, type_name: str = "") -> Token:
    """Read an annotation's value: any JSON with the same meaning; raises TokenError.

    type_name: a further `type` that is none of a PUT or DELETE, as for `dumps`.
    Unknown members are ignored; a foreign `type`, a missing `token` and an unknown
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


# Go's encoder escapes these so that JSON can stand in HTML; they occur in strings only.
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
