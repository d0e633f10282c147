"""Decides whether two ARM values mean the same, because Azure changes the form of many
values.

Pure. The tolerated differences were seen in recorded traffic: the spelling of locations
and ids, letter case, number, duration and time formats, white space, and empty against
absent.
"""

import re
from datetime import datetime, timedelta
from typing import Any

from asoreconcile.base import jsontext

_BLANKS = re.compile(r"\s+")
_DURATION = re.compile(
    r"^P(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?"
    r"(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?$"
)
_TIME_SPAN = re.compile(r"^(?:(\d+)\.)?(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?$")
# Characters. Values of a spec may be of any length.
_LONGEST_TIME = 64
_INSTANT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d")
_PROVIDERS = "/providers/"


def is_empty(value: Any) -> bool:
    """Return whether a value means the same as its absence: null, "", 0, false, and
    lists and objects of only such values.
    """
    if isinstance(value, dict):
        return all(is_empty(v) for v in value.values())
    return not value


def is_same(want: Any, have: Any) -> bool:
    """Return whether two scalars mean the same."""
    if want == have and isinstance(want, bool) == isinstance(have, bool):
        return True
    mine, theirs = plain(want), plain(have)
    return mine == theirs or _is_same_id(mine, theirs) or _is_same_meaning(want, have)


def plain(value: Any) -> str:
    """Return a scalar's normal form.

    Values of equal meaning have equal normal forms, unless they are durations, times or
    JSON texts.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # Azure drops the length of a single address (10.0.0.4/32), the slash at the end of
    # an address or id, and the final dot of a DNS name, or adds them.
    text = _BLANKS.sub("", str(value)).casefold()
    return text.strip("/").removesuffix(".").removesuffix("/32")


def _is_same_id(want: str, have: str) -> bool:
    """Return whether two ids are the same, if Azure has added a subscription to one."""
    return f"/{want}".startswith(_PROVIDERS) and f"/{have}".endswith(f"/{want}")


def _is_same_meaning(want: Any, have: Any) -> bool:
    if not (isinstance(want, str) and isinstance(have, str)):
        return False
    for read in (_duration, _instant, _document):
        mine = read(want)
        if mine is not None:
            return mine == read(have)
    return False


def _duration(text: str) -> timedelta | None:
    if len(text) > _LONGEST_TIME:
        return None
    try:
        return _parsed_duration(text)
    except OverflowError:  # longer than there can be
        return None


def _parsed_duration(text: str) -> timedelta | None:
    if match := _DURATION.match(text):
        parts = {name: float(n) for name, n in match.groupdict().items() if n}
        return timedelta(**parts) if parts else None
    if match := _TIME_SPAN.match(text):
        days, hours, minutes, seconds = (int(n or 0) for n in match.groups())
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    return None


def _instant(text: str) -> datetime | None:
    if len(text) > _LONGEST_TIME or not _INSTANT.match(text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    # Providers store more or fewer fractional digits of a second than they were sent.
    return found.replace(microsecond=0)


def _document(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return jsontext.loads(text)
    except jsontext.JSONDecodeError:
        return None
