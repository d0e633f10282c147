"""The embedded server refuses the CRDs that Kubernetes refuses, and no other.

apiextensions' own validation judges the same CRDs, made at random from a seed, and Go's
regular expressions the same patterns. `hack/go-program crdvalidation` builds the program that asks
them; the tests are skipped if it is not there.
"""

import copy
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import goprograms
import pytest
from crdsamples import ATOMS, PATTERNS, TEXTS, Maker

from asoreconcile.resources.crds import patterns
from asoreconcile.testing.kube.crds.definitions import admit_crd
from asoreconcile.testing.kube.wire.status import StatusError

Json = dict[str, Any]
Ask = Callable[[list[Json]], Iterator[Json]]
# `hack/ci long` tries them all.
MANY = "2500" if os.environ.get("ASORECONCILE_LONG") else "500"
CRDS = int(os.environ.get("ASORECONCILE_CONTRACT_CRDS", MANY))
SEED = int(os.environ.get("ASORECONCILE_CONTRACT_SEED", "1"))
# A difference in the README of this folder: literals with items of several types.
UNLIKE = ("[self.text, 1]",)


@pytest.fixture(scope="module")
def ask() -> Ask:
    """A function that passes questions to the program, all in one process."""
    program = goprograms.built("crdvalidation")

    def answers(questions: list[Json]) -> Iterator[Json]:
        asked = "\n".join(map(json.dumps, questions))
        done = subprocess.run(
            [program],
            input=asked,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return map(json.loads, done.stdout.splitlines())

    return answers


def refusal(crd: Json) -> str:
    """Return the refusal of a CRD by the embedded server; "" if it takes it."""
    try:
        admit_crd(copy.deepcopy(crd), None)
    except StatusError as error:
        return str(error)
    return ""


@pytest.mark.timeout(600)
def test_crds_are_refused_as_apiextensions_refuses_them(ask: Ask):
    seed = SEED
    maker = Maker(seed)
    crds = [maker.crd() for _ in range(CRDS)]
    wrong, refused = [], 0
    for crd, answer in zip(crds, ask([{"crd": crd} for crd in crds]), strict=True):
        theirs = answer.get("error") or answer.get("causes")
        refused += bool(theirs)
        ours = refusal(crd)
        unlike = any(name in json.dumps(crd) for name in UNLIKE)
        if bool(ours) is not bool(theirs) and not unlike:
            wrong.append((crd, ours, theirs))
    assert wrong == [], f"seed {seed}: {len(wrong)} of {CRDS}"
    assert CRDS / 5 < refused < CRDS * 9 / 10  # both kinds were tried


def test_patterns_are_read_as_go_reads_them(ask: Ask):
    seed = SEED
    chance = random.Random(seed)
    mixed = (
        "".join(chance.choices(ATOMS, k=chance.randint(1, 5))) for _ in range(5000)
    )
    tried = [*PATTERNS, *mixed]
    answers = ask([{"pattern": one, "texts": TEXTS} for one in tried])
    for pattern, answer in zip(tried, answers, strict=True):
        try:
            ours = [patterns.matches(pattern, text) for text in TEXTS]
        except patterns.SchemaPatternError:
            ours = None
        assert ours == answer.get("matches"), f"seed {seed}: {pattern!r}"
