"""Work that waits without holding a thread.

A coroutine is a generator that yields when it would block; its runner resumes it, on
its own thread or on any free thread of a small pool. The yielded value is the reason:

    None    ->  until another thread calls the `wake` that it was given
    number  ->  seconds to pause; a stop ends the pause

A wake may be spurious: after each one the generator must check its condition.
It may be resumed on a different thread each time, but never on two at once: do not hold
a lock, context variable or thread-local value across a yield.
"""

from collections.abc import Callable, Generator
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")

Coroutine = Generator[float | None, None, T]


def run_to_completion(steps: Coroutine[T], wait: Callable[[float | None], object]) -> T:
    """Run the steps on this thread and return their result.

    wait: called between two steps, with the seconds to wait, or None until woken. If
    it raises, the steps are closed.
    """
    with closing(steps):
        while True:
            try:
                pause = next(steps)
            except StopIteration as ended:
                result: T = ended.value
                return result
            wait(pause)
