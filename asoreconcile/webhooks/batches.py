"""The text of a conversion review, taken apart without parsing it as a whole.

An API server sends all objects of a page in one review. Each object is parsed,
converted and written on its own, so that memory grows with the largest object.
"""

from collections.abc import Generator, Iterator
from itertools import islice

from asoreconcile.base import jsontext
from asoreconcile.base.json_size import (
    JsonSizeError,
    ListItems,
    NoJsonError,
    list_start,
)
from asoreconcile.base.objects import JsonObject
from asoreconcile.webhooks.review_work import ReviewWork, refusal
from asoreconcile.webhooks.reviews import ReviewError

# A review without its objects: a uid, a version and the names of its members.
_ENVELOPE_BYTES = 1 << 16
# `{"apiVersion":"a/b","kind":"C"}`
_LEAST_OBJECT_BYTES = 31
# The API server accepts objects of 3 MiB; conversion may have made them longer.
_MOST_OBJECT_BYTES = 7 << 20
_OBJECTS_AT_ONCE = 256
_BYTES_AT_ONCE = 1 << 16


class Batch:
    """The objects of one conversion review, parsed one after the other.

    envelope: text of the review with an empty list of objects.
    """

    def __init__(
        self, text: bytes, work: ReviewWork, *, caller: str, deadline: float
    ) -> None:
        """Find the objects. Blocks for slots. Raises ReviewError for text that is
        malformed or too large.
        """
        self._work = work
        self._caller = caller
        self._deadline = deadline
        start = list_start(text, ("request", "objects"), within=_ENVELOPE_BYTES)
        self._items = ListItems(
            text, start, least=_LEAST_OBJECT_BYTES, most=_MOST_OBJECT_BYTES
        )
        self.has_objects = start >= 0
        end = self._found() if self.has_objects else 0
        if len(text) - (end - max(start, 0)) > _ENVELOPE_BYTES:
            raise ReviewError("the review is long without its objects", code=413)
        self.envelope = text[:start] + b"]" + text[end:] if end else text

    def _found(self) -> int:
        steps = self._items.find()
        while not self._items.end:
            with self._work.converting(self._caller, self._deadline):
                try:
                    for _ in islice(steps, _OBJECTS_AT_ONCE):
                        pass
                except (JsonSizeError, NoJsonError) as error:
                    raise refusal(error) from error
            self._work.check(self._deadline)
        return self._items.end

    def objects(self) -> Generator[JsonObject, None, None]:
        """Parse each object, in order. The slot is held while the caller uses
        the object. Raises ReviewError.
        """
        light: list[bytes] = []
        size = 0
        for text in self._items.texts():
            is_heavy = self._work.is_heavy(text)
            if is_heavy or size + len(text) > _BYTES_AT_ONCE:
                yield from self._parsed(light)
                light, size = [], 0
            if is_heavy:
                with self._work.parsing(
                    text, self._caller, self._deadline, is_measured=True
                ):
                    yield _object(text)
            else:
                light.append(text)
                size += len(text)
        yield from self._parsed(light)

    def _parsed(self, texts: list[bytes]) -> Iterator[JsonObject]:
        if texts:
            with self._work.converting(self._caller, self._deadline):
                yield from map(_object, texts)


def _object(text: bytes) -> JsonObject:
    try:
        found: JsonObject = jsontext.loads(text)
    except jsontext.JSONDecodeError as error:
        raise ReviewError(f"the review is no JSON: {error}", code=400) from error
    return found
