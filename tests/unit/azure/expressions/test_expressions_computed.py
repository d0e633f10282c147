"""An object's expressions as a whole: what is wrong, what is needed, what comes out."""

import pytest

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.expressions.api import Checked, ExpressionLimitError, shared
from asoreconcile.azure.reconcile.exports.export_expressions import (
    MAX_EXPRESSIONS,
    ExportExpressionError,
    ExportExpressions,
)
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.export_targets import (
    CONFIG_MAP_EXPRESSIONS,
    SECRET_EXPRESSIONS,
    expression_targets,
)
from asoreconcile.base.objects import GroupVersionKind

VERSION = builtin().version(
    GroupVersionKind("eventhub.azure.com", "v1api20240101", "Namespace")
)


def into(name, value, key=None, **more):
    return {"name": name, "value": value, **({"key": key} if key else {}), **more}


def namespace(secrets=(), config_maps=()):
    return {
        "metadata": {"name": "ns"},
        "spec": {
            "location": "weu",
            "tags": {"a": "1", "b": "2"},
            "operatorSpec": {
                SECRET_EXPRESSIONS: list(secrets),
                CONFIG_MAP_EXPRESSIONS: list(config_maps),
            },
        },
    }


def computed(secrets=(), config_maps=()):
    return ExportExpressions(shared(), VERSION, namespace(secrets, config_maps))


def test_an_object_without_expressions_asks_nobody():
    class Nobody:
        """Any use of it fails the test."""

    nothing = ExportExpressions(Nobody(), VERSION, {"spec": {"operatorSpec": {}}})
    assert nothing.problems() == []
    assert nothing.secret_names() == frozenset()
    assert nothing.secrets({}) == nothing.config_maps() == []


def test_b10_r9_6_secrets_are_needed_by_labels_and_annotations_too():
    found = computed(
        [
            into("a", "secret.primaryKey", "k", annotations={"n": "secret.other"}),
            into("b", "{'x': secret.?secondaryKey.orValue('-')}"),
        ]
    ).secret_names()
    assert found == {"primaryKey", "other", "secondaryKey"}


def test_every_export_of_a_map_carries_labels_and_annotations():
    exports = computed(
        config_maps=[
            into(
                "c",
                "self.spec.tags",
                labels={"at": "self.spec.location"},
                annotations={"n": "'the ' + self.metadata.name"},
            )
        ]
    ).config_maps()
    assert {(e.name, e.key, e.value) for e in exports} == {
        ("c", "a", "1"),
        ("c", "b", "2"),
    }
    for one in exports:
        assert dict(one.labels) == {"at": "weu"}
        assert dict(one.annotations) == {"n": "the ns"}


def test_an_expression_sees_only_the_secrets_it_names():
    exports = computed(
        [into("s", "secret.a", "a"), into("s", "string(has(secret.b))", "b")]
    ).secrets({"a": "A", "c": "C"})
    assert [(e.key, e.value) for e in exports] == [("a", "A"), ("b", "false")]
    assert "A" not in repr(exports).replace("Annotations", "")


def test_problems_come_with_their_places_all_at_once():
    found = computed(
        [into("s", "7", "k"), into("s", "'x'"), into("s", "self.spec.tags", "k")],
        [
            into("c", "secret.map(k, secret[k])", "k"),
            into("c", "'x'", "k", labels={"l": "[]"}),
            into("c", "'x'", "k", annotations={"a": "self.spec.tags"}),
        ],
    ).problems()
    assert [one.path.removeprefix("spec.operatorSpec.") for one in found] == [
        "secretExpressions[0].value",
        "secretExpressions[1].key",
        "secretExpressions[2].key",
        "configMapExpressions[0].value",
        "configMapExpressions[1].labels[l]",
        "configMapExpressions[2].annotations[a]",
    ]


def test_secrets_are_named_one_by_one_where_azure_is_asked_for_them():
    text = "secret.map(k, secret[k])[0]"
    (problem,) = computed([into("s", text, "k")]).problems()
    assert problem.path.endswith("secretExpressions[0].value")
    assert "write secret.<name>" in problem.message
    assert computed(config_maps=[into("c", text, "k")]).problems() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("secret.?a.orValue('none')", "none"),
        ("string(has(secret.a))", "false"),
        ("string(size(secret))", "0"),
        ("secret.map(k, secret[k]).join(',') + '-'", "-"),
    ],
)
def test_an_expression_of_a_config_map_sees_no_secret_at_all(value, expected):
    found = computed([into("s", "secret.a", "k")], [into("c", value, "k")])
    assert found.problems() == []
    assert [one.value for one in found.config_maps()] == [expected]


def test_a_secret_in_a_config_map_is_an_error_that_says_what_to_do_instead():
    found = computed(config_maps=[into("c", "secret.a", "k")])
    assert found.problems() == []
    with pytest.raises(
        ExportExpressionError, match="no secrets: use secretExpressions"
    ):
        found.config_maps()


def exported(version, obj, value):
    """What one expression gives on an object."""
    given = obj["spec"].get("operatorSpec") or {}
    entries = {CONFIG_MAP_EXPRESSIONS: [into("c", value, "k")]}
    whole = {**obj["spec"], "operatorSpec": {**given, **entries}}
    (one,) = ExportExpressions(shared(), version, {**obj, "spec": whole}).config_maps()
    return one.value


@pytest.mark.parametrize("annotations", [{}, {"x": "y"}])
@pytest.mark.parametrize("azure_name", [None, "", "stated"])
def test_the_azure_name_is_seen_whether_or_not_somebody_wrote_it(
    annotations, azure_name
):
    """ASO's webhook writes it; ours need not be there."""
    obj = namespace()
    obj["metadata"]["annotations"] = annotations
    if azure_name is not None:
        obj["spec"]["azureName"] = azure_name
    assert exported(VERSION, obj, "self.spec.azureName") == (azure_name or "ns")
    assert obj["spec"].get("azureName") == azure_name


