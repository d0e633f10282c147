"""Names that are labels or domains of DNS, in the API server's words. Pure."""

import re

_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LONGEST_LABEL, _LONGEST_DOMAIN = 63, 253


def label_mistakes(name: str) -> list[str]:
    """Return what keeps a name from being a label by RFC 1035."""
    found = _too_long(name, _LONGEST_LABEL)
    if not re.fullmatch(_LABEL_1035, name):
        found.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or "
            "'-', start with an alphabetic character, and end with an alphanumeric "
            "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
            f"'{_LABEL_1035}')"
        )
    return found


def domain_mistakes(name: str) -> list[str]:
    """Return what keeps a name from being a subdomain by RFC 1123."""
    found = _too_long(name, _LONGEST_DOMAIN)
    if not re.fullmatch(SUBDOMAIN, name):
        found.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
            "characters, '-' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'example.com', regex used for validation is "
            f"'{SUBDOMAIN}')"
        )
    return found


def _too_long(name: str, most: int) -> list[str]:
    longer = len(name.encode()) > most
    return [f"must be no more than {most} characters"] if longer else []
