"""ARM resource ids of every scope: parse, compare, encode for a URL.

An id is `{scope}/providers/{namespace}/{type}/{name}(/{type}/{name})*`; the scope is
empty (tenant), a subscription, a resource group, a management group, or any resource
(extension). Ids are compared without case, kept as written, and never URL-encoded.

Pure; safe from any thread. One reconcile parses the same id a dozen times, so results
are cached. Rules: I1-I3.
"""

import unicodedata
from urllib.parse import quote

import attrs

from asoreconcile.azure.arm.text_bounds import ARM_ID
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.lru import lru_cached

RESOURCES = "Microsoft.Resources"
_PROVIDERS = "providers"
# The characters that RFC 3986 allows in a path segment besides letters and digits.
_SEGMENT_SAFE = "-._~!$&'()*+,;=:@"
# Control and format characters, half surrogates, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class ArmIdError(AsoreconcileError):
    """The text is not an ARM id; the message says why."""


@attrs.frozen
class ArmId:
    """A parsed id; two that differ only in case are equal and hash alike (I2).

    text: the id, case preserved, without empty segments or a final slash.
    scope: the text before the last `/providers/`; "" is the tenant. For ids without a
    provider (subscriptions, resource groups), the text of the enclosing scope.
    namespace: such as `Microsoft.Network`; `Microsoft.Resources` for subscriptions,
    resource groups and providers themselves.
    types, names: equally long, outermost first. A name is "" if the id ends with a type
    (`.../virtualNetworks`).
    """

    text: str = attrs.field(eq=str.lower)
    scope: str = attrs.field(eq=False)
    namespace: str = attrs.field(eq=False)
    types: tuple[str, ...] = attrs.field(eq=False)
    names: tuple[str, ...] = attrs.field(eq=False)

    def __str__(self) -> str:
        return self.text

    @property
    def type(self) -> str:
        """The resource type: `Microsoft.Network/virtualNetworks/subnets`."""
        return "/".join((self.namespace, *self.types))

    @property
    def name(self) -> str:
        """The last name: the resource's own, without those of its parents."""
        return self.names[-1]

    @property
    def subscription_id(self) -> str | None:
        """The subscription that the id begins with; None outside of a subscription."""
        return _value_after(self._segments, "subscriptions", index=0)

    @property
    def resource_group(self) -> str | None:
        """The resource group's name; None outside of a resource group."""
        return _value_after(self._segments, "resourcegroups", index=2)

    @property
    def parent(self) -> "ArmId | None":
        """The enclosing resource, else the scope; None under the tenant."""
        if len(self.types) > 1:
            pair = 2 if self.name else 1
            return parse("/" + "/".join(self._segments[:-pair]))
        return parse(self.scope) if self.scope else None

    def child(self, type_: str, name: str) -> "ArmId":
        """Return the id of a nested resource: one more type and name."""
        return parse(f"{self.text}/{type_}/{name}")

    def extension(self, namespace: str, type_: str, name: str) -> "ArmId":
        """Return the id of an extension resource of this resource."""
        return parse(f"{self.text}/providers/{namespace}/{type_}/{name}")

    @property
    def _segments(self) -> list[str]:
        return self.text[1:].split("/")


@lru_cached
def parse(text: str) -> ArmId:
    """Return the parsed form of an ARM id of any scope; raises ArmIdError. Rule: I1.

    Empty segments are dropped; a trailing type without a name gets the name "".
    """
    if not ARM_ID.fits(text):
        raise ArmIdError(ARM_ID.problem(text))
    if not text.startswith("/"):
        raise ArmIdError(f"an ARM id starts with '/', this one does not: {text!r}")
    segments = [segment for segment in text.split("/") if segment]
    if not segments or segments[0].lower() not in ("subscriptions", _PROVIDERS):
        raise ArmIdError(
            f"an ARM id starts with /subscriptions/ or /providers/: {text!r}"
        )
    marker = _last_providers(segments)
    if marker is not None:
        return _under_provider(segments, marker)
    return _under_subscription(segments)


@lru_cached
def parse_stated(text: str) -> ArmId:
    """Return the parsed form of an id that a user wrote, with every segment checked.

    Raises ArmIdError.
    """
    if not ARM_ID.fits(text):
        raise ArmIdError(ARM_ID.problem(text))
    for segment in text.split("/"):
        if segment and (problem := segment_problem(segment)):
            raise ArmIdError(f"a part of this ARM id {problem}: {text!r}")
    return parse(text)


