"""Names that nothing has are refused when an extension states them."""

import json

import pytest

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.cases import sets_in
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions, check_names
from asoreconcile.azure.middleware.extension_points import (
    EXPORT_SECRETS,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import ExtensionError, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    block_if_state,
    block_unless_owner_state,
    block_unless_state,
    export_status,
)
from asoreconcile.base.objects import GroupKind

SERVER = GroupKind("dbformysql.azure.com", "FlexibleServer")
DATABASE = GroupKind("dbformysql.azure.com", "FlexibleServersDatabase")
POOL = GroupKind("containerservice.azure.com", "ManagedClustersAgentPool")


def test_the_built_in_sets_state_names_that_kinds_have():
    check_names(builtin_sets(), builtin())


def refused(point, kind, run):
    made = ExtensionSet("mine")
    made.on(point, kind)(run)
    with pytest.raises(ExtensionError) as caught:
        Extensions.of_catalogue([made], builtin())
    return str(caught.value)


@pytest.mark.parametrize(
    ("owner", "path", "said"),
    [
        (GroupKind(SERVER.group, "FlexibleServr"), "status.state", "FlexibleServer"),
        (GroupKind("dbformysql.azur.com", SERVER.kind), "status.state", "dbformysql.azure.com"),
        (GroupKind("network.azure.com", "RouteTable"), "status.state", "owned by"),
        (SERVER, "status.sate", "did you mean state?"),
        (SERVER, "state", "the object has no 'state'"),
        (SERVER, "stauts.state", "did you mean status?"),
        (SERVER, "status.state.code", "status.state has no 'code'"),
    ],
)  # fmt: skip
def test_an_owner_and_a_path_that_nothing_has(owner, path, said):
    gate = block_unless_owner_state(owner, path)
    text = refused(PRE_RECONCILE_OWNER, DATABASE, gate)
    assert said in text
    assert "set mine" in text


@pytest.mark.parametrize(
    ("point", "run"),
    [
        (PRE_RECONCILE, block_unless_state("status.provisioningStte")),
        (PRE_RECONCILE, block_if_state("status.provisioningStte", {"deleting"})),
        (EXPORT_SECRETS, export_status({"a": "status.provisioningStte"})),
    ],
)
def test_a_path_of_its_own_kind_that_it_lacks(point, run):
    assert "did you mean provisioningState?" in refused(point, POOL, run)


def test_a_path_that_one_version_has_is_enough():
    made = ExtensionSet("mine")
    made.on(PRE_RECONCILE, POOL)(block_unless_state("metadata.labels.team"))
    made.on(PRE_RECONCILE, POOL)(block_unless_state("status.provisioningState"))
    Extensions.of_catalogue([made], builtin())


@pytest.mark.parametrize("message", ["{stat}", "{name} {0}", "{}", "{state.code}", "{"])
@pytest.mark.parametrize(
    "make",
    [
        lambda message: block_unless_owner_state(
            SERVER, "status.state", message=message
        ),
        lambda message: block_unless_state("status.state", message=message),
        lambda message: block_if_state("status.state", {"x"}, message=message),
    ],
)
def test_a_field_of_a_message_that_is_never_filled_in(make, message):
    with pytest.raises(ExtensionError, match="filled in"):
        make(message)


@pytest.mark.parametrize("states", [{"Ready"}, "ready"])
def test_states_that_are_never_met(states):
    for make in (block_unless_state, block_if_state):
        with pytest.raises(ExtensionError, match="state"):
            make("status.state", states)
    with pytest.raises(ExtensionError, match="state"):
        block_unless_owner_state(SERVER, "status.state", states)


GATE = {"path": "status.state"}


@pytest.mark.parametrize(
    ("cases", "said"),
    [
        ([{"block_unles_state": GATE}], "did you mean block_unless_state?"),
        ([{"block_unless_state": {"pth": "status.state"}}], "did you mean path?"),
        ([{"block_unless_state": {}}], "missing"),
        ([{"block_unless_state": {**GATE, "states": "ready"}}], "must be a list"),
        ([{"block_unless_state": {**GATE, "message": "{nam}"}}], "did you mean name?"),
        (
            [{"block_unless_owner_state": {**GATE, "ownr": "a.B"}}],
            "did you mean owner?",
        ),
        ([{"block_unless_owner_state": {**GATE, "owner": "Server"}}], "must be a kind"),
        ([{"block_unless_owner_state": {"owner": "a.B", "mesage": ""}}], "message?"),
        ([{"keep_children": {"shapes": "subnts", "rule": "ALL"}}], "shape of children"),
        ([{"reclassify": {"cod": ["x"]}}], "did you mean code?"),
        ([{"reclassify": {"code": "x"}}], "must be a list"),
        ([{"reclassify": {"message_matches": ["("]}}], "unterminated"),
        ([{"reclassify": {}}], "needs one of"),
        ([{"export_keys": {"action": "x", "kys": []}}], "did you mean keys?"),
        ([{"skip_import": {"reason": "x", "pth": "y"}}], "did you mean path?"),
        ([{"reclassify": ["x"]}], "must be a JSON object"),
        (["reclassify"], "must be a JSON object"),
        ("reclassify", "must be a list"),
        (None, "must be a list"),
    ],
)
def test_a_wrong_row_is_named_with_its_file_and_the_nearest_name(cases, said):
    table = json.dumps({"network.RouteTable": {"about": "x", "cases": cases}}).encode()
    with pytest.raises(ExtensionError) as caught:
        list(sets_in(table, "mine.json"))
    assert str(caught.value).startswith("mine.json, row 'network.RouteTable': ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"RouteTable": {"cases": []}}, "must be a kind"),
        ({"network.RouteTable": {"case": []}}, "did you mean cases?"),
        ({"network.RouteTable": []}, "must be a JSON object"),
        ([], "mine.json must be a JSON object"),
    ],
)
def test_a_wrong_table_is_named(table, said):
    with pytest.raises(ExtensionError, match=r"mine\.json") as caught:
        list(sets_in(json.dumps(table).encode(), "mine.json"))
    assert said in str(caught.value)
    with pytest.raises(ExtensionError, match=r"mine\.json is not JSON"):
        list(sets_in(b"{", "mine.json"))


def test_a_row_of_an_unknown_kind_is_named_with_the_nearest():
    case = {"cases": [{"block_unless_state": GATE}]}
    sets = sets_in(json.dumps({"network.RouteTabel": case}).encode())
    with pytest.raises(ExtensionError, match=r"network.RouteTabel\) names") as caught:
        Extensions.of_catalogue(sets, builtin())
    assert "did you mean RouteTable.network.azure.com?" in str(caught.value)
