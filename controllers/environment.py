"""Read environment variables with their types, and collect every problem.

An empty value counts as unset. Misspelt names are found by their similarity to existing
settings, and refused: a setting without effect would be worse.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TypeVar

from asoreconcile.azure.arm.endpoint import problem_of, problem_of_name
from asoreconcile.azure.arm.request_headers import problem_of_header
from asoreconcile.resources.values import parse_duration_text

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

# Names that resemble settings and are not ours: they belong to Azure's SDKs and tools.
_FOREIGN = frozenset(
    {
        "AZURE_CLIENT_CERTIFICATE_PATH",
        "AZURE_CLIENT_NAME",
        "AZURE_CLIENT_SEND_CERTIFICATE_CHAIN",
        "AZURE_SUBSCRIPTION_NAME",
        "AZURE_TENANT_NAME",
        "AZURE_USER_AGENT",
    }
)
_LIKENESS = 0.85
# Go's strconv.ParseBool, which ASO reads its settings with.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class Environment:
    """Reads values and collects `problems`, one line each. Not thread-safe."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.problems: list[str] = []

    def text(self, name: str) -> str:
        """Return the value without surrounding spaces; "" if it is not set."""
        return self._values.get(name, "").strip()

    def raw(self, name: str) -> str:
        """Return a value whose blanks count, such as a password, without a final line
        break.
        """
        return self._values.get(name, "").strip("\r\n")

    def required(self, name: str, what: str) -> str:
        """Return the value, or "" after recording a problem. what: the purpose of the
        setting.
        """
        value = self.text(name)
        if not value:
            self.problems.append(f"{name} is not set: {what}")
        return value

    def parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """Return the parsed value, or `default` if it is unset or wrong.

        parse: raises ValueError, whose text says what is wrong.
        """
        value = self.text(name)
        if not value:
            return default
        try:
            return parse(value)
        except ValueError as error:
            self.problems.append(f"{name}: {error}")
            return default

    def refuse(self, name: str, why: str) -> None:
        """Record a problem if a setting has any value."""
        if self.text(name):
            self.problems.append(f"{name} {why}")

    def check_names(self, known: Iterable[str]) -> None:
        """Record each variable that looks like a misspelt setting."""
        names = sorted(known)
        for name in sorted(self._values):
            if name in names or name in _FOREIGN or not self.text(name):
                continue
            meant = _meant(name, names)
            if meant:
                self.problems.append(f"{name} is no setting: do you mean {meant}?")


def flag(text: str) -> bool:
    """Parse a yes or no, as ASO does."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def whole(text: str) -> int:
    """Parse an integer from 1."""
    try:
        count = int(text)
    except ValueError:
        raise ValueError(f"{text!r} is no whole number") from None
    if count < 1:
        raise ValueError(f"{count} is too low: it must be at least 1")
    return count


def rate(text: str) -> float:
    """Parse a number above 0, such as a rate per second."""
    if not re.fullmatch(r"\d+(\.\d+)?|\.\d+", text) or float(text) <= 0:
        raise ValueError(f"{text!r} is no number above 0")
    return float(text)


def https(text: str) -> str:
    """Parse an address that bearer tokens may be sent to."""
    if problem := problem_of(text):
        raise ValueError(f"the address {problem}")
    return text


def header_text(text: str) -> str:
    """Parse a text for an HTTP header."""
    if problem := problem_of_header(text):
        raise ValueError(f"the text {problem}")
    return text


def identifier(text: str) -> str:
    """Parse a name such as a URI, on one line and without blanks."""
    if problem := problem_of_name(text):
        raise ValueError(f"the name {problem}")
    return text


def _meant(name: str, names: list[str]) -> str:
    upper = name.upper().replace("-", "_")
    if upper in names:
        return upper
    found = difflib.get_close_matches(upper, names, n=1, cutoff=_LIKENESS)
    # MY_POD_NAMESPACE and the like are made on purpose.
    return found[0] if found and found[0][0] == upper[0] else ""


def parse_duration(text: str) -> float:
    """Return the seconds of a Go duration. Raises ValueError, which shows one."""
    try:
        return parse_duration_text(text.strip()).total_seconds()
    except ValueError:
        raise ValueError(
            f"{text!r} is no duration: write it as 15m, 1h30m or 45s"
        ) from None


def one_of(enum: type[E], *, has_case: bool = False) -> Callable[[str], E]:
    """Return a parser of the enum's values. has_case: if true, case matters."""

    def parse(text: str) -> E:
        try:
            return enum(text if has_case else text.lower())
        except ValueError:
            names = ", ".join(str(each.value) for each in enum)
            raise ValueError(f"{text!r} is not one of {names}") from None

    return parse
