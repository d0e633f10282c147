"""SecurityGroups and the groups of Entra that they stand for, over HTTPS on both
sides.
"""

from unittest import mock

import attrs
import pytest
from taps import CrashError
from world import LaggingNamespaces, World

from asoreconcile.azure.entra import directory_objects
from asoreconcile.azure.entra.decisions import CREATION
from asoreconcile.azure.entra.directory_objects import DirectoryObjects
from asoreconcile.azure.entra.graph_calls import TENANT, graph_of
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    FINALIZER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import (
    CREATED_HERE,
    IF_EXISTS,
)
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    annotations,
    finalizers,
    metadata,
    status,
    uid_of,
)
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES
from asoreconcile.testing.fault_injection import InjectedFault
from asoreconcile.testing.http import HttpResponse

KIND = "entra.azure.com/SecurityGroup"
GROUP_KIND = GroupKind("entra.azure.com", "SecurityGroup")
NOBODY = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(KIND)
        running.external[GROUP_KIND] = DirectoryObjects()
        yield running


@pytest.fixture
def graph(world):
    return world.azure.graph


def group(name="team", mode=None, notes=None, **spec):
    operator_spec = {"operatorSpec": {"creationMode": mode}} if mode else {}
    return {
        "apiVersion": "entra.azure.com/v1",
        "kind": "SecurityGroup",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": dict(notes or {}),
        },
        "spec": {
            "displayName": "Shop's team",
            "mailNickname": "shop",
            **operator_spec,
            **spec,
        },
    }


def people(graph, count):
    return [graph.add_object() for _ in range(count)]


def named(ids):
    return [{"objectID": id_} for id_ in ids]


def noted(world, obj=None):
    """The id that the object has."""
    return annotations(world.read(obj or group())).get(RESOURCE_ID)


def only(graph):
    (found,) = graph.groups().values()
    return found


def writes(world):
    return [e for e in world.azure.journal if e.method != "GET"]


def edit(world, **spec):
    world.apply(group(**spec))
    world.settle(group())


# Making one.


def test_a_group_is_made_as_the_spec_has_it(world, graph):
    world.settled(group(description="sells"))
    made, present = only(graph), world.read(group())
    assert made["uniqueName"] == f"asoreconcile-{uid_of(present)}"
    assert (made["displayName"], made["mailNickname"]) == ("Shop's team", "shop")
    assert (made["description"], made["groupTypes"]) == ("sells", [])
    assert (made["securityEnabled"], made["mailEnabled"]) == (True, False)
    assert annotations(present)[RESOURCE_ID] == made["id"]
    assert annotations(present)[TENANT] == world.azure.tenant_id
    told = {k: v for k, v in status(present).items() if k != "conditions"}
    assert told == {
        "entraID": made["id"],
        "displayName": "Shop's team",
        "groupEmailAddress": "shop",
        "description": "sells",
    }
    assert {e[2] for e in world.events} == {"CredentialFrom", "GroupCreated"}


def test_r1_4_finalizer_and_try_are_stored_before_graph_is_asked(world, graph):
    hold = []

    def seen(request):
        if request.method == "PATCH":
            present = world.read(group())
            hold.append(
                (FINALIZER in finalizers(present), CREATION in annotations(present))
            )
        return HttpResponse(503, b"{}", {"request-id": "1"})

    graph.faults.around = lambda request, handle: (
        seen(request) if request.method == "PATCH" else handle(request)
    )
    world.apply(group())
    world.run(group())
    assert hold == [(True, True)]


def test_a_microsoft_365_group_and_one_for_roles(world, graph):
    world.settled(group(membershipType="assignedm365", isAssignableToRole=True))
    made = only(graph)
    assert made["groupTypes"] == ["Unified"]
    assert (made["mailEnabled"], made["isAssignableToRole"]) == (True, True)


