"""Finds which resource this process has run out of, for errors that do not say it."""

import errno
import os

_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def shortage() -> str:
    """`[Errno 24] Too many open files ...`, with what to do; "" if nothing is exhausted
    now.

    Call it only after a failure: without a free descriptor libcurl reports "could not
    connect", which wrongly blames the server.
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
