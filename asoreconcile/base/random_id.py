"""Random ids for requests, reconciles and events.

`uuid.uuid4` makes a system call for each id, which yields to other threads. These ids
are predictable: never use them for secrets.
"""

import os
import random

_DRAWN = random.Random()
# A forked child would otherwise generate the same ids as its parent.
os.register_at_fork(after_in_child=_DRAWN.seed)
# The version (4) and variant bits of RFC 9562.
_STATED = 0xF000_C000_0000_0000_0000
_VERSION_AND_VARIANT = 0x4000_8000_0000_0000_0000


def random_id() -> str:
    """Return a random UUID as text. Safe from any thread; does not block."""
    bits = _DRAWN.getrandbits(128) & ~_STATED | _VERSION_AND_VARIANT
    digits = f"{bits:032x}"
    return "-".join(
        (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    )