def segment_problem(name: str) -> str:
    """Return why a name cannot be one segment of an id, as a clause; "" if it can.

    A slash would make several segments, and so address another resource; servers
    resolve `..`; invisible characters cannot be compared.
    """
    if not name:
        return "is empty"
    if "/" in name or "\\" in name:
        return "holds a slash"
    if name in (".", ".."):
        return f"is {name!r}"
    # A fast path: every id of every request comes here, and nearly all are plain text.
    if not (name.isascii() and name.isprintable()) and any(
        unicodedata.category(character) in _UNSEEN for character in name
    ):
        return "holds a control character"
    return ""


def same(a: str, b: str) -> bool:
    """Return whether two ids name one resource, ignoring case. Rule: I2."""
    return key(a) == key(b)


@lru_cached
def key(text: str) -> str:
    """Return the form of an id for use as a dict key: lower case, no empty segments."""
    return "/" + "/".join(part for part in text.lower().split("/") if part)


@lru_cached
def subscription_of(text: str) -> str | None:
    """Return the subscription of an id or of a URL path; None under the tenant."""
    return _value_after(
        [part for part in text.split("/") if part], "subscriptions", index=0
    )


def is_resource_group(arm_id: ArmId) -> bool:
    """Return whether the id is that of a resource group, not of a resource in it."""
    return arm_id.type.lower() == "microsoft.resources/resourcegroups"


@lru_cached
def url_path(text: str) -> str:
    """Return the URL path of an id: each segment percent-encoded once. Rule: I3.

    Segments `.` and `..` are encoded to `%2E`, so that no HTTP library resolves them.
    """
    return "/" + "/".join(_encoded(part) for part in text.split("/") if part)


@lru_cached
def _encoded(segment: str) -> str:
    if segment in (".", ".."):
        return segment.replace(".", "%2E")
    return quote(segment, safe=_SEGMENT_SAFE)


def _last_providers(segments: list[str]) -> int | None:
    """Return the index of the last `providers` that is a keyword, not a name or
    a type.
    """
    found = None
    index = 0
    while index < len(segments):
        if segments[index].lower() == _PROVIDERS and index + 1 < len(segments):
            found = index
        # Types and names alternate: a group named `providers` is not the keyword.
        index += 2
    return found


def _under_provider(segments: list[str], marker: int) -> ArmId:
    scope = "/" + "/".join(segments[:marker]) if marker else ""
    namespace, rest = segments[marker + 1], segments[marker + 2 :]
    text = "/" + "/".join(segments)
    if not rest:
        if marker not in (0, 2):
            raise ArmIdError(
                f"a provider alone stands under a subscription or the tenant: {text!r}"
            )
        return ArmId(text, scope, RESOURCES, (_PROVIDERS,), (namespace,))
    types, names = _pairs(rest)
    return ArmId(text, scope, namespace, types, names)


def _under_subscription(segments: list[str]) -> ArmId:
    text = "/" + "/".join(segments)
    if len(segments) < 2:
        raise ArmIdError(f"the subscription id is missing: {text!r}")
    if len(segments) == 2:
        return ArmId(text, "", RESOURCES, ("subscriptions",), (segments[1],))
    scope = "/" + "/".join(segments[:2])
    types, names = _pairs(segments[2:])
    if types[0].lower() == "resourcegroups" and not names[0]:
        raise ArmIdError(f"the resource group's name is missing: {text!r}")
    if types[0].lower() == _PROVIDERS:
        raise ArmIdError(f"the provider's namespace is missing: {text!r}")
    if len(types) > 1 and not names[-1]:
        raise ArmIdError(f"the last type has no name: {text!r}")
    return ArmId(text, scope, RESOURCES, types, names)


def _pairs(segments: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = (*segments[1::2], *([""] if len(segments) % 2 else []))
    return tuple(segments[::2]), tuple(names)


def _value_after(segments: list[str], keyword: str, *, index: int) -> str | None:
    if len(segments) > index + 1 and segments[index].lower() == keyword:
        return segments[index + 1]
    return None
