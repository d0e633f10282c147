"""Members of a JSON object, kept as text until one is asked for.

With every kind installed, decoded group files are five million bytes of small objects;
their text is one, and most of it is of versions and shapes that nobody uses.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson


class LazyJson(Mapping[str, Any]):
    """Decodes a member again each time it is asked for: who needs it often keeps it.

    Immutable; safe from any thread.
    """

    __slots__ = ("_texts",)

    def __init__(self, members: Mapping[str, Any]) -> None:
        # An exact copy: what `dumps` returns keeps the room that it grew into.
        self._texts = {
            name: bytes(memoryview(orjson.dumps(value)))
            for name, value in members.items()
        }

    def __getitem__(self, name: str) -> Any:
        return orjson.loads(self._texts[name])

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)