@pytest.mark.parametrize("version", ["v1api20220401", "v20220401"])
@pytest.mark.parametrize("convention", ["stable", "random"])
def test_a_name_that_was_made_up_is_the_one_that_was_claimed(version, convention):
    claimed = "00000000-1111-2222-3333-444444444444"
    one = GroupVersionKind("authorization.azure.com", version, "RoleAssignment")
    obj = {
        "metadata": {
            "name": "it",
            "annotations": {RESOURCE_ID: f"/s/providers/R/roleAssignments/{claimed}"},
            "namespace": "default",
        },
        "spec": {
            "owner": {"name": "rg"},
            "operatorSpec": {"namingConvention": convention},
        },
    }
    assert exported(builtin().version(one), obj, "self.spec.azureName") == claimed


def test_an_identity_has_a_reference_if_only_an_empty_one():
    named = {"reference": {"armId": "/a"}}
    obj = namespace()
    obj["spec"]["identity"] = {"userAssignedIdentities": [{}, named]}
    items = "self.spec.identity.userAssignedIdentities"
    text = f"{items}.map(i, string(has(i.reference)) + i.reference.armId).join(',')"
    assert exported(VERSION, obj, text) == "true,true/a"
    assert obj["spec"]["identity"]["userAssignedIdentities"] == [{}, named]


def test_an_expression_is_given_only_the_secrets_that_it_names():
    given = {}

    class Spying:
        def check(self, version, text, *, namespace):
            return shared().check(version, text, namespace=namespace)

        def evaluate(self, version, text, *, obj, secrets):
            given[text] = dict(secrets)
            return "x"

    listed = [into("s", "secret.a", "k"), into("s", "self.spec.location", "l")]
    ExportExpressions(Spying(), VERSION, namespace(listed)).secrets(
        {"a": "1", "b": "2"}
    )
    assert given == {"secret.a": {"a": "1"}, "self.spec.location": {}}


def test_failures_of_several_expressions_are_told_together():
    failing = computed(
        config_maps=[
            into("c", "self.spec.tags.none", "k"),
            into("c", "self.status.id", "l"),
        ]
    )
    with pytest.raises(ExportExpressionError) as caught:
        failing.config_maps()
    assert [one.path[-8:-6] for one in caught.value.problems] == ["0]", "1]"]


def test_the_number_of_expressions_is_bounded():
    entries = [into("c", "'x'", f"k{n}") for n in range(MAX_EXPRESSIONS + 1)]
    assert computed(config_maps=entries[1:]).problems() == []
    (problem,) = computed(config_maps=entries).problems()
    assert problem.path == "spec.operatorSpec"
    assert "holds 101 expressions" in problem.message


def test_many_problems_are_summed_up():
    found = computed(config_maps=[into("c", f"x{n}", "k") for n in range(15)])
    error = ExportExpressionError(found.problems())
    assert str(error).endswith("; and 5 more")


def test_after_one_that_asks_for_too_much_no_other_is_evaluated():
    class Engine:
        """Checks what it is given, and fails to evaluate it."""

        evaluated = 0

        def check(self, version, text, *, namespace):
            return Checked("string", frozenset())

        def evaluate(self, version, text, *, obj, secrets):
            self.evaluated += 1
            raise ExpressionLimitError("takes too much")

    engine = Engine()
    obj = namespace(config_maps=[into("c", "'x'", "k"), into("c", "'y'", "l")])
    with pytest.raises(ExportExpressionError, match="takes too much"):
        ExportExpressions(engine, VERSION, obj).config_maps()
    assert engine.evaluated == 1


def test_after_one_that_takes_too_much_to_compile_no_other_is_looked_at():
    class Engine:
        checked = 0

        def check(self, version, text, *, namespace):
            self.checked += 1
            raise ExpressionLimitError("takes too much")

    engine = Engine()
    obj = namespace(config_maps=[into("c", "'x'", "k"), into("c", "'y'", "l")])
    (problem,) = ExportExpressions(engine, VERSION, obj).problems()
    assert "takes too much" in problem.message
    assert engine.checked == 1


@pytest.mark.parametrize(
    ("label", "fits"),
    [
        ("'a'", True),
        ("'a-b_c.d9'", True),
        ("'a/b'", False),
        ("'-a'", False),
        (f"'{'a' * 63}'", True),
        (f"'{'a' * 64}'", False),
    ],
)
def test_labels_must_be_labels(label, fits):
    one = computed(config_maps=[into("c", "'v'", "k", labels={"l": label})])
    if fits:
        assert len(one.config_maps()) == 1
    else:
        with pytest.raises(ExportExpressionError, match="cannot be a label"):
            one.config_maps()


def test_targets_are_known_without_evaluating():
    obj = namespace([into("a", "nonsense("), into("b", "'x'", "k")], [into("c", "7")])
    assert expression_targets(obj, SECRET_EXPRESSIONS) == {"a", "b"}
    assert expression_targets(obj, CONFIG_MAP_EXPRESSIONS) == {"c"}


@pytest.mark.parametrize(
    "broken", ["text", [None, "x"], [{"name": 5, "value": None}], {"a": "b"}]
)
def test_malformed_lists_never_raise(broken):
    obj = {"spec": {"operatorSpec": {SECRET_EXPRESSIONS: broken}}}
    assert isinstance(expression_targets(obj, SECRET_EXPRESSIONS), set)
    assert isinstance(ExportExpressions(shared(), VERSION, obj).problems(), list)
