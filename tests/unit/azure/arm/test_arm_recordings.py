"""Every recorded write of real Azure, led through the state machine.

The first answer and then each recorded poll of the URL that the machine asks for; what
comes out is compared with what the recording says became of the write.
"""

import json
import lzma
import tarfile
from collections import Counter
from urllib.parse import parse_qsl, unquote, urlsplit

import orjson
import pytest
from datafolder import data_folder

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.endpoint import Endpoint
from asoreconcile.azure.arm.errors import is_another, parse_fault
from asoreconcile.azure.arm.ids import parse
from asoreconcile.azure.arm.lro_start import parse_initial_response
from asoreconcile.azure.arm.metrics import resource_type
from asoreconcile.azure.arm.outcomes import Failed, OperationDone, Pending, ReadResource
from asoreconcile.azure.arm.polling import polled
from asoreconcile.azure.arm.provisioning_state import infer_from_resource
from asoreconcile.azure.arm.response import ArmResponse
from asoreconcile.azure.arm.tokens import (
    RESOURCE,
    Token,
    TokenShape,
    dumps,
    is_near,
    loads,
)

ENDPOINT = Endpoint("https://management.azure.com")
# What each recorded outcome may look like to us.
AGREES = {
    "succeeded": {OperationDone},
    "failed": {Failed},
    "refused": {Failed},
    "open": {Pending},
    "gone": {OperationDone},
    # How a deletion ended is not in the timelines; some recordings stop before.
    "accepted": {OperationDone, Pending, Failed},
}
# Where the timelines' reading of a recording differs from ours, and why ours stands.
DIFFERS = {
    # The status document ends in Failed; a later PUT of the same body succeeded.
    ("Test_Cache_Redis_20241101_CRUD", 23): Failed,
    # 202 with a monitor that the recorder never read, as the body said Succeeded.
    ("Test_CDN_Profile_AFD_CRUD", 63): Pending,
}


def answer_of(exchange):
    headers = {}
    for name, value in exchange["headers"].items():
        headers[name.lower()] = value if isinstance(value, str) else value[-1]
    body = exchange["body"]
    if body is None:
        content = b""
    else:
        content = body.encode() if isinstance(body, str) else orjson.dumps(body)
    return ArmResponse(exchange["status"], headers, content)


def cassettes():
    path = data_folder("recordings-dev.tar.xz")
    with tarfile.open(path, "r:xz") as archive:
        for member in archive:
            if member.isfile():
                yield json.load(archive.extractfile(member))


def writes_by_name():
    with lzma.open(data_folder("timelines-dev.jsonl.xz"), "rt") as lines:
        return {line["name"]: line["writes"] for line in map(json.loads, lines)}


def follow(exchanges, index):
    """The last outcome that the recording allows, and how many polls it took."""
    first = exchanges[index]
    outcome = parse_initial_response(
        answer_of(first),
        method=first["method"],
        url=first["url"],
        endpoint=ENDPOINT,
    )
    polls = 0
    for later in exchanges[index + 1 :]:
        if isinstance(outcome, Pending):
            token = loads(dumps(outcome.token))
            if later["method"] == "GET" and monitor(later["url"]) == monitor(token.url):
                polls += 1
                outcome = polled(
                    token,
                    answer_of(later),
                    endpoint=ENDPOINT,
                    progress=outcome.progress,
                )
        elif isinstance(outcome, ReadResource):
            if later["method"] == "GET" and later["url"] == first["url"]:
                outcome = infer_from_resource(
                    answer_of(later), url=first["url"], deleting=outcome.deleting
                )
        else:
            break
        if is_next_write(later, first):
            break
    return outcome, polls


def monitor(url):
    """A monitor URL without its signature: ASO polled the first URL for ever."""
    parts = urlsplit(url)
    members = [pair for pair in parse_qsl(parts.query) if pair[0] not in "tcsh"]
    return parts.path.lower(), members


def is_next_write(later, first):
    return (
        later["method"] == first["method"]
        and later["url"].lower() == first["url"].lower()
    )


@pytest.fixture(scope="module")
def followed():
    writes = writes_by_name()
    seen = []
    for cassette in cassettes():
        for write in writes[cassette["name"]]:
            if write["method"] in ("PUT", "DELETE"):
                outcome, polls = follow(cassette["exchanges"], write["i"])
                seen.append((cassette["name"], write, outcome, polls))
    return seen


def test_recorded_writes_end_as_the_recordings_say(followed):
    wrong = [
        (name, write["i"], write["method"], write["outcome"], outcome)
        for name, write, outcome, _ in followed
        if type(outcome)
        not in (
            {DIFFERS[name, write["i"]]}
            if (name, write["i"]) in DIFFERS
            else AGREES[write["outcome"]]
        )
    ]
    assert len(followed) > 3000
    assert not wrong


