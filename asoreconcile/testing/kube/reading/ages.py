"""The age of an object in kubectl's notation: 12s, 4m10s, 3h5m, 2d. Pure."""

from datetime import UTC, datetime
from typing import Any

_UNKNOWN, _INVALID = "<unknown>", "<invalid>"


def age(timestamp: Any, now: datetime) -> str:
    """Return the age for a timestamp in the API's format; `<unknown>` without one."""
    if not timestamp:
        return _UNKNOWN
    try:
        then = datetime.fromisoformat(str(timestamp))
    except ValueError:
        return _INVALID
    seconds = int((now.astimezone(UTC) - then.astimezone(UTC)).total_seconds())
    if seconds < -1:
        return _INVALID
    return _short(max(0, seconds))


def _short(seconds: int) -> str:
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    years = days // 365
    return _two(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"
