"""The resource version from which a reflector resumes, and at which it may list. Pure.

Rules: RF-2, RF-10.
"""

from asoreconcile.base.objects import version_number

AT_HAND = "0"
"""Any state that the server has cached."""
NEWEST = ""


class ResumePoint:
    """The last version read. For use by one thread."""

    def __init__(self) -> None:
        self.version = ""
        self.no_older_than = AT_HAND
        """The resourceVersion parameter of the next list."""

    def begin(self, version: str) -> None:
        """Record a complete list at this version."""
        self.version = version
        # The next list must not be older than this one: API server replicas lag.
        self.no_older_than = version or AT_HAND

    def advance(self, version: str) -> bool:
        """Record an event's or a bookmark's version; False if it is not newer."""
        if not version or is_before(version, self.version):
            return False
        self.version = self.no_older_than = version
        return True

    def forget(self) -> bool:
        """Drop a version that the server does not have, so that the newest state is
        listed next. Return False if no version was known.
        """
        before, self.no_older_than = self.no_older_than, NEWEST
        return before != NEWEST

    @property
    def stream_from(self) -> str:
        """The least resource version of a streamed list."""
        return "" if self.no_older_than == AT_HAND else self.no_older_than


def is_before(version: str, other: str) -> bool:
    """Return whether a version is older than another one. A late bookmark must not set
    the version back.
    """
    if not (version.isdecimal() and other.isdecimal()):
        return False
    # Numbers with equally many digits compare as text. Every event comes through here.
    if len(version) == len(other):
        return version < other
    return version_number(version) < version_number(other)
