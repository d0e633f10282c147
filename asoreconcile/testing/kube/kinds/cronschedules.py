"""The syntax of CronJobs' schedules. Pure."""

import re

_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)
_NAMED = ("yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly")
_EVERY = re.compile(r"@every (\d+(\.\d+)?(ns|us|ms|s|m|h))+")


def schedule_problem(text: str) -> str:
    """Return the mistake in a schedule, in the server's wording, or ""."""
    if text.startswith("@"):
        known = text[1:] in _NAMED or _EVERY.fullmatch(text)
        return "" if known else f"unrecognized descriptor: {text}"
    fields = text.split()
    if len(fields) != len(_FIELDS):
        shown = " ".join(fields)
        return f"expected exactly 5 fields, found {len(fields)}: [{shown}]"
    for field, (_, low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if problem := _part_problem(part, low, high, names):
                return problem
    return ""


def _part_problem(part: str, low: int, high: int, names: tuple[str, ...]) -> str:
    span, _, step = part.partition("/")
    if "/" in part and (not step.isdecimal() or int(step) == 0):
        why = f"failed to parse int from {step}"
        return (
            f"step of range should be a positive number: {part}" if step == "0" else why
        )
    if span in ("*", "?"):
        return ""
    first, _, last = span.partition("-")
    bounds = [_number(one, low, names) for one in (first, last or first)]
    for one, text in zip(bounds, (first, last or first), strict=True):
        if one is None:
            return f"failed to parse int from {text}"
    begin, end = (one or 0 for one in bounds)
    if begin < low:
        return f"beginning of range ({begin}) below minimum ({low}): {part}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {part}"
    if begin > end:
        return f"beginning of range ({begin}) beyond end of range ({end}): {part}"
    return ""


def _number(text: str, low: int, names: tuple[str, ...]) -> int | None:
    if text.lower() in names:
        return names.index(text.lower()) + low
    return int(text) if text.isdecimal() else None
