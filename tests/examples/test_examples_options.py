"""The runtime's page names every option of an application, with its default."""

import inspect
import re
from pathlib import Path

import attrs
import pytest

import asoreconcile
from asoreconcile import Application, ControllerBuilder

PAGE = Path(__file__).parents[2] / "asoreconcile/README.md"
ROW = re.compile(r"^\| `(\w+)\((\w+)=\)` \| `([^`]+)` \| (.*) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text())
OWNERS = {
    "Application": Application.__init__,
    "informer": Application.informer,
    "reconcile": Application.reconcile,
    "webhooks": Application.webhooks,
    "owns": ControllerBuilder.owns,
    "watches": ControllerBuilder.watches,
    **{
        name: getattr(asoreconcile, name).__init__
        for name in (
            "CacheOptions",
            "ClientOptions",
            "ControllerOptions",
            "LeaderElectionOptions",
            "LeaseTiming",
            "Scope",
            "WebhookLimits",
        )
    },
}


def defaults(owner):
    """The options of a callable by name, with their defaults."""
    return {
        name: one.default
        for name, one in inspect.signature(OWNERS[owner]).parameters.items()
        if one.default is not inspect.Parameter.empty
    }


@pytest.mark.parametrize("owner", OWNERS)
def test_each_option_has_a_row(owner):
    assert [option for o, option, *_ in ROWS if o == owner] == [*defaults(owner)]


def test_no_row_is_of_something_else():
    assert {owner for owner, *_ in ROWS} == set(OWNERS)


@pytest.mark.parametrize(
    ("owner", "option", "stated"),
    [row[:3] for row in ROWS],
    ids=[f"{owner}-{option}" for owner, option, *_ in ROWS],
)
def test_the_default_is_the_one_that_is_stated(owner, option, stated):
    names = {name: getattr(asoreconcile, name) for name in asoreconcile.__all__}  # type: ignore[attr-defined]
    default = defaults(owner)[option]
    if default is attrs.NOTHING:  # made anew by a factory
        default = getattr(getattr(asoreconcile, owner)(*required(owner)), option)
    assert default == eval(stated, names)


def required(owner):
    return ("a-name",) if owner == "LeaderElectionOptions" else ()
