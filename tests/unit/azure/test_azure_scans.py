"""Scans that take time in proportion to their text find what the plain pattern finds."""

import random
import re

import pytest

from asoreconcile.azure.arm.management_locks import _SENTENCE, _lock_in
from asoreconcile.azure.catalogue.element_paths import replace_elements
from asoreconcile.azure.catalogue.ignored_fields import _separated
from asoreconcile.azure.reconcile.model.never_shown import _steps
from asoreconcile.azure.reconcile.planning.advice import _authorization, _policy

_LOCK_ID = re.compile(
    r"(/[\w./()-]+?)/providers/microsoft\.authorization/locks/([\w.()-]*[\w()-])",
    re.IGNORECASE,
)
_AUTHORIZATION = re.compile(
    r"client '(?P<client>[^']*)'(?: with object id '(?P<id>[^']*)')?.*?"
    r"perform action '(?P<action>[^']*)'.*?scope '(?P<scope>[^']*)'",
    re.DOTALL,
)
_SENTENCES = re.compile(r"scope\(s\) are locked:((?:\s*,?\s*'/[^']+')+)", re.IGNORECASE)


def drawn(pieces, seed, count=400):
    """Texts of such pieces; the same ones for the same seed."""
    seeded = random.Random(seed)
    for _ in range(count):
        yield "".join(seeded.choices(pieces, k=seeded.randrange(14)))


def test_elements_of_paths():
    for path in drawn(["[", "]", "a", "/", "."], 1):
        assert replace_elements(path, "#") == re.sub(r"\[[^\]]*\]", "#", path)


def test_steps_of_paths():
    pattern = re.compile(r"([^/\[\]]+)|\[([^\]]*)\]")
    for path in drawn(["[", "]", "a", "/", "bc"], 2):
        assert _steps(path) == [one.groups() for one in pattern.finditer(path)]


def test_separators_of_lists():
    pattern = re.compile(r"[,\n](?![^\[]*\])")
    for text in drawn(["[", "]", "a", ",", "\n", "x=y"], 3):
        assert _separated(text) == pattern.split(text)


@pytest.mark.parametrize("marker", ["/providers/Microsoft.Authorization/locks/"])
def test_ids_of_locks(marker):
    pieces = [marker, marker.lower(), "/a", "b", " ", "/", "(", ".", "-", "ü", "'"]
    for text in drawn(pieces, 4, 1500):
        found = _LOCK_ID.search(text)
        assert _lock_in(text) == (found.groups() if found else None), text


def test_sentences_about_locks():
    pieces = [
        "scope(s) are locked:",
        "Scope(S) are locked:",
        "'/a'",
        ",",
        " ",
        "'",
        "/",
    ]
    for text in drawn(pieces, 5, 800):
        ours, theirs = _SENTENCE.search(text), _SENTENCES.search(text)
        assert (ours and ours[0]) == (theirs and theirs[0]), text


def test_names_in_refusals_of_access():
    pieces = ["client '", "' with object id '", "perform action '", "scope '", "x", "'"]
    for text in drawn(pieces, 6, 1500):
        found = _AUTHORIZATION.search(text)
        said = _authorization(text)
        if found is None:
            assert "that the message names" in said, text
            continue
        for part in found.groupdict().values():
            assert (part or "") in said, (text, said)


def test_names_of_policies():
    pattern = re.compile(r"\(policy: ([^)]*)\)")
    for text in drawn(["(policy: ", ")", "a", "("], 7):
        names = ", ".join(pattern.findall(text))
        assert f"policy {names}," in _policy(text) or not names
