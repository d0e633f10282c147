"""Retry-After in all its forms, and our own delays."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asoreconcile.azure.arm.delays import (
    next_poll_delay,
    retry_after_seconds,
    stretched,
)

NOW = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("15", 15, id="L17-seconds"),
        pytest.param(" 15 ", 15, id="L17-blanks"),
        pytest.param("1.5", 1.5, id="L17-fraction"),
        pytest.param("0", 0, id="L17-zero"),
        pytest.param("-5", None, id="L17-negative"),
        pytest.param("soon", None, id="L17-garbage"),
        pytest.param("nan", None, id="L17-nan"),
        pytest.param("inf", None, id="L17-infinite"),
        pytest.param("", None, id="L17-empty"),
        pytest.param("Wed, 21 Oct 2026 07:29:00 GMT", 60, id="L17-date"),
        pytest.param("Wed, 21 Oct 2020 07:28:00 GMT", 0, id="L17-past"),
        pytest.param("1e9", 3600, id="L17-another-century"),
        pytest.param("Fri, 31 Dec 9999 23:59:59 GMT", 3600, id="L17-the-last-date"),
        pytest.param("Wed, 99 Oct 2026 07:28:00 GMT", None, id="L17-broken-date"),
    ],
)
def test_l17_retry_after_is_read_in_every_form(value, seconds):
    assert retry_after_seconds({"retry-after": value}, now=NOW) == seconds


def test_l17_milliseconds_win():
    headers = {"retry-after": "9", "x-ms-retry-after-ms": "250"}
    assert retry_after_seconds(headers) == 0.25


@pytest.mark.parametrize(
    ("polls", "seconds"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 30), (900, 30)]
)
def test_l17_without_retry_after_the_delay_doubles_to_thirty(polls, seconds):
    assert next_poll_delay({}, polls) == seconds
    assert next_poll_delay({"retry-after": "soon"}, polls) == seconds


@given(st.text(max_size=30), st.integers(-5, 10_000))
def test_l17_any_header_gives_one_to_six_hundred_seconds(value, polls):
    assert 1 <= next_poll_delay({"retry-after": value}, polls, now=NOW) <= 600


def test_t9_polls_stretch_with_the_number_of_open_operations():
    assert stretched(15, open_operations=10, reads_left=0) == 15
    assert stretched(1, open_operations=500, reads_left=0) == 40


@pytest.mark.parametrize(
    ("left", "seconds"),
    [(None, 1), (0, 40), (100, 40), (225, 20), (600, 8), (3750, 1.32), (16_500, 1)],
)
def test_t9_polls_stretch_only_as_far_as_reads_are_short(left, seconds):
    assert stretched(1, open_operations=500, reads_left=left) == pytest.approx(
        seconds, rel=0.01
    )


@pytest.mark.parametrize(
    ("left", "reads_to_end", "is_first", "seconds"),
    [
        # 200 operations and 25 reads for others, less what is left, have to refill.
        (112, 1, True, 113 / 23.75),
        (112, 1, False, 113 / 18.75),
        (200, 1, True, 25 / 23.75),
        (225, 1, True, 1),
        (225, 2, True, 200 / 25),  # by what is left it is less than 8.4 s
        (400, 2, True, 25 / 23.75),
        (112, None, True, 200 / 13.7),
        (None, 1, False, 1),
    ],
)
def test_t9_polls_wait_no_longer_than_their_reads_need_to_refill(
    left, reads_to_end, is_first, seconds
):
    wait = stretched(
        1,
        open_operations=200,
        reads_left=left,
        reads_to_end=reads_to_end,
        is_first=is_first,
    )
    assert wait == pytest.approx(seconds)


def test_t9_what_azure_asked_for_is_never_cut_short():
    wait = stretched(
        30, open_operations=1, reads_left=250, reads_to_end=1, is_first=True
    )
    assert wait == 30