def test_an_address_stands_for_its_first_part(world, graph):
    world.settled(group(mailNickname="shop@example.com"))
    assert only(graph)["mailNickname"] == "shop"
    world.run(group())
    assert len(writes(world)) == 1


def test_a_group_in_order_is_only_read(world, graph):
    world.settled(group())
    world.azure.journal.clear()
    world.settle(group())
    assert {e.method for e in world.azure.journal} == {"GET"}
    assert len(graph.groups()) == 1


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_lost_creation_makes_one_group(world, graph, phase):
    graph.faults.drop("PATCH", "uniqueName", phase=phase)
    world.apply(group())
    world.run(group())
    assert "did not answer" in world.ready(group())["message"]
    world.settle(group())
    assert noted(world) == only(graph)["id"]


def test_a_process_that_dies_before_the_id_is_stored_makes_one_group(world, graph):
    world.apply(group())
    # The claim and the note of the try come through; the id does not.
    dies = InjectedFault(
        verb="patch", resource="securitygroups.entra.azure.com", drop="before", after=2
    )
    world.cluster.faults.plan(dies)
    with pytest.raises(TransportError):
        world.run(group())
    world.cluster.faults.clear()
    assert len(graph.groups()) == 1
    assert noted(world) is None
    world.restart()
    world.settle(group())
    assert noted(world) == only(graph)["id"]


def test_a_group_that_is_not_seen_yet_is_waited_for(world, graph):
    graph.lag(60.0)
    graph.faults.drop("PATCH", "uniqueName", phase="after")
    world.apply(group())
    world.run(group())
    world.clock.advance(1.0)
    assert world.run(group()).requeue_after_seconds == 5.0  # it exists, unseen
    world.settle(group(), passes=30)
    assert noted(world) == only(graph)["id"]


def test_a_restart_while_the_group_is_not_seen_changes_nothing(world, graph):
    graph.lag(60.0)
    world.settled(group())
    id_ = noted(world)
    world.restart()
    assert world.run(group()).requeue_after_seconds == 5.0
    assert world.ready(group())["status"] == "True"
    world.clock.advance(61.0)
    world.settle(group())
    assert noted(world) == id_ == only(graph)["id"]


def test_a_group_that_was_deleted_is_made_again_and_said(world, graph):
    world.settled(group())
    before = noted(world)
    world.clock.advance(301.0)
    graph.remove(before)
    world.settle(group())
    after = noted(world)
    assert after == only(graph)["id"] != before
    assert status(world.read(group()))["entraID"] == after
    (told,) = [e for e in world.events if e[2] == "AzureResourceRecreated"]
    assert before in told[3]


# Adopting one.


def test_a_group_of_the_name_is_adopted_and_brought_in_line(world, graph):
    id_ = graph.seed(displayName="SHOP's team", mailNickname="other", description="x")
    world.settled(group(description="sells"))
    made = only(graph)
    assert noted(world) == id_
    assert (made["displayName"], made["mailNickname"]) == ("Shop's team", "shop")
    assert made["description"] == "sells"
    assert {e.method for e in writes(world)} == {"PATCH"}


@pytest.mark.parametrize(
    ("choice", "nickname", "reason"),
    [
        ("adopt", "other", "Succeeded"),
        ("adopt-if-same", "shop", "Succeeded"),
        ("adopt-if-same", "other", "AlreadyExists"),
        ("observe", "other", "Succeeded"),
        ("fail", "shop", "AlreadyExists"),
        ("fial", "shop", "AlreadyExists"),
    ],
)
def test_ow3_a_group_that_is_there_is_taken_as_the_object_says(
    world, graph, choice, nickname, reason
):
    id_ = graph.seed(displayName="Shop's team", mailNickname=nickname)
    obj = group(notes={IF_EXISTS: choice, RESOURCE_ID: id_})
    world.apply(obj)
    for _ in range(3):
        world.run(obj)
    assert world.ready(obj)["reason"] == reason
    is_taken = choice.startswith("adopt") and reason == "Succeeded"
    assert bool(writes(world)) == (choice == "adopt")
    world.restart()
    world.delete(obj)
    assert world.settle(obj) is None
    assert (id_ in graph.groups()) != is_taken


