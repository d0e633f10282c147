"""Time at the simulator: reads that lag, budgets that refill, a clock to move on."""

import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

BODY = {"location": "westeurope", "properties": {}}


@pytest.fixture
def clock():
    return FakeClock()


def start(clock, **options):
    return ArmServer(clock=clock, **options)


def group_of(azure):
    return f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"


def test_reads_lag_behind_writes(clock):
    with start(clock, read_lag=5.0) as azure, azure.session() as session:
        group = group_of(azure)
        assert session.put(group, json={"location": "westeurope"}).status_code == 201
        assert session.get(group).status_code == 404
        clock.advance(5.0)
        assert session.get(group).status_code == 200
        session.put(group, json={"location": "westeurope", "tags": {"new": "yes"}})
        assert "tags" not in session.get(group).json()
        clock.advance(5.0)
        assert session.get(group).json()["tags"] == {"new": "yes"}


def test_what_was_deleted_is_still_read_for_a_while(clock):
    with start(clock, read_lag=5.0) as azure, azure.session() as session:
        azure.seed(group_of(azure), {"location": "westeurope"})
        path = f"{group_of(azure)}/providers/Microsoft.Web/serverfarms/plan"
        azure.seed(path, BODY)
        assert session.delete(path).status_code == 200
        assert session.get(path).status_code == 200
        assert session.delete(path).status_code == 204
        clock.advance(5.0)
        assert session.get(path).status_code == 404


def counted(session, azure, number):
    """How many of a number of writes are let through."""
    answers = [
        session.put(group_of(azure), json={"location": "westeurope"})
        for _ in range(number)
    ]
    return [a.status_code for a in answers].count(429), answers


def test_t2_buckets_hold_what_microsoft_publishes(clock):
    with start(clock, throttle=True) as azure, azure.session() as session:
        refused, answers = counted(session, azure, 205)
        assert refused == 5
        left = "x-ms-ratelimit-remaining-subscription-writes"
        assert [answers[i].headers[left] for i in (0, 1, 199, 204)] == [
            "199",
            "198",
            "0",
            "0",
        ]
        everyones = "x-ms-ratelimit-remaining-subscription-global-writes"
        assert answers[0].headers[everyones] == "2999"
        error = answers[-1].json()["error"]
        assert error["code"] == "SubscriptionRequestsThrottled"
        assert answers[-1].headers["x-ms-failure-cause"] == "gateway"
        # Reads come out of another bucket.
        assert session.get(group_of(azure)).status_code == 200


def test_t2_buckets_refill(clock):
    with start(clock, throttle=True) as azure, azure.session() as session:
        assert counted(session, azure, 200)[0] == 0
        clock.advance(2.0)
        assert counted(session, azure, 21)[0] == 1


def test_t7_who_comes_too_early_is_refused_and_told_anew(clock):
    with start(clock, throttle=True) as azure, azure.session() as session:
        refused, answers = counted(session, azure, 201)
        assert (refused, answers[-1].headers["Retry-After"]) == (1, "1")
        clock.advance(0.5)
        refused, answers = counted(session, azure, 1)
        assert (refused, answers[-1].headers["Retry-After"]) == (1, "1")
        clock.advance(0.5)
        assert counted(session, azure, 1)[0] == 0


def test_t2_each_principal_has_its_own(clock):
    with start(clock, throttle=True) as azure:
        with azure.session() as session:
            counted(session, azure, 201)
        azure.client_id = "another"
        with azure.session() as session:
            assert counted(session, azure, 1)[0] == 0


def test_an_operation_can_be_stuck(clock):
    with start(clock, lro=1.0) as azure, azure.session() as session:
        azure.seed(group_of(azure), {"location": "westeurope"})
        azure.faults.hang_operation("virtualNetworks/v")
        network = f"{group_of(azure)}/providers/Microsoft.Network/virtualNetworks"
        monitor = session.put(f"{network}/v", json=BODY).headers["Azure-AsyncOperation"]
        clock.advance(86400.0)
        assert session.get(monitor).json()["status"] == "InProgress"