def test_recorded_deletions_end_well_except_for_known_failures(followed):
    ends = Counter(
        type(outcome).__name__
        for _, write, outcome, _ in followed
        if write["outcome"] == "accepted"
    )
    assert ends == {"OperationDone": 577, "Failed": 3, "Pending": 6}


def test_recorded_monitors_are_polled_where_the_recorder_polled_them(followed):
    """Had we asked for another URL than ASO did, the recording had no answer for us."""
    unpolled = [
        (name, write["i"])
        for name, write, outcome, polls in followed
        if isinstance(outcome, Pending) and not polls and write["polls"]
    ]
    assert not unpolled


def test_l14_no_recorded_id_is_taken_for_that_of_another_resource():
    seen = 0
    for cassette in cassettes():
        for exchange in cassette["exchanges"]:
            body, is_write = exchange["body"], exchange["method"] == "PUT"
            if exchange["status"] >= 300 or not isinstance(body, dict):
                continue
            if isinstance(body.get("id"), str) and (
                is_write or exchange["method"] == "GET"
            ):
                seen += 1
                assert not is_another(body["id"], exchange["url"])
    assert seen > 5000


def test_recorded_monitors_are_near_their_resources():
    """Else no operation that ASO began would go on."""
    seen = 0
    for cassette in cassettes():
        for exchange in cassette["exchanges"]:
            headers = exchange["headers"]
            for name in ("Azure-AsyncOperation", "Location"):
                url = headers.get(name)
                if exchange["method"] != "GET" and isinstance(url, str):
                    seen += 1
                    token = Token(TokenShape.LOCATION, RESOURCE, url, "InProgress")
                    assert is_near(token, unquote(urlsplit(exchange["url"]).path))
    assert seen > 2000


def test_recorded_status_reads_that_broke_keep_the_token():
    """D3, L15: the recorded 500 and 503 pages on status documents end nothing."""
    pages = kept = 0
    for cassette in cassettes():
        exchanges = cassette["exchanges"]
        monitors = {
            exchange["headers"].get("Azure-AsyncOperation") for exchange in exchanges
        }
        for exchange in exchanges:
            if exchange["status"] >= 500 and exchange["url"] in monitors:
                pages += 1
                token = Token(TokenShape.ASYNC, RESOURCE, exchange["url"], "InProgress")
                outcome = polled(token, answer_of(exchange), endpoint=ENDPOINT)
                kept += isinstance(outcome, Pending) and outcome.token == token
    assert pages == kept > 0


def test_i1_recorded_ids_parse_to_the_types_that_were_read_from_them():
    seen = 0
    for writes in writes_by_name().values():
        for write in writes:
            if write["arm_type"]:
                seen += 1
                assert parse(write["id"]).type.lower() == write["arm_type"].lower()
    assert seen > 3000


def test_e1_e2_every_recorded_error_that_states_a_code_is_read():
    codes = Counter()
    for cassette in cassettes():
        for exchange in cassette["exchanges"]:
            if exchange["status"] >= 400 and ".azure.com" in exchange["url"]:
                error = parse_fault(answer_of(exchange))
                text = json.dumps(exchange["body"]).lower()
                assert error.status == exchange["status"]
                assert error.message
                if '"code": "' in text:
                    assert error.code != "UnknownError", exchange["body"]
                codes[error.code] += 1
    assert codes["ResourceGroupNotFound"] > 400
    assert codes["RetryableError"] == 19
    assert codes["UnknownError"] < 20


def test_every_recorded_request_has_a_type_for_the_metrics():
    without = {
        exchange["url"]
        for cassette in cassettes()
        for exchange in cassette["exchanges"]
        if exchange["url"].startswith(ENDPOINT.url)
        and not resource_type(urlsplit(exchange["url"]).path)
    }
    assert not without


def test_l19_recorded_monitors_survive_the_annotation():
    for cassette in cassettes():
        for exchange in cassette["exchanges"]:
            url = exchange["headers"].get("Azure-AsyncOperation")
            if url:
                token = Token(TokenShape.ASYNC, RESOURCE, url, "InProgress")
                assert loads(dumps(token)).url == url
                assert ENDPOINT.serves(url)


def test_v3_every_recorded_404_of_a_resource_says_so():
    """Azure answered these for resources that were deleted, or not made yet."""
    codes = set()
    for cassette in cassettes():
        for exchange in cassette["exchanges"]:
            method, url = exchange["method"], exchange["url"]
            if exchange["status"] == 404 and method in {"GET", "DELETE"}:
                fault = parse_fault(answer_of(exchange), method=method, url=url)
                assert fault.absence is Absence.CERTAIN, (fault.code, url)
                codes.add(fault.code)
    assert len(codes) > 5
