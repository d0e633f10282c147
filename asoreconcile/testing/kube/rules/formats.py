"""Named formats of Kubernetes' CEL: `format.dns1123Label().validate(text)`. Pure."""

import base64
import re
from datetime import date, datetime
from typing import Any

from asoreconcile.base.objects import JsonObject
from asoreconcile.resources.cel.functions import FORMATS
from asoreconcile.testing.kube.rules import networks

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID = r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# The pattern of each format, and its longest text.
_PATTERNS = {
    "dns1123Label": (_LABEL, 63),
    "dns1123Subdomain": (_DOMAIN, 253),
    "dns1035Label": (_OLD_LABEL, 63),
    "dns1123LabelPrefix": (rf"{_LABEL}|({_LABEL})?-", 63),
    "dns1123SubdomainPrefix": (rf"({_DOMAIN})?-?", 253),
    "dns1035LabelPrefix": (rf"({_OLD_LABEL})-?", 63),
    "labelValue": (rf"({_QUALIFIED})?", 63),
    "uuid": (_UUID, 36),
}


def named(name: str) -> JsonObject:
    """Return the format with a name, as an optional value."""
    return {"optional": {"format": name} if name in FORMATS else None}


def validate(stated: Any, text: str) -> JsonObject:
    """Return the problems of a text, as an optional value."""
    name = stated["format"]
    is_right = _is_right(name, text)
    return {"optional": [] if is_right else [f"must be of the format {name}"]}


def _is_right(name: str, text: str) -> bool:
    if name in _PATTERNS:
        pattern, most = _PATTERNS[name]
        return len(text) <= most and bool(re.fullmatch(pattern, text))
    if name == "qualifiedName":
        prefix, slash, rest = text.rpartition("/")
        is_named = _is_right("labelValue", rest) and rest != ""
        return is_named and (not slash or _is_right("dns1123Subdomain", prefix))
    try:
        if name == "uri":
            networks.url(text)
        elif name == "byte":
            base64.b64decode(text, validate=True)
        elif name == "date":
            date.fromisoformat(text)
        else:
            return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
    return True
