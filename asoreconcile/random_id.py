"""Ids that tell requests, reconciles and events apart.

`uuid.uuid4` asks the kernel for each: a system call that lets other threads go first.
What is drawn here can be guessed: nothing secret may be made of it.
"""

import os
import random

_DRAWN = random.Random()
# A forked process would draw the ids of its parent once more.
os.register_at_fork(after_in_child=_DRAWN.seed)
# A UUID of version 4 says so, and that RFC 9562 lays it out.
_STATED = 0xF000_C000_0000_0000_0000
_VERSION_AND_VARIANT = 0x4000_8000_0000_0000_0000


def random_id() -> str:
    """A random UUID as text. Safe from any thread; does not block."""
    bits = _DRAWN.getrandbits(128) & ~_STATED | _VERSION_AND_VARIANT
    digits = f"{bits:032x}"
    return "-".join(
        (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    )
