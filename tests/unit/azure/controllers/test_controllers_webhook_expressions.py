"""Export expressions looked at when an object is written."""

import pytest
from click.testing import CliRunner

from asoreconcile.azure.catalogue.problems import Problem
from asoreconcile.azure.cmd.manager import manager
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import expression_problems
from asoreconcile.azure.expressions.api import Expressions, shared
from asoreconcile.azure.expressions.process import EngineMissingError
from asoreconcile.base.fair_share import EngineBusyError
from asoreconcile.base.objects import GroupKind
from asoreconcile.testing.clock import FakeClock

VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork")).version()


def test_expressions_are_checked_with_a_write():
    pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

    def wrong(value):
        one = {"name": "out", "key": "k", "value": value}
        spec = {"operatorSpec": {"configMapExpressions": [one]}}
        obj = {"metadata": {"name": "x"}, "spec": spec}
        return [p.path for p in expression_problems(shared(), VNET, obj)]

    assert wrong("self.metadata.name") == []
    assert wrong("self.metadata.nam") == [
        "spec.operatorSpec.configMapExpressions[0].value"
    ]


class NoEngine:
    """Stands for one that is not installed."""

    def ask(self, request, *, namespace):
        raise EngineMissingError("install asoreconcile[cel]")


@pytest.mark.parametrize("field", ["secretExpressions", "configMapExpressions"])
def test_where_no_engine_starts_expressions_are_refused_with_what_to_install(field):
    """Let in, they would export nothing."""
    missing = Expressions(NoEngine(), clock=FakeClock())
    one = {"name": "out", "key": "k", "value": "self.metadata.name"}
    obj = {"metadata": {"name": "x"}, "spec": {"operatorSpec": {field: [one]}}}

    assert expression_problems(missing, VNET, obj) == [
        Problem("spec.operatorSpec", "install asoreconcile[cel]")
    ]


def test_expressions_that_have_to_wait_are_left_to_the_reconciler():
    class Busy:
        def ask(self, request, *, namespace):
            raise EngineBusyError("expressions")

    busy = Expressions(Busy(), clock=FakeClock())
    one = {"name": "out", "key": "k", "value": "self.metadata.name"}
    spec = {"operatorSpec": {"secretExpressions": [one]}}
    obj = {"metadata": {"name": "x"}, "spec": spec}
    assert expression_problems(busy, VNET, obj) == []


@pytest.mark.parametrize("spec", [{}, {"operatorSpec": {}}, {"operatorSpec": []}])
def test_without_expressions_no_engine_is_asked(spec):
    obj = {"metadata": {"name": "x"}, "spec": spec}
    assert expression_problems(shared(), VNET, obj) == []


def test_all_versions_need_somebody_who_converts():
    result = CliRunner().invoke(manager, ["--all-versions", "--webhook-port=0"])

    assert result.exit_code == 2
    assert "--all-versions needs --webhook-port" in result.stderr


def test_wh12_the_share_of_a_namespace_is_not_for_reviews_that_name_it():
    charged = []

    class Counts:
        def ask(self, request, *, namespace):
            charged.append(namespace)
            raise EngineBusyError("expressions")

    counting = Expressions(Counts(), clock=FakeClock())
    one = {"name": "out", "key": "k", "value": "self.metadata.name"}
    spec = {"operatorSpec": {"configMapExpressions": [one]}}
    for namespace in ("victim", "another"):
        obj = {"metadata": {"name": "x", "namespace": namespace}, "spec": spec}
        assert expression_problems(counting, VNET, obj) == []
    assert set(charged) == {".reviews"}
