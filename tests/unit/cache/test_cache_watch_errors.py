"""What mends a feed, how long it pauses, and where it stands: decisions alone."""

import pytest

from asoreconcile.cache.resume_point import AT_HAND, NEWEST, ResumePoint
from asoreconcile.cache.watch_errors import (
    BehindError,
    Streaming,
    VeryShortWatchError,
    WatchBackoff,
    WatchRecovery,
    describe_error,
    instead_of_stream,
    recovery_of,
)
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    TooManyRequestsError,
    TransportError,
)
from asoreconcile.kube.resources import ApiResource

FUTURE = ApiError(
    "Too large resource version",
    status=504,
    details={"causes": [{"reason": "ResourceVersionTooLarge"}]},
)
BROKEN = TransportError("reset")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(BROKEN, WatchRecovery.RESUME, id="RF-7-broken"),
        pytest.param(
            TooManyRequestsError("busy", status=429),
            WatchRecovery.RESUME,
            id="RF-7-busy",
        ),
        pytest.param(ExpiredError("old", status=410), WatchRecovery.NEWEST, id="RF-2-old"),
        pytest.param(FUTURE, WatchRecovery.NEWEST, id="RF-2-future"),
        # A piece of an event may be missing: what it said was missed.
        pytest.param(DecodeError("half"), WatchRecovery.RELIST, id="RF-9-garbled"),
        pytest.param(ForbiddenError("no", status=403), WatchRecovery.RELIST, id="RF-7-other"),
        pytest.param(ApiError("broken", status=500), WatchRecovery.RELIST, id="RF-7-500"),
        pytest.param(BehindError("behind"), WatchRecovery.RELIST, id="RF-2-behind"),
        pytest.param(VeryShortWatchError("short"), WatchRecovery.RELIST, id="RF-8-short"),
        pytest.param(ZeroDivisionError(), WatchRecovery.RELIST, id="RF-1-defect"),
    ],
)  # fmt: skip
def test_each_failure_has_its_remedy(error, expected):
    assert recovery_of(error) is expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(NotFoundError("none", status=404), Streaming.ALSO, id="RF-11-404"),
        pytest.param(
            TooManyRequestsError("busy", status=429), Streaming.ALSO, id="RF-11-429"
        ),
        pytest.param(ExpiredError("old", status=410), Streaming.ALSO, id="RF-11-410"),
        pytest.param(FUTURE, Streaming.ALSO, id="RF-11-future"),
        pytest.param(ApiError("no", status=400), Streaming.ALWAYS, id="RF-11-400"),
        pytest.param(ApiError("no", status=422), Streaming.ALWAYS, id="RF-11-422"),
        pytest.param(ForbiddenError("no", status=403), Streaming.NOW, id="RF-11-403"),
        pytest.param(ApiError("broken", status=500), Streaming.NOW, id="RF-11-500"),
    ],
)
def test_each_refusal_of_a_stream_says_whether_a_list_does_better(error, expected):
    assert instead_of_stream(error) is expected


def test_a_kind_that_is_not_served_is_explained():
    widgets = ApiResource("demo.example.com", "v1", "widgets", "Widget")
    assert describe_error(NotFoundError("404 page not found", status=404), widgets) == (
        "the server does not serve widgets of demo.example.com/v1: "
        "its CRD is not there, or not yet"
    )
    assert describe_error(ForbiddenError("no list", status=403), widgets) == "no list"


def test_rf1_pauses_double_until_there_was_calm_for_two_minutes():
    pauses = WatchBackoff(lambda low, _high: low, now=0.0)
    assert pauses.seconds(BROKEN, now=0.0) == 0.8
    pauses.wait_ended(now=1.0)
    assert pauses.seconds(BROKEN, now=121.0) == 1.6
    pauses.wait_ended(now=130.0)
    assert pauses.seconds(BROKEN, now=250.1) == 0.8


def test_rf1_a_pause_is_no_shorter_than_the_server_asks_for():
    pauses = WatchBackoff(lambda low, _high: low, now=0.0)
    asked = TooManyRequestsError("busy", status=429, retry_after_seconds=7.0)
    assert pauses.seconds(asked, now=0.0) == 7.0
    assert pauses.seconds(BROKEN, now=0.0) == 1.6


def test_rf10_a_cursor_goes_forward_only():
    cursor = ResumePoint()
    cursor.begin("5")
    assert cursor.advance("8")
    assert not cursor.advance("7")
    assert not cursor.advance("")
    assert (cursor.version, cursor.no_older_than) == ("8", "8")


def test_rf2_a_state_is_no_older_than_the_last_event_unless_that_is_unknown():
    cursor = ResumePoint()
    assert (cursor.no_older_than, cursor.stream_from) == (AT_HAND, "")
    cursor.begin("5")
    assert (cursor.no_older_than, cursor.stream_from) == ("5", "5")
    assert cursor.forget()
    assert (cursor.no_older_than, cursor.stream_from) == (NEWEST, "")
    assert not cursor.forget()


def test_rf2_a_server_that_is_older_now_takes_a_cursor_back():
    """As after a restore from a backup: the whole state says where it is."""
    cursor = ResumePoint()
    cursor.begin("9")
    cursor.begin("6")
    assert cursor.advance("7")
