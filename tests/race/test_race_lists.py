"""Lists that many syncs share, and writes meanwhile."""

import itertools

from interleaving import Interleaving, seeds

from asoreconcile.azure.arm.collection_reads import CollectionReads

PARENT = "/subscriptions/1/resourceGroups/g/providers/Microsoft.Sql/servers/s"


class Ticking:
    """A clock of which no two readings are the same."""

    def __init__(self):
        self._ticks = itertools.count(1.0)

    def monotonic(self):
        return next(self._ticks)


class Servers:
    """A client whose lists show one server with the names written below it so far.

    noted: the names, with times, that the writer has reported to the reads of lists.
    """

    def __init__(self):
        self.written, self.noted = [], []

    def pages(self, _path, _api_version):
        yield [{"id": PARENT, "written": [*self.written]}]


def test_q8_no_list_shows_a_parent_as_it_was_before_a_write_below_it():
    shown = 0
    for seed in seeds(25, kept=(3, 7)):
        interleaving = Interleaving(seed, every=4)
        with interleaving.locks():
            clock, servers = Ticking(), Servers()
            reads = CollectionReads(clock, max_age_seconds=24.0)

        def write(name, clock=clock, servers=servers, reads=reads):
            for number in range(6):
                began = clock.monotonic()
                servers.written.append(f"{name}{number}")
                reads.wrote(f"{PARENT}/databases/{name}{number}")
                servers.noted.append((f"{name}{number}", began))
                # Whichever thread interrupted this one: the recorded time is that of
                # the last noted write, or later.
                last = max(began for _, began in servers.noted)
                assert reads._written[PARENT.lower()] > last

        def sync(servers=servers, reads=reads):
            nonlocal shown
            for _ in range(40):
                noted = {name for name, _ in servers.noted}
                # A list is made for the third resource.
                for asked in (f"{PARENT}1", f"{PARENT}2", PARENT):
                    found = reads.entry(
                        servers, asked, "2021-11-01", credential="one", seen_at=-1.0
                    )
                if found is not None:
                    shown += 1
                    assert noted <= {*found.body["written"]}

        interleaving.run(
            lambda write=write: write("a"), lambda write=write: write("b"), sync
        )
    assert shown
