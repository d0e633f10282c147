"""Text of others is shown, and does not act."""

import io
import json
import logging
import sys
import unicodedata

import pytest

from asoreconcile.base.log import JsonFormatter, Logger, TextFormatter
from asoreconcile.base.printable import (
    printable,
    printable_json,
    printable_lines,
)

# Each does something to a terminal, or to the order or the number of the lines.
HOSTILE = [
    "a\nb",
    "a\rb",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\x7f\x08\x00",
    "\u202egnirts\u202c",
    "\u2066x\u2069",
    "a\u2028b\u2029c\x85d",
    "zero\u200bwidth\u2060\ufeff",
    "tag\U000e0041",
    "half\ud800",
]


def acts(text):
    return [c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"}]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_nothing_acts_and_nothing_is_lost(text):
    shown = printable(text)
    assert acts(shown) == []
    assert shown.encode().decode("unicode_escape", "strict") == text


def test_every_character_is_itself_or_an_escape():
    for code in range(sys.maxunicode + 1):
        shown = printable(chr(code))
        assert shown == chr(code) or shown.startswith("\\")
        assert not acts(shown)


@pytest.mark.parametrize(
    "text", ["", "plain", "Größe 5 µm", "日本語", "a b", "\\n", "👍"]
)
def test_letters_and_spaces_stay(text):
    assert printable(text) == text
    assert printable_json(json.dumps(text, ensure_ascii=False)) == json.dumps(
        text, ensure_ascii=False
    )


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_json_keeps_its_values(text):
    shown = printable_json(json.dumps([text], ensure_ascii=False))
    assert acts(shown) == []
    assert json.loads(shown) == [text]


def test_only_the_first_of_several_lines_is_at_the_margin():
    assert printable_lines("a\n\x1bb\nc") == "a\n  \\x1bb\n  c"


@pytest.fixture
def logged():
    """Write one record and return its text."""

    def write(formatter, text, *, fails=False):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter)
        logger = logging.getLogger("asoreconcile.tests.printable")
        logger.addHandler(handler)
        try:
            if fails:
                try:
                    raise ValueError(text)
                except ValueError:
                    Logger(logger.name).exception("Failed", name=text)
            else:
                Logger(logger.name).error("Failed", name=text)
        finally:
            logger.removeHandler(handler)
        return stream.getvalue()

    return write


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_log_record_is_one_line_whatever_it_holds(logged, text):
    for formatter in (TextFormatter(), JsonFormatter()):
        written = logged(formatter, text)
        assert written.endswith("\n")
        assert acts(written[:-1]) == []


def test_a_stack_of_another_s_text_pretends_to_be_no_record(logged):
    written = logged(TextFormatter(), "x\n12:00:00.000 ERROR  forged", fails=True)
    first, *rest = written.rstrip("\n").split("\n")
    assert "forged" in first
    assert all(line.startswith("  ") for line in rest)
    assert len(json.loads(logged(JsonFormatter(), "x\ny", fails=True))) > 1
