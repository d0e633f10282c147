"""Reads of owners are shared while they are young."""

import threading

import pytest

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault
from asoreconcile.base.reconcile_context import Context, running

ID = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Kusto/clusters/c"
API = "2024-04-13"


@pytest.fixture
def reads(clock):
    return OwnerReads(clock)


def arm(*answers):
    fake = FakeArm()
    for answer in answers:
        fake.on("GET", "/c", API, answer)
    return fake


def test_children_in_a_row_share_a_read_until_it_is_old(reads, clock):
    azure = arm({"n": 1}, {"n": 2})
    bodies = [reads.get(azure, ID, API, credential="a")["n"] for _ in range(200)]
    assert bodies == [1] * 200
    clock.advance(2.0)
    assert reads.get(azure, ID.upper().replace("/C", "/c"), API, credential="a") == {
        "n": 2
    }
    assert len(azure.sent) == 2


def test_no_read_is_shared_that_is_older_than_our_last_write(reads):
    azure = arm({"n": 1}, {"n": 2})
    reads.get(azure, ID, API, credential="a")
    reads.wrote(ID.upper().replace("/C", "/c"))
    assert reads.get(azure, ID, API, credential="a") == {"n": 2}
    reads.wrote(ID.replace("rg", "another"))
    assert reads.get(azure, ID, API, credential="a") == {"n": 2}
    assert len(azure.sent) == 2


def test_a_read_during_which_we_write_is_made_again(reads):
    bodies = [{"n": 1}, {"n": 2}]

    class Writing:
        def get(self, *_):
            body = bodies.pop(0)
            if body["n"] == 1:
                reads.wrote(ID)
            return body

    assert reads.get(Writing(), ID, API, credential="a") == {"n": 2}


def test_what_one_credential_read_is_not_shown_to_another(reads):
    azure = arm({"n": 1}, arm_fault(403, "AuthorizationFailed"))
    reads.get(azure, ID, API, credential="a")
    with pytest.raises(Exception, match="AuthorizationFailed"):
        reads.get(azure, ID, API, credential="b")


def test_a_failure_is_not_kept(reads):
    azure = arm(arm_fault(500, "InternalServerError"), {"n": 1})
    with pytest.raises(Exception, match="InternalServerError"):
        reads.get(azure, ID, API, credential="a")
    assert reads.get(azure, ID, API, credential="a") == {"n": 1}


def test_those_that_come_meanwhile_wait_for_the_one_that_reads(reads):
    begun, go = threading.Event(), threading.Event()

    class Slow:
        calls = 0

        def get(self, arm_id, api_version):
            Slow.calls += 1
            begun.set()
            assert go.wait(30)
            return {"n": 1}

    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(reads.get(Slow(), ID, API, credential="a"))
        )
        for _ in range(4)
    ]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(30)
    assert found == [{"n": 1}] * 4
    assert Slow.calls == 1


def test_old_reads_do_not_pile_up(reads, clock):
    azure = FakeArm(unknown="404")
    for number in range(1000):
        azure.on("GET", f"/c{number}", API, {})
        reads.get(azure, f"{ID}{number}", API, credential="a")
        clock.advance(1.0)
    assert len(reads._reads) <= 257


def test_what_one_version_shows_is_not_taken_for_another(reads):
    """Versions name their fields differently."""
    azure = FakeArm().on("GET", ID, API, {"n": 1}).on("GET", ID, "2020-01-01", {"n": 2})
    assert reads.get(azure, ID, API, credential="a") == {"n": 1}
    assert reads.get(azure, ID, "2020-01-01", credential="a") == {"n": 2}


def test_th9_all_who_wait_for_a_read_that_fails_are_free_at_once(reads, clock):
    """Under a lock each would wait for the one before, and then fail by itself."""
    begun, go, calls, raised = threading.Event(), threading.Event(), [], []

    class Failing:
        def get(self, arm_id, api_version):
            calls.append(1)
            begun.set()
            assert go.wait(30)
            raise arm_fault(500, "InternalServerError")

    def child():
        try:
            with running(Context(clock)):
                reads.get(Failing(), ID, API, credential="a")
        except ArmError as error:
            raised.append(error.code)

    threads = [threading.Thread(target=child) for _ in range(12)]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    clock.until_waiting(11)
    go.set()
    for thread in threads:
        thread.join(30)
    assert raised == ["InternalServerError"] * 12
    assert len(calls) == 1
