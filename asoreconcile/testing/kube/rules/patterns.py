"""Regular expressions in Go's syntax (RE2), translated to Python's. Pure.

Syntax that means something else in Python is rewritten. Syntax that RE2 lacks, or that
is not translated here, is refused, so no pattern differs in meaning from a real server.
"""

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<class>\[\^?\]?(?:\\.|\[:|[^\]\\])*\])"
    r"|(?P<group>\(\?(?:P?<\w+>|[is]+\)|:)?)|(?P<twice>[*+?}][*+])|(?P<end>\$)|.",
    re.DOTALL,
)
_ESCAPES = frozenset("abfnrtvdDsSwWBAz") | frozenset(
    r"\.+*?()|[]{}^$/-_:,;@#%&=<>!~'\" "
)


class RulePatternError(ValueError):
    """A pattern that cannot be used."""


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern as Python's. Raises RulePatternError if it cannot be read."""
    text = _TOKEN.sub(_translated, pattern)
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RulePatternError(f"error parsing regexp: {error}: `{pattern}`") from error


def _translated(found: re.Match[str]) -> str:
    token = found[0]
    match found.lastgroup:
        case "escape":
            if token[1] not in _ESCAPES:
                raise _refused(token)
            return r"\Z" if token == r"\z" else token
        case "class" if "[:" in token or re.search(r"\\[^\W\dabfnrtvdDsSwW_]", token):
            raise _refused(token)
        case "group":
            if token == "(?":
                raise _refused(token)
            return token.replace("(?<", "(?P<")
        case "twice":
            raise _refused(token)
        case "end":
            return r"\Z"
    return token


def _refused(token: str) -> RulePatternError:
    return RulePatternError(f"error parsing regexp: not supported: `{token}`")
