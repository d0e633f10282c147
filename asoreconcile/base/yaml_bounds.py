"""Limits the size and depth of YAML text before its values are made.

A few hundred bytes of aliases stand for gigabytes, and a long row of brackets exhausts
the parser's stack. Both are found in the parser's events, which take no more memory
than the text.
"""

from collections.abc import Iterator
from typing import Any

import yaml

MOST_BYTES = 64 << 20
"""Of a file, or of standard input."""

# Enough for people's anchors; longer text may stand for ten times its length.
_FREE_BYTES = 1 << 20
_MOST_TIMES = 10
_MOST_LEVELS = 1000
_MOST_DOCUMENTS = 50_000
# PyYAML takes a kilobyte for each while it makes them.
_MOST_VALUES = 1_000_000
# A double has 309 digits at most; `int` takes the square of the time for longer text.
_MOST_DIGITS = 400


class YamlSizeError(yaml.MarkedYAMLError):
    """Text that would become too large, or is nested too deeply."""


def check_yaml(text: str | bytes, loader: Any) -> None:
    """Check a text before its values are made. Raises yaml.YAMLError if it stands for
    too much, and if it cannot be parsed.

    loader: a loader class of PyYAML.
    """
    parser = loader(text)
    try:
        _Bounds(len(text)).check(_events(parser))
    finally:
        parser.dispose()


def check_number(text: str, mark: Any = None) -> None:
    """Check the text of a number. Raises yaml.YAMLError for very many digits."""
    if len(text) > _MOST_DIGITS:
        raise YamlSizeError(None, None, "a number has too many digits", mark)


def _events(parser: Any) -> Iterator[Any]:
    while parser.check_event():
        yield parser.get_event()


class _Bounds:
    """Counts the size of the values that a text's events stand for; an alias counts as
    its whole value.

    A node's size is the length of its scalars and one for each node.
    """

    def __init__(self, length: int) -> None:
        self._most = max(_FREE_BYTES, length * _MOST_TIMES)
        self._documents = 0
        self._values = 0
        self._anchors: dict[str, int] = {}
        # The anchors and sizes of the lists and mappings that are open.
        self._open: list[tuple[str | None, int]] = []

    def check(self, events: Iterator[Any]) -> None:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                self._anchors.clear()
                self._open = [(None, 0)]
                if self._documents > _MOST_DOCUMENTS:
                    raise _refused("there are too many documents", event)
            elif isinstance(event, yaml.AliasEvent):
                if any(event.anchor == anchor for anchor, _ in self._open):
                    raise _refused("an alias is part of what it stands for", event)
                self._add(self._anchors.get(event.anchor or "", 1), event)
            elif isinstance(event, yaml.ScalarEvent):
                size = len(event.value) + 1
                self._name(event.anchor, size)
                self._add(size, event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open.append((event.anchor, 1))
                if len(self._open) > _MOST_LEVELS:
                    raise _refused(f"it has more than {_MOST_LEVELS} levels", event)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, size = self._open.pop()
                self._name(anchor, size)
                self._add(size, event)

    def _name(self, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = size

    def _add(self, size: int, event: Any) -> None:
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _refused(f"it has more than {_MOST_VALUES} values", event)
        anchor, before = self._open[-1]
        if before + size > self._most:
            raise _refused("its aliases stand for too much", event)
        self._open[-1] = (anchor, before + size)


def _refused(problem: str, event: Any) -> YamlSizeError:
    return YamlSizeError(None, None, problem, event.start_mark)
