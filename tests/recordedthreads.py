"""Threads of one test alone: others of the process come and go as they like.

Or none, for the first that ask, as on a machine that has no more.
"""

from asoreconcile.base.threads import Threads


class RecordedThreads(Threads):
    """Notes what it starts."""

    def __init__(self, **options):
        super().__init__(**options)
        self.started = []

    def start(self, name, target, **options):
        thread = super().start(name, target, **options)
        self.started.append(thread)
        return thread

    def alive(self):
        """Those that have not ended."""
        return [thread for thread in self.started if thread.is_alive()]

    def ended(self, seconds):
        """Whether all have ended, within the time each."""
        for thread in self.started:
            thread.join(seconds)
        return not self.alive()


class ScarceThreads(Threads):
    """Refuses the first that ask for one, as CPython does where the machine has none."""

    refusals = 1

    def start(self, name, target, **options):
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("can't start new thread")
        return super().start(name, target, **options)
