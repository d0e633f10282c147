"""What is watched of a kind: namespaces and selectors, and which of them count."""

import pytest

from asoreconcile.base.objects import GroupKind
from asoreconcile.cache.scope import (
    ALL_OTHER_NAMESPACES,
    CacheOptions,
    Scope,
    Selector,
    watch_scopes,
)
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.kube.selection import Selection


def shown(found):
    return [
        (one.namespace, one.selection.label_selector, one.selection.field_selector)
        for one in found
    ]


@pytest.mark.parametrize(
    ("kind", "default", "label"),
    [
        pytest.param(Scope({"a": Selector("own")}, "kind"),
                     Scope({"a": Selector("general")}, "default"), "own",
                     id="CA-2-namespace-of-the-kind"),
        pytest.param(Scope({"a": Selector()}, "kind"),
                     Scope({"a": Selector("general")}, "default"), "kind", id="CA-2-kind"),
        pytest.param(Scope(), Scope({"a": Selector("general")}, "default"), "general",
                     id="CA-2-namespace-of-the-default"),
        pytest.param(Scope(), Scope({"a": Selector()}, "default"), "default",
                     id="CA-2-default"),
        pytest.param(Scope({"a": Selector("")}), Scope(None, "default"), "",
                     id="CA-2-none-said"),
    ],
)  # fmt: skip
def test_first_that_says_something_counts(kind, default, label):
    (found,) = watch_scopes(CONFIG_MAPS, kind, default=default)
    assert (found.namespace, found.selection.label_selector) == ("a", label)


def test_ca2_namespaces_of_a_kind_replace_those_of_the_default():
    found = watch_scopes(CONFIG_MAPS, Scope(["a", "b"]), default=Scope(["c"]))
    assert [one.namespace for one in found] == ["a", "b"]


def test_ca2_other_namespaces_leave_out_the_named_ones():
    scope = Scope(
        {"a": Selector("x=y"), ALL_OTHER_NAMESPACES: Selector(None, "metadata.name=n")}
    )
    own, others = watch_scopes(CONFIG_MAPS, scope)
    assert shown([own, others]) == [
        ("a", "x=y", ""),
        (None, "", "metadata.name=n,metadata.namespace!=a"),
    ]
    assert (own.namespace, own.others) == ("a", frozenset())
    assert (others.namespace, others.others) == (None, {"a"})


@pytest.mark.parametrize("sign", ["=", "=="])
def test_ca2_field_selector_for_a_namespace_becomes_a_path(sign):
    scope = Scope(field_selector=f"metadata.namespace{sign}a,metadata.name=n")
    (found,) = watch_scopes(CONFIG_MAPS, scope)
    assert shown([found]) == [("a", "", "metadata.name=n")]
    assert (found.namespace, found.others) == ("a", frozenset())


def test_ca3_cluster_scoped_kinds_have_no_namespaces():
    (found,) = watch_scopes(NAMESPACES, default=Scope(["a", "b"], "x=y"))
    assert shown([found]) == [(None, "x=y", "")]
    assert (found.namespace, found.others) == (None, frozenset())


def test_whole_cluster_is_one_watch():
    (found,) = watch_scopes(CONFIG_MAPS, metadata_only=True)
    assert shown([found]) == [(None, "", "")]
    assert found.selection.metadata_only


def test_no_namespaces_at_all_is_a_mistake():
    with pytest.raises(ValueError, match="no namespaces"):
        watch_scopes(CONFIG_MAPS, Scope([]))


@pytest.mark.parametrize("options", [CacheOptions, Scope])
def test_one_text_is_no_list_of_namespaces(options):
    """Each of its letters would be watched, and nothing else."""
    with pytest.raises(TypeError, match="namespaces is 'default': give a list"):
        options(namespaces="default")


@pytest.mark.parametrize("name", ["label_selector", "field_selector"])
def test_selectors_are_texts(name):
    for options in (
        CacheOptions,
        Scope,
        lambda **given: Selection(NAMESPACES, **given),
    ):
        with pytest.raises(TypeError, match=f"{name} is .*: write it as a text"):
            options(**{name: {"app": "mine"}})


def test_ca2_kinds_may_be_said_by_their_resources():
    """Under such a key nobody would look, and the whole kind would be cached."""
    scope = Scope(label_selector="app=mine")
    by_resource = CacheOptions(kinds={CONFIG_MAPS: scope})
    assert by_resource == CacheOptions(kinds={GroupKind("", "ConfigMap"): scope})


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"configmaps": Scope()}, "give GroupKind or ApiResource"),
        ({CONFIG_MAPS: "app=mine"}, "scope of ConfigMap is 'app=mine': give Scope"),
    ],
)
def test_what_names_no_kind_or_is_no_scope_is_refused(kinds, said):
    with pytest.raises(TypeError, match=said):
        CacheOptions(kinds=kinds)
