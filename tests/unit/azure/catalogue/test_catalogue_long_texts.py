"""Texts of a spec that are longer than they are read."""

import pytest

from asoreconcile.azure.arm.ids import ArmIdError, parse, parse_stated
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.validation import long_texts, rule_problems
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupVersionKind

NETWORK = GroupVersionKind("network.azure.com", "v1api20240301", "VirtualNetwork")


def version() -> KindVersion:
    return builtin().version(NETWORK)


@pytest.mark.parametrize(
    ("spec", "path", "most"),
    [
        ({"azureName": "n" * 261}, "spec.azureName", 260),
        ({"location": "/a" * 60_000}, "spec.location", 128),
        ({"owner": {"name": "o" * 261}}, "spec.owner.name", 260),
        ({"owner": {"armId": "/s" * 1025}}, "spec.owner.armId", 2048),
        (
            {"subnets": [{}, {"reference": {"armId": "/s" * 1025}}]},
            "spec.subnets[1].reference.armId",
            2048,
        ),
        (
            {"password": {"name": "n" * 261, "key": "k"}},
            "spec.password.name",
            260,
        ),
        (
            {"plan": {"reference": {"group": "g", "kind": "k" * 261, "name": "n"}}},
            "spec.plan.reference.kind",
            260,
        ),
        (
            {"operatorSpec": {"secrets": {"key": {"name": "n", "key": "k" * 261}}}},
            "spec.operatorSpec.secrets.key.key",
            260,
        ),
    ],
)
def test_a_text_that_is_too_long_is_named_with_its_limit_and_not_quoted(
    spec, path, most
):
    obj = {"metadata": {"name": "n"}, "spec": spec}
    (problem,) = rule_problems(version(), obj)
    assert problem.is_long
    assert problem.path == path
    assert f"at most {most} are read" in problem.message
    assert len(str(problem)) < 200


def test_other_strings_have_no_bound():
    assert long_texts({"description": "x" * 100_000, "tags": {"a": "y" * 9999}}) == {}


def test_an_id_that_is_too_long_is_not_parsed():
    long = "/subscriptions/" + "s" * 2048
    for parser in (parse, parse_stated):
        with pytest.raises(ArmIdError, match="at most 2048 are read"):
            parser(long)
