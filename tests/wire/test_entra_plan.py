"""`asoctl plan` for groups of Entra: reads Graph, and writes nothing."""

import json

import pytest
import yaml
from click.testing import CliRunner

from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.testing.arm import ArmServer


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer() as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        yield server
        assert {entry.method for entry in server.journal} <= {"GET"}


def planned(notes=None, inherited=None, **spec):
    """The one planned change, and the exit code."""
    meta = {"name": "default", "annotations": inherited or {}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    obj = {
        "apiVersion": "entra.azure.com/v1",
        "kind": "SecurityGroup",
        "metadata": {"name": "team", "annotations": notes or {}},
        "spec": {"displayName": "Team", "mailNickname": "team", **spec},
    }
    text = yaml.safe_dump_all([namespace, obj])
    done = CliRunner().invoke(main, ["plan", "-f", "-", "-o", "json"], input=text)
    return json.loads(done.stdout), done.exit_code


def test_a_group_that_is_not_there_would_be_created(azure):
    change, code = planned(description="sells")
    assert (change["action"], code) == ("create", 2)
    assert change["sent"]["description"] == "sells"


def test_one_of_the_name_would_be_adopted_and_changed(azure):
    id_ = azure.graph.seed(displayName="Team", mailNickname="other")
    stays, goes, comes = (azure.graph.add_object() for _ in range(3))
    for person in (stays, goes):
        azure.graph.link(id_, "members", person)
    members = [{"objectID": stays}, {"objectID": comes}]
    change, code = planned(members=members)
    assert (change["action"], change["armId"], code) == ("update", id_, 2)
    changes = [(c["path"], c.get("want"), c.get("have")) for c in change["changes"]]
    assert changes == [
        ("mailNickname", "team", "other"),
        ("members", comes, None),
        ("members", None, goes),
    ]


def test_if_exists_observe_would_change_nothing(azure):
    azure.graph.seed(displayName="Team", mailNickname="other")
    change, code = planned(notes={IF_EXISTS: "observe"})
    assert (change["action"], code) == ("no change", 0)
    assert "observe" in change["why"]


def test_a_group_in_order_would_not_change(azure):
    azure.graph.seed(displayName="Team", mailNickname="team")
    assert planned()[0]["action"] == "no change"


def test_if_exists_of_the_namespace_counts(azure):
    azure.graph.seed(displayName="Team", mailNickname="other")
    change, _ = planned(inherited={IF_EXISTS: "observe"})
    assert change["action"] == "no change"
    assert "observe" in change["why"]
    change, _ = planned(notes={IF_EXISTS: "adopt"}, inherited={IF_EXISTS: "observe"})
    assert change["action"] == "update"


@pytest.mark.parametrize("case", ["several", "premises", "denied"])
def test_what_nobody_can_tell_says_why(azure, case):
    id_ = azure.graph.seed(displayName="Team", mailNickname="x")
    if case == "several":
        azure.graph.seed(displayName="Team", mailNickname="y")
    elif case == "premises":
        azure.graph.change(id_, onPremisesSyncEnabled=True)
    else:
        azure.graph.deny(azure.client_id)
    change, code = planned()
    assert (change["action"], code) == ("cannot tell", 1)
    why = {"several": "2 groups", "premises": "premises", "denied": "Insufficient"}
    assert why[case] in change["why"]
