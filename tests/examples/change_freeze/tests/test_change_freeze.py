"""How an author tests a set: the function alone, and what every set must keep to."""

from change_freeze import EXTENSIONS, hold_what_is_frozen

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.middleware.requests import Block, PreReconcile, Proceed
from asoreconcile.azure.testing.extensions import (
    check_extension_set,
    fails_if_called,
    fake_ctx,
    returns,
)

FROZEN = {"metadata": {"name": "a", "labels": {"frozen": "yes"}}}


def test_frozen_objects_wait():
    result = hold_what_is_frozen(PreReconcile(fake_ctx(), FROZEN), fails_if_called)
    assert isinstance(result, Block)


def test_others_go_on():
    obj = {"metadata": {"name": "a"}}
    request = PreReconcile(fake_ctx(), obj)
    assert hold_what_is_frozen(request, returns(Proceed())) == Proceed()


def test_the_set_is_well_made():
    kinds = [kind.group_kind for kind in builtin().kinds()]
    check_extension_set(EXTENSIONS, kinds=kinds, samples=[FROZEN])
