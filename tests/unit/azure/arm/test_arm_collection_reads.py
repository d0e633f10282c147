"""Writes that lists remember, without a server."""

import pytest

from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.error_body import ErrorBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.testing.clock import FakeClock

GROUP = "/subscriptions/1/resourceGroups/g"


class Lists:
    """A client whose lists have ten storage accounts."""

    def pages(self, _path, _api_version):
        yield [{"id": account(number)} for number in range(10)]


def account(number):
    return f"{GROUP}/providers/Microsoft.Storage/storageAccounts/account{number}"


def shown(reads, number, client):
    found = reads.entry(
        client, account(number), "2023-01-01", credential="one", seen_at=-1.0
    )
    return found is not None


def test_q6_writes_are_remembered_as_long_as_a_list_is_older(clock):
    """However many others were written meanwhile; and not for ever."""
    reads, lists = CollectionReads(clock, max_age_seconds=60.0), Lists()
    assert [shown(reads, number, lists) for number in (8, 9, 0)][-1]
    clock.advance(1.0)
    reads.wrote(account(1))
    for number in range(3000):
        clock.advance(0.01)
        reads.wrote(f"{GROUP}/providers/Microsoft.Network/virtualNetworks/n{number}")
    assert not shown(reads, 1, lists)
    assert shown(reads, 2, lists)
    clock.advance(60.0)
    reads.wrote(account(3))
    assert len(reads._written) == 6  # it, and the paths above it


def test_q6_one_resource_that_is_asked_for_again_needs_no_list():
    reads, lists = CollectionReads(FakeClock(), max_age_seconds=60.0), CountedLists()
    assert not any(shown(reads, 0, lists) for _ in range(9))
    assert lists.asked == 0


def test_q6_what_is_written_again_is_remembered_from_then_on(clock):
    reads = CollectionReads(clock, max_age_seconds=60.0)
    reads.wrote(account(1))
    clock.advance(59.0)
    reads.wrote(account(1))
    clock.advance(2.0)
    reads.wrote(f"{GROUP}/providers/Microsoft.Network/virtualNetworks/n")
    assert account(1).lower() in reads._written


def test_ow1_one_list_tells_which_resources_are_not_there(clock):
    reads, lists = CollectionReads(clock, max_age_seconds=60.0), Lists()

    def is_absent(number, since=-1.0):
        return reads.says_absent(
            lists, account(number), "2023-01-01", credential="one", since=since
        )

    # Two are asked for by a GET before a list is worth its page.
    assert [is_absent(number) for number in range(20, 24)] == [False, False, True, True]
    assert not is_absent(3)
    # Not after a write of it, nor for an object that is younger than the list.
    clock.advance(1.0)
    reads.wrote(account(24))
    assert not is_absent(24)
    assert is_absent(25)
    assert not is_absent(26, since=clock.monotonic())
    # An entry that was used is there, and of a list that was dropped nothing is known.
    assert shown(reads, 4, lists)
    assert not is_absent(4)
    (kept,) = reads._collections.values()
    kept.is_whole = False
    assert not is_absent(27)


class Overtaken:
    """Calls under way; between the first one's look and its call, another's is over."""

    def __init__(self, inner, overtake):
        self._inner = inner
        self._overtake = [overtake]

    def do(self, key, call):
        if self._overtake:
            self._overtake.pop()()
        return self._inner.do(key, call)


class CountedLists(Lists):
    """What each list is, in turn: an error that ends it, or its pages."""

    def __init__(self, *answers):
        self._answers = [*answers]
        self.asked = 0

    def pages(self, _path, _api_version):
        self.asked += 1
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield from answer


def test_q7_a_type_that_is_distrusted_while_it_is_listed_is_read_by_get(clock):

    class Distrusted(Lists):
        def pages(self, path, api_version):
            yield from super().pages(path, api_version)
            reads.distrust(account(0), "2023-01-01")

    reads, lists = CollectionReads(clock, max_age_seconds=60.0), Distrusted()
    assert [shown(reads, number, lists) for number in range(5)] == [False] * 5
    assert reads._collections == {}


@pytest.mark.parametrize(
    "answer",
    [
        ArmError(ErrorBody("AuthorizationFailed", "No."), status=403),
        ArmError(ErrorBody("ServiceUnavailable", "Later."), status=503),
        [[{"id": account(number)}] for number in range(4)],
    ],
    ids=["refused", "down", "too long"],
)
def test_q6_who_looked_before_a_list_came_to_nothing_makes_no_other(answer):
    lists = CountedLists(answer, *[answer] * 3)
    reads = CollectionReads(FakeClock(), max_age_seconds=60.0)
    reads._under_way = Overtaken(reads._under_way, lambda: shown(reads, 3, lists))
    assert [shown(reads, number, lists) for number in range(3)] == [False] * 3
    assert lists.asked == 1


def test_h4_a_list_that_leads_elsewhere_is_a_refusal_of_the_list_alone():
    error = ForeignHostError("the list's next page is on a foreign host")
    lists = CountedLists(*[error] * 3)
    reads = CollectionReads(FakeClock(), max_age_seconds=60.0)
    assert [shown(reads, number, lists) for number in range(9)] == [False] * 9
    assert lists.asked == 1
