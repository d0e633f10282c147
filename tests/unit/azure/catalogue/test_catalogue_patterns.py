"""Choosing kinds by pattern."""

import pytest

from asoreconcile.azure.catalogue.patterns import PatternError, match
from asoreconcile.azure.controllers.catalogue import builtin

KINDS = builtin().kinds()


def chosen(pattern):
    return [str(kind) for kind in match(pattern, KINDS).kinds]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("resources.azure.com/ResourceGroup", ["resources.azure.com/ResourceGroup"]),
        ("RESOURCES.azure.com/resourcegroup", ["resources.azure.com/ResourceGroup"]),
        ("resources*", ["resources.azure.com/ResourceGroup"]),
        ("*/vault;search*;", ["keyvault.azure.com/Vault", "search.azure.com/SearchService"]),
        ("resources.azure.com/ResourceGrou?", ["resources.azure.com/ResourceGroup"]),
        (["*/Vault", "*/ResourceGroup"], None),
        ("", []),
        (" ; ", []),
    ],
)  # fmt: skip
def test_globs(pattern, expected):
    if expected is None:
        expected = ["keyvault.azure.com/Vault", "resources.azure.com/ResourceGroup"]
    assert chosen(pattern) == expected


def test_star_chooses_everything_once():
    assert match("*;*", KINDS).kinds == KINDS


def test_a_dot_is_no_wildcard():
    assert chosen("resources-azure-com/*") == []


@pytest.mark.parametrize(
    ("pattern", "suggestion"),
    [
        ("resources.azure.com/ResorceGroup", "resources.azure.com/ResourceGroup"),
        ("netwrk.azure.com/*", "network.azure.com/*"),
        ("ResourceGrup", "resources.azure.com/ResourceGroup"),
        ("*/ResourceGrup", "resources.azure.com/ResourceGroup"),
    ],
)
def test_a_glob_without_a_hit_names_the_nearest(pattern, suggestion):
    (unmatched,) = match(f"{pattern};keyvault*", KINDS).unmatched

    assert unmatched.pattern == pattern
    assert suggestion in unmatched.suggestions
    assert suggestion in str(unmatched)


def test_all_globs_may_be_required_to_choose_something():
    match("keyvault*", KINDS).require_all()
    with pytest.raises(PatternError, match=r"'zzz'.*'yyy'"):
        match("zzz;keyvault*;yyy", KINDS).require_all()
