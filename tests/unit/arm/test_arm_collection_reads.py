"""What lists remember of writes, without a server."""

from asoreconcile.arm.collection_reads import CollectionReads
from asoreconcile.arm.collections import collection_of
from asoreconcile.testing.clock import FakeClock

GROUP = "/subscriptions/1/resourceGroups/g"


class Lists:
    """A source of lists that holds one storage account, whenever it is asked."""

    name = "lists"
    lag_seconds = 0.0
    can_narrow = False

    def address(self, arm_id):
        return collection_of(arm_id)

    def pages(self, _client, _wanted):
        yield [{"id": account(number)} for number in range(10)]


def account(number):
    return f"{GROUP}/providers/Microsoft.Storage/storageAccounts/account{number}"


def shown(reads, number):
    found = reads.entry(
        None, account(number), "2023-01-01", credential="one", seen_at=-1.0
    )
    return found is not None


def test_q6_writes_are_remembered_as_long_as_a_list_is_older():
    """However many others were written meanwhile; and not for ever."""
    clock = FakeClock()
    reads = CollectionReads(clock, max_age_seconds=60.0, source=Lists())
    while not shown(reads, 0):
        pass
    clock.advance(1.0)
    reads.wrote(account(1))
    for number in range(3000):
        clock.advance(0.01)
        reads.wrote(f"{GROUP}/providers/Microsoft.Network/virtualNetworks/n{number}")
    assert not shown(reads, 1)
    assert shown(reads, 2)
    clock.advance(60.0)
    reads.wrote(account(3))
    assert len(reads._written) == 6  # it, and the paths above it


def test_q6_what_is_written_again_is_remembered_from_then_on():
    clock = FakeClock()
    reads = CollectionReads(clock, max_age_seconds=60.0, source=Lists())
    reads.wrote(account(1))
    clock.advance(59.0)
    reads.wrote(account(1))
    clock.advance(2.0)
    reads.wrote(f"{GROUP}/providers/Microsoft.Network/virtualNetworks/n")
    assert account(1).lower() in reads._written
