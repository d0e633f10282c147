"""Errors of requests that got no response. Pure, except for a check of which resource
the process lacks, such as file descriptors.
"""

import errno
import os
import re

import pycurl

from asoreconcile.base.errors import AsoreconcileError

_SHORT_OF = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def shortage() -> str:
    """Return a text about an exhausted resource with advice, such as `[Errno 24] Too
    many open files ...`; "" if nothing is exhausted now.

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


_LOST = frozenset(
    {
        pycurl.E_PARTIAL_FILE,
        pycurl.E_GOT_NOTHING,
        pycurl.E_SEND_ERROR,
        pycurl.E_RECV_ERROR,
        pycurl.E_SEND_FAIL_REWIND,
    }
)
# Before OpenSSL's own words.
_PREFIX = re.compile(r"^SSL(?: certificate)?(?: problem| OpenSSL verify result)?: ")
# The library's version, a number, and the names of its own functions.
_OPENSSL = re.compile(r"^OpenSSL \w+: OpenSSL/[^:]+: (?:error:\w+:[^:]*:[^:]*:)?")


class WireError(AsoreconcileError):
    """There was no response, or only a part of one.

    is_sent: whether bytes of the request may have been sent, so that it may have been
    executed. is_lost: whether the connection was reset or closed. is_untrusted: whether
    the server's certificate was not accepted. is_too_long: whether the response was
    longer than the caller allows.
    """

    def __init__(
        self,
        message: str,
        *,
        is_sent: bool,
        is_lost: bool = False,
        is_untrusted: bool = False,
        is_too_long: bool = False,
    ) -> None:
        super().__init__(message)
        self.is_sent = is_sent
        self.is_lost = is_lost
        self.is_untrusted = is_untrusted
        self.is_too_long = is_too_long


def not_sent(error: Exception) -> WireError:
    """Return the error of a request that failed before it was sent, for lack of a
    descriptor, a thread or memory.
    """
    return WireError(f"not sent: {_explained(str(error))}", is_sent=False)


def wire_error(code: int, text: str, *, is_sent: bool) -> WireError:
    """Return the error with libcurl's message. code: a `CURLcode`."""
    is_untrusted = code == pycurl.E_PEER_FAILED_VERIFICATION
    if is_untrusted:
        text = f"certificate verify failed: {_PREFIX.sub('', text)}"
    is_lost = is_sent and code in _LOST
    if is_lost:
        text = f"Connection aborted: {_OPENSSL.sub('', text)}"
    if not is_sent:
        text = _explained(text)
    return WireError(
        text or pycurl.easy_strerror(code),
        is_sent=is_sent,
        is_lost=is_lost,
        is_untrusted=is_untrusted,
    )


def _explained(text: str) -> str:
    """Return a text completed with the exhausted resource, unless the text names it."""
    short_of = shortage()
    if not short_of or short_of.partition(":")[0] in text:
        return text
    return f"{text}; {short_of}" if text else short_of
