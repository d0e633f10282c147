"""Sets of other packages: real distributions on the import path, found for real."""

import sys

import pytest

from asoreconcile.azure.middleware.discovery import load_sets
from asoreconcile.azure.middleware.extension_set import ExtensionError

SAMPLE = """
from asoreconcile.azure.middleware.extension_set import ExtensionSet
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE
from asoreconcile.azure.middleware.requests import Block
from asoreconcile.base.objects import GroupKind

FREEZE = ExtensionSet("change-freeze")


@FREEZE.on(PRE_RECONCILE, GroupKind("sample.azure.com", "Thing"))
def not_now(req, call_next):
    return Block("changes are frozen")


def made():
    return FREEZE


def broken():
    raise RuntimeError("no settings")


INNERMOST = ExtensionSet("innermost", order=0)
SOMETHING_ELSE = {"not": "a set"}
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Installs a package `freeze_<n>` with entry points, as pip would lay it out."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(**entry_points):
        package = f"freeze_{len(made)}"
        made.append(package)
        (tmp_path / f"{package}.py").write_text(SAMPLE)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {package}\nVersion: 1.0\n")
        lines = "".join(
            f"{name} = {package}:{attribute}\n"
            for name, attribute in entry_points.items()
        )
        (info / "entry_points.txt").write_text(f"[asoreconcile.extensions]\n{lines}")
        return package

    yield make
    for package in made:
        sys.modules.pop(package, None)


@pytest.mark.parametrize("attribute", ["FREEZE", "made"], ids=["value", "function"])
def test_a_named_set_is_loaded(install, attribute):
    install(freeze=attribute)
    (loaded,) = load_sets(["freeze"])
    assert loaded.name == "change-freeze"


def test_a_set_that_is_not_named_is_not_even_imported(install):
    package = install(freeze="FREEZE")
    assert load_sets([]) == ()
    assert package not in sys.modules


def test_a_missing_set_stops_the_start_and_says_what_there_is(install):
    install(freeze="FREEZE")
    with pytest.raises(ExtensionError, match=r"'frost'.*installed: freeze"):
        load_sets(["frost"])


def test_two_packages_with_one_name_are_refused(install):
    install(freeze="FREEZE")
    install(freeze="FREEZE")
    with pytest.raises(ExtensionError, match="more than one package"):
        load_sets(["freeze"])


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("broken", "do not load: no settings"),
        ("missing", "do not load"),
        ("SOMETHING_ELSE", "no ExtensionSet but a dict"),
        ("INNERMOST", "orders up to 0 are for the built-in sets"),
    ],
)
def test_an_entry_point_that_leads_to_no_set_stops_the_start(
    install, attribute, message
):
    install(freeze=attribute)
    with pytest.raises(ExtensionError, match=message):
        load_sets(["freeze"])
