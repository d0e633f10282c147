"""A JSON object whose members are kept as text until one is requested.

With every kind installed, decoded group files would be five million bytes of small
objects. Their text is one object, and most of it describes versions and shapes that are
not used.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson


class LazyJson(Mapping[str, Any]):
    """A mapping that decodes a member each time it is requested.

    A caller that needs a member often must keep it. Immutable; safe from any thread.
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
