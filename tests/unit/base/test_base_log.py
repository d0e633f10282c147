"""Records of the program's own loggers, and ours without our formatters."""

import io
import json
import logging

import pytest

from asoreconcile.base import log


@pytest.fixture
def configured():
    """Configure the log into a text, and put the loggers back."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()

    def configure(**options):
        log.configure(stream=stream, **options)
        return stream.getvalue

    yield configure
    root.handlers[:], level = before
    root.setLevel(level)


def test_the_program_s_own_lines_show_their_extra_and_the_object(configured):
    written = configured(json=False)
    with log.bound(namespace="default", name="shop"):
        logging.getLogger("shop").info("Paid %s", "all", extra={"colour": "blue"})
    assert written().endswith(
        "INFO    Paid all namespace=default name=shop colour=blue\n"
    )


def test_they_have_the_same_fields_in_json(configured):
    written = configured()
    with log.bound(name="shop"):
        logging.getLogger("shop").info("Paid", extra={"colour": "blue"})
    line = json.loads(written())
    assert (line["message"], line["name"], line["colour"]) == ("Paid", "shop", "blue")


@pytest.mark.parametrize("name", ["urllib3.connectionpool", "requests", "other"])
def test_libraries_are_as_quiet_as_before(configured, name):
    written = configured(level=logging.DEBUG, warnings_only=["other"])
    logging.getLogger(name).info("GET /secret")
    assert written() == ""


def test_a_handler_of_others_shows_the_fields(caplog):
    log.Logger("asoreconcile.shop").error("Reconcile failed", attempt=2, name="a\nb")
    (record,) = caplog.records
    assert record.getMessage() == r"Reconcile failed attempt=2 name=a\nb"
    assert record.msg == "Reconcile failed"