def test_ow3_a_lost_creation_is_no_adoption(world, graph):
    graph.faults.drop("PATCH", "uniqueName", phase="after")
    obj = group(notes={IF_EXISTS: "fail"})
    world.apply(obj)
    world.run(obj)
    world.settle(obj)
    assert len(graph.groups()) == 1
    assert annotations(world.read(group()))[EXISTENCE] == CREATED_HERE


def test_ow3_an_observed_group_is_adopted_once_the_choice_changes(world, graph):
    graph.seed(displayName="Shop's team", mailNickname="other")
    world.settled(group(notes={IF_EXISTS: "observe"}))
    assert not writes(world)
    world.annotate(group(), **{IF_EXISTS: "adopt"})
    world.settle(group())
    assert only(graph)["mailNickname"] == "shop"


def test_always_create_adopts_nothing(world, graph):
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    world.settled(group(mode="AlwaysCreate"))
    assert noted(world) != id_
    assert len(graph.groups()) == 2


def test_of_several_the_one_of_the_nickname_is_adopted(world, graph):
    graph.seed(displayName="Shop's team", mailNickname="a")
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    world.settled(group())
    assert noted(world) == id_


def test_several_alike_are_for_a_person_to_choose_from(world, graph):
    ids = {graph.seed(displayName="Shop's team", mailNickname="shop") for _ in "ab"}
    world.apply(group())
    world.run(group())
    ready = world.ready(group())
    assert ready["reason"] == "AmbiguousGroup"
    assert all(id_ in ready["message"] for id_ in ids)
    assert RESOURCE_ID in ready["message"]
    assert not writes(world)
    chosen = min(ids)
    world.annotate(group(), **{RESOURCE_ID: chosen})
    world.settle(group())
    assert noted(world) == chosen


@pytest.mark.parametrize("first", ["older", "younger"])
def test_of_two_objects_the_one_that_claims_first_manages_the_group(
    world, graph, first
):
    """Age does not count: an older object must not take over a living group."""
    both = [group("one", description="1"), group("two", description="2")]
    for obj in both:
        world.apply(obj)
    by_age = sorted(both, key=lambda obj: age(world.read(obj)))
    manager, waiting = by_age if first == "older" else reversed(by_age)
    world.settle(manager)
    world.run(waiting)
    world.restart()
    world.settle(manager)
    world.run(waiting)
    ready = world.ready(waiting)
    assert (ready["status"], ready["reason"]) == ("False", "AlreadyManaged")
    assert f"default/{manager['metadata']['name']}" in ready["message"]
    assert only(graph)["description"] == manager["spec"]["description"]
    world.delete(waiting)
    assert world.settle(waiting) is None
    assert len(graph.groups()) == 1


@pytest.mark.parametrize("other", ["waits", "fail", "only reads", "another group"])
def test_a_deleted_object_hands_its_group_over(world, graph, other):
    """It goes to the object of the namespace that would adopt the group."""
    manager, heir = group("one"), group("two")
    if other == "fail":  # by agreement
        heir["metadata"]["annotations"][IF_EXISTS] = "fail"
    if other == "only reads":
        heir["metadata"]["annotations"][RECONCILE_POLICY] = "skip"
    if other == "another group":
        heir["spec"]["displayName"] = "Another team"
    world.settled(manager)
    made = noted(world, manager)
    world.apply(heir)
    world.run(heir)
    world.delete(manager)
    world.run(manager)
    is_waiting = other in {"waits", "fail"}
    assert (made in graph.groups()) is is_waiting
    if is_waiting:
        assert world.ready(manager)["reason"] == "HandingOver"
        world.settle(heir)
        assert list(graph.groups()) == [made]
        assert noted(world, heir) == made
    assert world.settle(manager) is None
    assert (made in graph.groups()) is is_waiting
    told = {one[0] for one in world.events if one[2] == "TakesOver"}
    assert told == ({"two"} if is_waiting else set())


