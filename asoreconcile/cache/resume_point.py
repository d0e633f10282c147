"""Where a feed is in its kind's history, and what state it may ask for. Pure.

Rules: RF-2, RF-10.
"""

from asoreconcile.objects import version_number

AT_HAND = "0"
"""Any state that the server has at hand."""
NEWEST = ""


class ResumePoint:
    """The version that was read last. One thread."""

    def __init__(self) -> None:
        self.version = ""
        self.no_older_than = AT_HAND
        """What to ask the next state to be."""

    def begin(self, version: str) -> None:
        """A whole state of this version was taken."""
        self.version = version
        # The next state must not be older than this one: replicas lag.
        self.no_older_than = version or AT_HAND

    def advance(self, version: str) -> bool:
        """An event or a bookmark came; False for one that says nothing new."""
        if not version or is_before(version, self.version):
            return False
        self.version = self.no_older_than = version
        return True

    def forget(self) -> bool:
        """The server does not know the version: ask for the newest state, whatever it
        is; False if that was asked for already.
        """
        before, self.no_older_than = self.no_older_than, NEWEST
        return before != NEWEST

    @property
    def stream_from(self) -> str:
        """What a streamed state is to be no older than."""
        return "" if self.no_older_than == AT_HAND else self.no_older_than


def is_before(version: str, other: str) -> bool:
    """Whether a version is older: a bookmark that was overtaken takes nothing back."""
    if not (version.isdecimal() and other.isdecimal()):
        return False
    # Of numbers with as many digits the text decides. Each event comes by here.
    if len(version) == len(other):
        return version < other
    return version_number(version) < version_number(other)
