"""Docstrings and comments are plain: counts of unclear habits may only fall.

`hack/prose FOLDER` shows the places, and `hack/prose --update` lowers the counts.
"""

import prose
import pytest


def test_a_folder_that_has_more_is_named_with_the_places():
    places = {"a": [("anew", "a/b.py:7: begins anew"), ("stands", "a/b.py:9: stands")]}
    assert [*prose.complaints(places, {"a": {"anew": 1, "stands": 1}})] == []
    told = [*prose.complaints(places, {"a": {"stands": 1}})]
    assert told == [
        "a: anew: 1, at most 0: `again`, or `a new ...`",
        "    a/b.py:7: begins anew",
    ]


def habits_in(text, *, is_comment=False):
    source = f"# {text}\n" if is_comment else f'"""{text}"""\n'
    return sorted({name for name, _, _ in prose.found(source)})


UNCLEAR = [
    ("A small server for who needs one.", ["who or what as a noun"]),
    ("What the server was asked.", ["who or what as a noun"]),
    ("The lock is held: what a caller may rely on.", ["who or what as a noun"]),
    ("A value that is no number.", ["is no, is none"]),
    ("Raises ValueError for a text that is none.", ["is no, is none"]),
    ("Return it.\n\npriority: of the look.", ["parameter without a noun"]),
    ("Return it. body, answer: as they were sent.", ["parameter without a noun"]),
    ("Return the key, which nobody else has.", ["nobody, somebody"]),
    ("Return the name, or None where there is none.", ["where for if"]),
    ("Return the name. Where it is empty, make one.", ["where for if"]),
    ("Begin anew.", ["anew"]),
    ("Write the file beside the other.", ["beside"]),
    ("The lease stands.", ["stands"]),
]
CLEAR = [
    "A small server for clients that need one.",
    "Return the requests that the server got.",
    "Return what the caller passed.",
    "Raises ValueError if the text is not a number. There is no default.",
    "Return it.\n\npriority: queue priority of the request.\nbody: body as it was sent.",
    "Return the folder where the files are. The letter k stands for 1000.",
    "The lease is no longer valid. The name is None if it has no lease.",
    '`what` is a word; "nobody" is a name.',
]


@pytest.mark.parametrize(("text", "habits"), UNCLEAR)
def test_each_habit_is_found(text, habits):
    named = [name for name in habits_in(text) if name != prose.FRAGMENT]
    assert named == habits
    if "\n" not in text:
        assert habits_in(text, is_comment=True) == habits


@pytest.mark.parametrize("text", CLEAR)
def test_plain_sentences_have_no_habit(text):
    assert habits_in(text) == []


def test_a_docstring_does_not_begin_with_a_fragment():
    for text in (
        "Whether it runs.",
        "Of a connection alone.",
        "As the server does it.",
    ):
        assert prose.FRAGMENT in habits_in(text)
    assert habits_in("Return whether the server runs.") == []


def test_comments_in_a_row_are_read_as_one_and_code_is_not_read():
    source = "x = 1  # noqa: anew\n# begins\n# anew\nnobody = 'beside'  # a name\n"
    assert [(name, line) for name, line, _ in prose.found(source)] == [("anew", 2)]


def test_the_kept_counts_are_those_of_folders_that_are_there():
    assert set(prose.kept()) <= {folder for folder, _ in prose.modules()}
