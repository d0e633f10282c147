"""A process without free file descriptors."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exhausted_descriptors(*, spare: int = 0) -> Iterator[None]:
    """Leave only that many descriptors in this process, with a lowered limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        while True:
            try:
                held.append(os.dup(0))
            except OSError:
                break
        for _ in range(spare):
            os.close(held.pop())
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def few_descriptors(pid: int, count: int = 3) -> Iterator[None]:
    """Limit another process to that many descriptors more than it has.

    The number is not 0, because poll(2) refuses more entries than the limit.
    """
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
