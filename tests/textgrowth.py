"""Measures whether a call's time grows with its text, or with a power of its length.

Times are of this thread's own clock, the least of several: another process on the
machine does not count. A call that is fast at the full length cannot grow with a power
(the square of 16,384 steps takes a hundred times as long as `FAST_SECONDS`), so only
slow calls are compared with the half.
"""

import itertools
import re
import time
from collections.abc import Callable, Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

FULL = 16 << 10
FAST_SECONDS = 0.008
MOST_GROWTH = 2.5
_TRIES = 3
_MOST_CHARACTERS = 8


def seconds(call: Callable[[], object]) -> float:
    began = time.thread_time()
    call()
    return time.thread_time() - began


def growth(call: Callable[[str], object], text: str) -> float:
    """Return how many times as long a call takes for a text as for its half; 1.0 for a
    call that is fast.
    """
    # A call whose time doubles with each character would not end.
    for length in (20, len(text) // 16, len(text)):
        part = text[:length]
        taken = seconds(lambda part=part: call(part))
        if taken > FAST_SECONDS:
            break
    else:
        return 1.0
    half = part[: len(part) // 2]
    whole = min(taken, *(seconds(lambda: call(part)) for _ in range(_TRIES - 1)))
    if whole <= FAST_SECONDS:
        return 1.0
    least = min(seconds(lambda: call(half)) for _ in range(_TRIES))
    return whole / max(least, 1e-6)


def caller(pattern: re.Pattern[Any], how: str) -> Callable[[str], object]:
    """Return a call of a pattern as the product makes it."""
    is_bytes = isinstance(pattern.pattern, bytes)

    def call(text: str) -> object:
        given: Any = text.encode("latin-1", "replace") if is_bytes else text
        match how:
            case "match" | "fullmatch" | "search" | "split":
                return getattr(pattern, how)(given)
            case "finditer" | "findall":
                return sum(1 for _ in pattern.finditer(given))
            case "sub" | "subn":
                return pattern.sub(given[:0], given)
        raise ValueError(how)

    return call


def texts(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield texts that a pattern may be slow for: its literals, one character of each of
    its classes, and each pair of them, repeated; also behind its first words.
    """
    tree = parser.parse(pattern.pattern, pattern.flags)
    runs: list[str] = []
    found: list[str] = []
    _collect(tree, found, runs)
    one = list(dict.fromkeys(found))[:_MOST_CHARACTERS]
    words = [run for run in dict.fromkeys(runs) if len(run) > 1][:4]
    units = [*one, *words, *(a + b for a, b in itertools.permutations(one, 2))]
    units += [a + b for a in words for b in (*one, *words)]
    for unit in units:
        yield (unit * (FULL // len(unit) + 1))[:FULL]
        if words and unit in one:
            yield (words[0] + unit * FULL)[:FULL]


def _collect(tree: Any, found: list[str], runs: list[str]) -> None:
    run = ""
    for code, value in tree:
        if code is codes.LITERAL:
            found.append(chr(value))
            run += chr(value)
            continue
        runs.append(run)
        run = ""
        if code is codes.NOT_LITERAL:
            found.append(chr(value))
        elif code is codes.IN:
            found.extend(_of_class(value))
        elif code is codes.ANY:
            found.append("~")
        elif code is codes.BRANCH:
            for branch in value[1]:
                _collect(branch, found, runs)
        elif code is codes.SUBPATTERN:
            _collect(value[3], found, runs)
        elif code in (
            codes.MAX_REPEAT,
            codes.MIN_REPEAT,
            codes.POSSESSIVE_REPEAT,
        ):
            _collect(value[2], found, runs)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            _collect(value[1], found, runs)
        elif code is codes.ATOMIC_GROUP:
            _collect(value, found, runs)
    runs.append(run)


def _of_class(members: Any) -> Iterator[str]:
    for code, value in members:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.RANGE:
            yield chr(value[0])
        elif code is codes.NEGATE:
            yield "~"
        elif code is codes.CATEGORY:
            name = str(value)
            yield "1" if "DIGIT" in name else " " if "SPACE" in name else "a"
