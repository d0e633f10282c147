"""What this process has run out of, where a failure does not say so itself."""

import errno
import os

_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def shortage() -> str:
    """`[Errno 24] Too many open files ...`, with what to do; "" with nothing short now.

    To be asked after a failure only: libcurl says "could not connect" where the kernel
    gave it no descriptor, and sends the reader to a server that is well.
    """
    try:
        pair = os.pipe()  # libcurl needs two to begin with
    except OSError as error:
        if error.errno in _SHORT_OF:
            return (
                f"[Errno {error.errno}] {error.strerror}: this process has no"
                " descriptor or memory left (ulimit -n)"
            )
    else:
        for descriptor in pair:
            os.close(descriptor)
    return ""
