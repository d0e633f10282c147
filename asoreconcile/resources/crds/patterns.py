"""Regular expressions in the syntax of Kubernetes, which is RE2. Pure."""

from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # it has no stubs

# Go's parser has the syntax of RE2 except for `\C`, which matches one byte.
_ANY_BYTE = "\\C"


class SchemaPatternError(ValueError):
    """A text that is not a regular expression; the message says why."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Compile a pattern. Raises SchemaPatternError if Kubernetes would refuse it."""
    options = re2.Options()
    options.log_errors = False
    if _ANY_BYTE in pattern and _has_any_byte(pattern):
        raise SchemaPatternError(r"error parsing regexp: invalid escape sequence: `\C`")
    try:
        return re2.compile(pattern, options=options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0] if error.args else error
        text = said.decode() if isinstance(said, bytes) else str(said)
        raise SchemaPatternError(f"error parsing regexp: {text}") from None


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found anywhere in a text."""
    return compiled(pattern).search(text) is not None


def _has_any_byte(pattern: str) -> bool:
    r"""Return whether `\C` is an escape of its own, outside of `\Q...\E`."""
    at, quoted = 0, False
    while at < len(pattern) - 1:
        if pattern[at] != "\\":
            at += 1
            continue
        sign = pattern[at + 1]
        if quoted:
            quoted = sign != "E"
        elif sign == "C":
            return True
        quoted = quoted or sign == "Q"
        at += 2
    return False
