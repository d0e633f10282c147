"""Which failed requests are sent again, and when."""

import pytest

from asoreconcile.kube.errors import TransportError, api_error
from asoreconcile.kube.retrying import MAX_RETRIES, PATIENCE_SECONDS, pause_seconds


def refused(status, retry_after=None):
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return api_error(status, headers, b"")


LOST = TransportError("reset", lost=True)
SILENT = TransportError("timed out")


@pytest.mark.parametrize(
    ("method", "failure", "retries", "pause"),
    [
        pytest.param("PUT", refused(429, 2), 0, 2.0, id="CL-6-busy-says-when"),
        pytest.param("PUT", refused(429), 0, None, id="CL-6-busy-says-nothing"),
        pytest.param("POST", refused(503, 1), 3, 1.0, id="CL-6-5xx-says-when"),
        pytest.param("GET", refused(500), 0, None, id="CL-6-5xx-says-nothing"),
        pytest.param("GET", refused(409, 1), 0, None, id="CL-6-conflict-never"),
        pytest.param("GET", refused(403, 1), 0, None, id="CL-6-forbidden-never"),
        pytest.param("GET", refused(429, -3), 0, 0.0, id="CL-6-never-negative"),
        pytest.param("GET", LOST, 0, 0.0, id="CL-6-lost-read-at-once"),
        pytest.param("GET", LOST, 1, 1.0, id="CL-6-lost-read-again-waits"),
        pytest.param("PUT", LOST, 0, None, id="CL-6-lost-write-may-have-happened"),
        pytest.param("PATCH", LOST, 0, None, id="CL-6-lost-patch"),
        pytest.param("GET", SILENT, 0, None, id="CL-6-silence-has-cost-enough"),
        pytest.param("GET", LOST, MAX_RETRIES, None, id="CL-6-ten-retries"),
        pytest.param("PUT", refused(429, 1), MAX_RETRIES, None, id="CL-6-ten-refusals"),
    ],
)
def test_pause(method, failure, retries, pause):
    found = pause_seconds(method, failure, retries=retries, waited_seconds=0.0)
    assert found == pause


@pytest.mark.parametrize(
    ("asked", "waited", "pause"),
    [(PATIENCE_SECONDS, 0.0, PATIENCE_SECONDS), (1, PATIENCE_SECONDS, None)],
)
def test_a_worker_is_held_up_no_longer_than_its_patience(asked, waited, pause):
    failure = refused(429, asked)
    assert pause_seconds("PUT", failure, retries=1, waited_seconds=waited) == pause
