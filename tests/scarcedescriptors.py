"""A process that has no file descriptors left."""

import os
import resource
from contextlib import contextmanager


@contextmanager
def exhausted_descriptors(*, spare=0):
    """So many are left in this one; the limit is lowered so that few are needed for
    it.
    """
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
def few_descriptors(pid, count=3):
    """Another one may have so many; by default none beside those that it has.

    Not 0: poll(2) refuses more entries than that.
    """
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