@pytest.mark.parametrize("end", ["crash", "lost answer"])
def test_a_hand_over_of_a_group_that_is_cut_off_is_done_again(world, graph, end):
    """The process dies before the deleted object is released, or does not get the
    answer of its release.
    """
    manager, heir = group("one"), group("two")
    world.settled(manager)
    made = noted(world, manager)
    world.apply(heir)
    world.run(heir)
    world.delete(manager)
    patch = world.client.patch

    def cut_off(*arguments, **options):
        if end == "crash":
            raise CrashError
        patch(*arguments, **options)
        raise TransportError("no answer")

    with (
        mock.patch.object(world.client, "patch", cut_off),
        pytest.raises((CrashError, TransportError)),
    ):
        world.run(manager)
    world.restart()
    world.run(manager)
    world.settle(heir)
    assert world.settle(manager) is None
    assert list(graph.groups()) == [made]
    assert noted(world, heir) == made


def test_ow3_a_group_is_not_taken_over_though_the_watch_is_behind(world, graph):
    """`if-exists` of the Namespace holds, also if the cache does not show it yet."""
    graph.seed(displayName="Shop's team", mailNickname="shop")
    body = {"metadata": {"annotations": {IF_EXISTS: "fail"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    world.apply(group())
    late = attrs.evolve(world.operator, namespace_annotations=LaggingNamespaces(world))
    for operator in (late, late, world.operator, world.operator):
        world.run(group(), operator=operator)
    assert world.ready(group())["reason"] == "AlreadyExists"
    assert not noted(world)
    assert not writes(world)


def age(present):
    return metadata(present)["creationTimestamp"], uid_of(present)


@pytest.mark.parametrize("where", ["object", "namespace"])
@pytest.mark.parametrize("write", ["creation", "deletion"])
def test_r1_18_a_policy_set_while_graph_is_read_is_obeyed(world, graph, where, write):
    team, policy = group(), "skip" if write == "creation" else "detach-on-delete"
    if write == "creation":
        world.apply(team)
        world.run_once(team)
    else:
        world.settled(team)
        world.delete(team)
    groups = dict(graph.groups())

    def meanwhile(scope):
        if where == "object":
            world.annotate(team, **{RECONCILE_POLICY: policy})
        else:
            body = {"metadata": {"annotations": {RECONCILE_POLICY: policy}}}
            world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
        return graph_of(scope)

    with mock.patch.object(directory_objects, "graph_of", meanwhile):
        world.run_once(team)
    assert graph.groups() == groups


def test_a_group_synchronised_from_premises_is_left_as_it_is(world, graph):
    id_ = graph.seed(displayName="Shop's team", mailNickname="other")
    graph.change(id_, onPremisesSyncEnabled=True)
    world.apply(group())
    world.run(group())
    assert "on premises" in world.ready(group())["message"]
    assert not writes(world)


# Whose a group is.


@pytest.mark.parametrize("id_", ["../users/1", "nobody", f"{NOBODY}/owners"])
def test_what_is_no_id_is_asked_nowhere(world, graph, id_):
    world.apply(group(notes={RESOURCE_ID: id_}))
    world.run(group())
    assert "no id of a group" in world.ready(group())["message"]
    assert not world.azure.journal


def test_an_annotation_alone_makes_nothing_of_somebody_else_s_ones_own(world, graph):
    id_ = graph.seed(displayName="Administrators")
    world.apply(group(notes={RESOURCE_ID: id_}))
    world.run(group())
    ready = world.ready(group())
    assert (ready["severity"], ready["reason"]) == ("Error", "Failed")
    world.delete(group())
    assert world.settle(group()) is None
    assert only(graph)["id"] == id_
    assert not writes(world)
    assert "NotDeletedInAzure" in [e[2] for e in world.events]


def test_a_credential_of_another_tenant_is_told(world, graph):
    world.settled(group())
    world.annotate(group(), **{TENANT: "99999999-2222-3333-4444-555555555555"})
    world.azure.journal.clear()
    world.run(group())
    assert world.ready(group())["reason"] == "TenantMismatch"
    assert not world.azure.journal


# Changing one.


def test_a_change_in_entra_is_undone(world, graph):
    world.settled(group(description="sells"))
    graph.change(noted(world), description="idles", displayName="x")
    world.settle(group())
    world.run(group())
    assert only(graph)["description"] == "sells"
    assert writes(world)[-1].body == {
        "description": "sells",
        "displayName": "Shop's team",
    }


def test_a_renamed_group_stays_the_same_one(world, graph):
    world.settled(group())
    id_ = noted(world)
    edit(world, displayName="Shop", mailNickname="s", description="")
    made = only(graph)
    assert (made["id"], made["displayName"], made["mailNickname"]) == (id_, "Shop", "s")
    assert status(world.read(group()))["displayName"] == "Shop"


@pytest.mark.parametrize(
    "change", [{"isAssignableToRole": True}, {"membershipType": "assignedm365"}]
)
def test_what_cannot_change_is_told_and_nothing_sent(world, graph, change):
    world.settled(group(membershipType="assigned"))
    world.azure.journal.clear()
    world.apply(group(**{"membershipType": "assigned", **change}))
    world.run(group())
    ready = world.ready(group())
    assert (ready["severity"], ready["status"]) == ("Error", "False")
    assert "cannot change" in ready["message"]
    assert not writes(world)


def test_a_membership_by_rule_leaves_the_kind_of_a_group(world, graph):
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    graph.change(id_, groupTypes=["DynamicMembership"])
    world.settled(group(membershipType="enabled"))
    assert only(graph)["groupTypes"] == ["DynamicMembership"]
    assert not writes(world)


# Members and owners.


def test_members_and_owners_come_with_the_creation(world, graph):
    ids = people(graph, 3)
    world.settled(group(members=named(ids[:2]), owners=named(ids[2:])))
    made = only(graph)
    assert (made["members"], made["owners"]) == (ids[:2], ids[2:])
    assert len(world.requests("PATCH")) == 1
    assert not world.requests("POST")


def test_members_are_exactly_those_of_the_spec(world, graph):
    first, second, third, stranger = people(graph, 4)
    world.settled(group(members=named([first, second])))
    graph.link(noted(world), "members", stranger)
    edit(world, members=named([second, third.upper()]))
    assert only(graph)["members"] == [second, third]
    edit(world, members=[])
    assert only(graph)["members"] == []


def test_members_that_the_spec_does_not_speak_of_are_nobody_s_business(world, graph):
    world.settled(group())
    graph.link(noted(world), "members", people(graph, 1)[0])
    world.settle(group())
    assert len(only(graph)["members"]) == 1
    assert not world.requests("GET", "/members")


def test_more_members_than_a_creation_takes_follow(world, graph):
    ids = people(graph, 45)
    world.settled(group(members=named(ids)))
    assert only(graph)["members"] == ids


def test_a_crowd_is_taken_out_a_reconcile_at_a_time(world, graph):
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    for person in people(graph, 120):
        graph.link(id_, "members", person)
    world.apply(group(members=[]))
    world.run(group())
    assert len(only(graph)["members"]) == 70
    world.settle(group())
    assert only(graph)["members"] == []


def test_members_from_a_config_map(world, graph):
    (person,) = people(graph, 1)
    members = [{"objectIDFromConfig": {"name": "ids", "key": "app"}}]
    world.apply(group(members=members))
    world.run(group())
    assert world.ready(group())["reason"] == "ConfigMapNotFound"
    config_map(world, "ids", app="not an id")
    world.run(group())
    assert "no object id" in world.ready(group())["message"]
    config_map(world, "ids", app=f"{person}\n")
    world.settle(group())
    assert only(graph)["members"] == [person]


def test_a_member_that_entra_does_not_know_is_said(world, graph):
    first, second = people(graph, 2)
    world.settled(group(members=named([first])))
    world.clock.advance(301.0)
    world.apply(group(members=named([second, NOBODY])))
    world.run(group())
    ready = world.ready(group())
    assert ready["reason"] == "ReferenceNotFound"
    assert NOBODY in ready["message"]
    assert only(graph)["members"] == [second]


def identities(graph, count):
    return [graph.add_object(type_="servicePrincipal") for _ in range(count)]


def adopted(graph, *members):
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    for member in members:
        graph.link(id_, "members", member)
    return id_


@pytest.mark.parametrize("link", ["members", "owners"])
def test_a_managed_identity_that_left_the_spec_leaves_the_group(world, graph, link):
    first, second = identities(graph, 2)
    world.settled(group(**{link: named([first, second])}))
    edit(world, **{link: named([first])})
    assert only(graph)[link] == [first]


def test_sixty_identities_are_added_once(world, graph):
    ids = identities(graph, 60)
    adopted(graph)
    world.settled(group(members=named(ids)))
    assert sorted(only(graph)["members"]) == sorted(ids)
    for _ in range(3):
        world.clock.advance(3600.0)
        world.settle(group())
    assert len(world.requests("POST", "/members")) == 60


def test_members_that_graph_hides_are_said_and_not_added_for_ever(world, graph):
    ids = people(graph, 60)
    graph.change(adopted(graph, *ids), visibility="HiddenMembership")
    world.apply(group(members=named(ids)))
    for _ in range(3):
        world.run(group())
    ready = world.ready(group())
    assert (ready["status"], ready["reason"]) == ("False", "MembersNotShown")
    assert "Member.Read.Hidden" in ready["message"]
    assert len(world.requests("POST", "/members")) == 60
    graph.change(noted(world), visibility="Private")
    world.settle(group())


def test_a_member_added_and_never_shown_is_said_at_the_next_sync(world, graph):
    graph.change(adopted(graph), visibility="HiddenMembership")
    world.settled(group(members=named(people(graph, 1))))
    world.clock.advance(3600.0)
    world.run(group())
    assert world.ready(group())["reason"] == "MembersNotShown"


def dead(count):
    return [f"00000000-0000-0000-0001-{number:012}" for number in range(count)]


@pytest.mark.parametrize("link", ["members", "owners"])
def test_a_dead_id_keeps_nobody_in(world, graph, link):
    stays, goes, comes = people(graph, 3)
    id_ = adopted(graph, stays, goes)
    if link == "owners":
        graph.link(id_, link, stays)
        graph.link(id_, link, goes)
    wanted = named([*dead(60), stays, comes])
    world.apply(group(**{"members": named([stays]), link: wanted}))
    for _ in range(3):
        world.run(group())
    assert world.ready(group())["reason"] == "ReferenceNotFound"
    assert sorted(only(graph)[link]) == sorted([stays, comes])
    assert goes not in only(graph)["members"]
    assert status(world.read(group()))["entraID"] == id_


def test_a_removal_that_graph_refuses_stops_no_other_one(world, graph):
    owner, stays, goes = people(graph, 3)
    id_ = adopted(graph, stays, goes)
    graph.link(id_, "owners", owner)
    world.apply(group(owners=[], members=named([stays])))
    world.run(group())
    assert "at least one owner" in world.ready(group())["message"]
    assert only(graph)["members"] == [stays]


def test_a_group_of_another_cluster_is_adopted_and_never_deleted(world, graph):
    id_ = graph.seed(displayName="Shop's team")
    graph.change(id_, uniqueName="asoreconcile-elsewhere")
    world.settled(group(description="sells"))
    assert noted(world) == id_
    world.delete(group())
    assert world.settle(group()) is None
    assert only(graph)["id"] == id_
    (told,) = [e for e in world.events if e[2] == "NotDeletedInAzure"]
    assert "asoreconcile-elsewhere" in told[3]


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00", "2999-01-01T00:00:00Z", "x"])
def test_a_time_that_cannot_be_is_a_sentence_in_the_condition(world, graph, time):
    world.apply(group(notes={CREATION: time}))
    world.run(group())
    ready = world.ready(group())
    assert (ready["severity"], ready["reason"]) == ("Error", "Failed")
    assert f"annotation {CREATION} is {time!r}" in ready["message"]
    world.annotate(group(), **{CREATION: None})
    world.settle(group())


def test_an_unknown_member_at_the_creation_is_told(world, graph):
    world.apply(group(members=named([NOBODY])))
    world.run(group())
    ready = world.ready(group())
    assert NOBODY in ready["message"]
    assert "spec.members" in ready["message"]
    assert not graph.groups()


def test_the_last_owner_is_replaced(world, graph):
    first, second = people(graph, 2)
    world.settled(group(owners=named([first])))
    edit(world, owners=named([second]))
    assert only(graph)["owners"] == [second]


@pytest.mark.parametrize("phase", ["before", "after"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PATCH", "groups/"),
        ("POST", "members"),
        ("DELETE", "members"),
        ("GET", "groups"),
    ],
)
def test_a_lost_request_of_a_change_is_made_up_for(world, graph, phase, method, path):
    first, second = people(graph, 2)
    world.settled(group(members=named([first])))
    graph.faults.drop(method, path, phase=phase)
    world.apply(group(members=named([second]), description="new"))
    world.settle(group())
    made = only(graph)
    assert (made["members"], made["description"]) == ([second], "new")


# Refusals.


def test_throttling_is_waited_out_as_graph_says(world, graph):
    graph.faults.throttle("PATCH", "uniqueName", retry_after=42)
    world.apply(group())
    result = world.run(group())
    assert result.requeue_after_seconds >= 42.0
    assert world.ready(group())["reason"] == "TooManyRequests"
    world.settle(group())


@pytest.mark.parametrize("known", [False, True])
def test_missing_permissions_are_told_with_what_to_grant(world, graph, known):
    if known:
        world.settled(group())
    graph.deny(world.azure.client_id)
    world.apply(group(description="new"))
    world.run(group())
    ready = world.ready(group())
    assert ready["reason"] == "AuthorizationRequestDenied"
    assert "Group.ReadWrite.All" in ready["message"]
    warned = [e[3] for e in world.events if e[1] == "Warning"]
    assert "aso-controller-settings" in warned[-1]
    graph.allow(world.azure.client_id)
    world.settle(group())


def test_a_value_that_graph_refuses_is_told_in_its_words(world, graph):
    world.apply(group(mailNickname="a b"))
    world.run(group())
    assert "mailNickname" in world.ready(group())["message"]
    assert not graph.groups()


def test_a_page_of_a_proxy_ends_nothing(world, graph):
    world.settled(group())
    world.clock.advance(301.0)
    page = HttpResponse(404, b"<html>blocked</html>", {"Content-Type": "text/html"})
    # The first failed reads of a Ready group say nothing about the group.
    graph.faults.respond("GET", "groups", page, times=3)
    for expected in ("True", "True", "False"):
        world.run(group())
        assert world.ready(group())["status"] == expected
    world.delete(group())
    graph.faults.respond("GET", "groups", page)
    world.run(group())
    assert len(graph.groups()) == 1
    assert world.settle(group()) is None
    assert not graph.groups()


@pytest.mark.parametrize("is_going", [False, True], ids=["there", "going"])
def test_an_answer_about_another_group_touches_neither(world, graph, is_going):
    world.settled(group())
    other = graph.seed(displayName="Other", mailNickname="other")
    before = graph.groups()
    world.clock.advance(301.0)
    if is_going:
        world.delete(group())
    body = jsontext.dumps({**graph.groups()[other], "uniqueName": "x"})
    reads = 1 if is_going else 3
    graph.faults.respond("GET", "groups/", HttpResponse(200, body), times=reads)
    for _ in range(reads):
        world.run(group())
    assert graph.groups() == before
    assert "shows another group" in world.ready(group())["message"]
    assert (world.settle(group()) is None) == is_going
    assert other in graph.groups()


# Policies and the end.


def test_a_deleted_object_takes_its_group_with_it(world, graph):
    world.settled(group())
    world.delete(group())
    assert world.settle(group()) is None
    assert not graph.groups()


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_lost_deletion_is_asked_again(world, graph, phase):
    world.settled(group())
    world.clock.advance(301.0)
    graph.faults.drop("DELETE", "groups", phase=phase)
    world.delete(group())
    world.run(group())
    assert world.settle(group()) is None
    assert not graph.groups()


def test_a_group_whose_id_was_never_stored_is_deleted_by_its_mark(world, graph):
    graph.lag(60.0)
    graph.faults.drop("PATCH", "uniqueName", phase="after")
    world.apply(group())
    world.run(group())
    assert noted(world) is None
    world.delete(group())
    assert world.run(group()).requeue_after_seconds == 5.0  # it may be there, unseen
    assert world.settle(group(), passes=40) is None
    assert not graph.groups()


def test_a_group_that_is_not_seen_yet_is_not_taken_for_gone(world, graph):
    graph.lag(60.0)
    world.settled(group())
    world.delete(group())
    assert world.run(group()).requeue_after_seconds == 5.0
    assert FINALIZER in finalizers(world.read(group()))
    assert world.settle(group(), passes=40) is None
    assert not graph.groups()


def test_detach_on_delete_leaves_the_group(world, graph):
    world.settled(group(notes={RECONCILE_POLICY: "detach-on-delete"}))
    world.delete(group())
    assert world.settle(group()) is None
    assert len(graph.groups()) == 1
    world.settled(group())
    assert len(graph.groups()) == 1  # adopted by its name


def test_r1_8_skip_shows_the_group_and_writes_nothing(world, graph):
    skip = group(notes={RECONCILE_POLICY: "skip"}, description="sells")
    world.apply(skip)
    world.run(skip)
    assert world.ready(skip)["reason"] == "AzureResourceNotFound"
    id_ = graph.seed(displayName="Shop's team", mailNickname="shop")
    world.settle(skip)
    assert status(world.read(skip))["entraID"] == id_
    world.delete(skip)
    assert world.settle(skip) is None
    assert not writes(world)


def test_the_id_is_written_to_a_config_map(world, graph):
    wanted = {"name": "ids", "key": "team", "labels": {"a": "b"}}
    obj = group(operatorSpec={"configmaps": {"entraID": wanted}})
    world.settled(obj)
    found = world.client.get(CONFIG_MAPS, ObjectKey("default", "ids"))
    assert found["data"] == {"team": only(graph)["id"]}
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["ownerReferences"][0]["kind"] == "SecurityGroup"


def test_a_config_map_of_somebody_else_is_not_written(world, graph):
    config_map(world, "ids", mine="yes")
    wanted = {"name": "ids", "key": "team"}
    world.apply(group(operatorSpec={"configmaps": {"entraID": wanted}}))
    world.run(group())
    ready = world.ready(group())
    assert ready["reason"] == "FailedWritingAdditionalKubernetesObjects"
    assert noted(world) == only(graph)["id"]


def config_map(world, name, **data):
    world.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"},
            "data": data,
        },
        marked=False,
    )
