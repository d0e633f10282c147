"""The threads of one test, apart from other threads of the process.

`ScarceThreads` refuses the first ones, as a machine without free threads does.
"""

from asoreconcile.base.threads import Threads


class RecordedThreads(Threads):
    """A `Threads` that records the started threads."""

    def __init__(self, **options):
        super().__init__(**options)
        self.started = []

    def start(self, name, target, **options):
        thread = super().start(name, target, **options)
        self.started.append(thread)
        return thread

    def alive(self):
        """Return the threads that have not ended."""
        return [thread for thread in self.started if thread.is_alive()]

    def ended(self, seconds):
        """Return whether all threads have ended, each within the time."""
        for thread in self.started:
            thread.join(seconds)
        return not self.alive()


class ScarceThreads(Threads):
    """A `Threads` that refuses the first ones, as CPython does on an
    exhausted machine.
    """

    refusals = 1

    def start(self, name, target, **options):
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("can't start new thread")
        return super().start(name, target, **options)
