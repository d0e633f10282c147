"""Slow and aborted responses: bodies as streams of pieces. Pure except for the caller's
wait function.
"""

from collections.abc import Callable, Iterable, Iterator

from asoreconcile.testing.http import ResetConnection

BodyBytes = bytes | Iterable[bytes]


def dripped(
    body: BodyBytes, size_bytes: int, wait: Callable[[], None]
) -> Iterator[bytes]:
    """Yield a body in pieces of at most `size_bytes`, and wait before each piece."""
    for chunk in _chunks(body):
        for start in range(0, len(chunk), size_bytes):
            wait()
            yield chunk[start : start + size_bytes]


def broken_off(body: BodyBytes, after_bytes: int) -> Iterator[bytes]:
    """Yield the start of a body, then a reset; a shorter body is unchanged."""
    left = after_bytes
    for chunk in _chunks(body):
        if len(chunk) > left:
            if left:
                yield chunk[:left]
            raise ResetConnection
        left -= len(chunk)
        yield chunk


def _chunks(body: BodyBytes) -> Iterable[bytes]:
    if isinstance(body, bytes):
        return (body,) if body else ()
    return (chunk for chunk in body if chunk)
