"""Work that waits without holding a thread.

A generator that yields where it would block, and is resumed by whoever runs it: on a
thread of its own, or on whichever of a few is free. What it yields says for what:

    None    ->  until somebody calls the `wake` that it was given
    number  ->  seconds to pause; a stop ends the pause

A wake may come for nothing: whoever is resumed looks whether what it waits for is here.
It may be resumed on another thread each time, never on two at once: no lock, context
variable or thread-local value may be held over a yield.
"""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Stepwise = Generator[float | None, None, T]


def completed(steps: Stepwise[T]) -> T:
    """What steps that never wait lead to. Raises what they raise, and RuntimeError
    where one would wait.
    """
    try:
        next(steps)
    except StopIteration as ended:
        result: T = ended.value
        return result
    steps.close()
    raise RuntimeError("nobody is here to wait for the next step")
