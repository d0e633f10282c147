"""Every recorded PUT is what the project sends for the same custom resource."""

from datafolder import data_folder
from goldenpairs import (
    RECORDINGS,
    differences,
    read_pairs,
    recorded_answers,
    request_of,
)


def test_every_golden_pair_gives_the_recorded_put():
    pairs = list(read_pairs(data_folder("golden")))
    answers = recorded_answers(pairs, data_folder(RECORDINGS))
    assert len(pairs) >= 500
    assert len(answers) == sum(pair.keeps_children for pair in pairs)

    wrong = [
        f"{pair.name}: {text}"
        for pair in pairs
        for text in differences(pair, request_of(pair, answers.get(pair.name)))
    ]

    assert wrong == []


def test_a_parent_that_is_not_there_yet_keeps_no_children():
    pairs = [p for p in read_pairs(data_folder("golden")) if p.keeps_children]

    for pair in pairs:
        assert differences(pair, request_of(pair, None))
