"""The project sends every recorded PUT for the same custom resource."""

from datafolder import data_folder
from goldenpairs import (
    RECORDINGS,
    SUBSCRIPTION,
    differences,
    read_pairs,
    recorded_answers,
    request_of,
)

from asoreconcile.azure.catalogue.manifests import Manifest
from asoreconcile.azure.catalogue.render import render
from asoreconcile.azure.catalogue.resolution import answers_of
from asoreconcile.azure.controllers.catalogue import builtin


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


def test_render_accepts_every_golden_manifest_and_sends_the_same():
    for pair in read_pairs(data_folder("golden")):
        (request,) = render(
            builtin(),
            [Manifest(pair.name, 1, pair.cr)],
            answers=answers_of(pair.resolve),
            subscription_id=SUBSCRIPTION,
            show_secrets=True,
        ).requests

        if not pair.keeps_children:
            assert differences(pair, request) == []


def test_a_parent_that_is_not_there_yet_keeps_no_children():
    pairs = [p for p in read_pairs(data_folder("golden")) if p.keeps_children]

    for pair in pairs:
        assert differences(pair, request_of(pair, None))
