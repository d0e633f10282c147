"""Go duration strings (`15m`, `1h30m`), as ASO's settings are written. Pure."""

import re

_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def parse_duration(text: str) -> float:
    """Seconds of a Go duration. Raises ValueError that shows what one looks like."""
    rest = text.strip()
    sign = -1.0 if rest.startswith("-") else 1.0
    rest = rest.lstrip("+-")
    if rest == "0":
        return 0.0
    position, seconds = 0, 0.0
    for match in _PART.finditer(rest):
        if match.start() != position:
            break
        seconds += float(match[1]) * _UNITS[match[2]]
        position = match.end()
    if not rest or position != len(rest):
        raise ValueError(f"{text!r} is no duration: write it as 15m, 1h30m or 45s")
    return sign * seconds
