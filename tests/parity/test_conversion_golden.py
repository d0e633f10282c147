"""Recorded resources, by way of every other version of their kinds."""

import attrs
from datafolder import data_folder
from goldenpairs import differences, read_pairs, request_of

from asoreconcile.azure.catalogue.conversion import (
    authored_version,
    convert,
    stored_name,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import gvk_of


def test_every_golden_resource_comes_back_from_every_version_and_stored_form():
    lost, conversions = [], 0
    for pair in read_pairs(data_folder("golden")):
        kind, own = builtin().kind(gvk_of(pair.cr).group_kind), gvk_of(pair.cr).version
        for other in kind.versions:
            for name in (other, f"{other}storage"):
                there = convert(kind, pair.cr, name)
                conversions += 1
                if convert(kind, there, own) != pair.cr:
                    lost.append(f"{pair.name} by {name}")

    assert lost == []
    assert conversions > 3000


def test_a_resource_read_from_its_stored_form_gives_the_recorded_put():
    """With the api-version and tables of the version it was written in."""
    wrong = []
    for pair in read_pairs(data_folder("golden")):
        if pair.keeps_children:
            continue
        kind = builtin().kind(gvk_of(pair.cr).group_kind)
        stored = convert(kind, pair.cr, stored_name(kind))
        read = convert(kind, stored, authored_version(kind, stored))
        wrong += differences(pair, request_of(attrs.evolve(pair, cr=read), None))

    assert wrong == []
