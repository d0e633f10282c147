"""Applications and service principals of Entra: the rules of groups, and what
differs.
"""

import pytest
from world import World

from asoreconcile.azure.entra.directory_objects import DirectoryObjects
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.base.objects import GroupKind, ObjectKey, annotations, status, uid_of
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.fault_injection import InjectedFault

OF = {"Application": "applications", "ServicePrincipal": "servicePrincipals"}
NOBODY = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        for kind in OF:
            running.install(f"entra.azure.com/{kind}")
            running.external[GroupKind("entra.azure.com", kind)] = DirectoryObjects()
        yield running


@pytest.fixture
def graph(world):
    return world.azure.graph


@pytest.fixture
def shop(graph):
    """The application that service principals of these tests are of."""
    id_ = graph.seed_in("applications", displayName="Shop's backend")
    return graph.entries("applications")[id_]["appId"]


@pytest.fixture(params=OF)
def case(request, world, graph):
    """One kind: an object that asks for "Shop", and how Entra gets one of others."""
    return Case(request.param, graph, world)


class Case:
    def __init__(self, kind, graph, world):
        self.kind, self.of, self.graph, self.world = kind, OF[kind], graph, world
        self.more = {}
        if kind == "ServicePrincipal":
            id_ = graph.seed_in("applications", displayName="Shop's backend")
            self.more = {"appId": graph.entries("applications")[id_]["appId"]}

    def obj(self, mode=None, notes=None, name="shop", **spec):
        operator_spec = {"operatorSpec": {"creationMode": mode}} if mode else {}
        return manifest(
            self.kind,
            name,
            notes,
            {"displayName": "Shop", **self.more, **operator_spec, **spec},
        )

    def there(self, **properties):
        """The id of one that was there before the object."""
        return self.graph.seed_in(
            self.of, **{"displayName": "Shop", **self.more, **properties}
        )

    def all(self):
        return self.graph.entries(self.of)

    def only(self):
        (found,) = self.all().values()
        return found

    def noted(self):
        return annotations(self.world.read(self.obj())).get(RESOURCE_ID)

    def creation(self):
        """The method and a part of the path of a creation."""
        if self.kind == "Application":
            return "PATCH", "uniqueName"
        return "POST", "servicePrincipals"


def manifest(kind, name, notes, spec):
    return {
        "apiVersion": "entra.azure.com/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "annotations": notes or {}},
        "spec": spec,
    }


def writes(world):
    return [e for e in world.azure.journal if e.method != "GET"]


# The rules of all kinds.


def test_one_is_made_with_its_mark_and_its_ids_are_exported(world, case):
    maps = {
        "entraID": {"name": "ids", "key": "object"},
        "appId": {"name": "ids", "key": "client", "labels": {"a": "b"}},
    }
    obj = case.obj(operatorSpec={"configmaps": maps})
    world.settled(obj)
    made, present = case.only(), world.read(obj)
    mark = f"asoreconcile-{uid_of(present)}"
    assert mark in (made.get("uniqueName"), *made["tags"])
    shown = status(present)
    assert (shown["entraID"], shown["appId"]) == (made["id"], made["appId"])
    assert shown["displayName"] == "Shop"
    found = world.client.get(CONFIG_MAPS, ObjectKey("default", "ids"))
    assert found["data"] == {"object": made["id"], "client": made["appId"]}
    created = f"{case.kind}Created"
    assert {e[2] for e in world.events} == {"CredentialFrom", created}
    world.azure.journal.clear()
    world.settle(obj)
    assert not writes(world)


@pytest.mark.parametrize(("phase", "lag"), [("before", 0.0), ("after", 60.0)])
def test_a_lost_creation_makes_one(world, graph, case, phase, lag):
    graph.lag(lag)
    graph.faults.drop(*case.creation(), phase=phase)
    obj = case.obj(notes={IF_EXISTS: "fail"})
    world.apply(obj)
    world.run(obj)
    assert "did not answer" in world.ready(obj)["message"]
    world.settle(obj, passes=40)
    assert case.noted() == case.only()["id"]


def test_a_process_that_dies_before_the_id_is_stored_makes_one(world, case):
    world.apply(case.obj())
    resource = f"{OF[case.kind].lower()}.entra.azure.com"
    dies = InjectedFault(verb="patch", resource=resource, drop="before", after=2)
    world.cluster.faults.plan(dies)
    with pytest.raises(TransportError):
        world.run(case.obj())
    world.cluster.faults.clear()
    assert len(case.all()) == 1
    assert case.noted() is None
    world.restart()
    world.settle(case.obj())
    assert case.noted() == case.only()["id"]


@pytest.mark.parametrize(
    ("choice", "name", "reason"),
    [
        ("adopt", "shop", "Succeeded"),
        ("adopt-if-same", "shop", "AlreadyExists"),
        ("observe", "shop", "Succeeded"),
    ],
)
def test_ow3_what_is_there_is_taken_as_the_object_says(
    world, case, choice, name, reason
):
    id_ = case.there(displayName=name)
    obj = case.obj(notes={IF_EXISTS: choice})
    world.apply(obj)
    for _ in range(3):
        world.run(obj)
    assert world.ready(obj)["reason"] == reason
    assert bool(writes(world)) == (choice == "adopt")
    is_taken = choice.startswith("adopt") and reason == "Succeeded"
    world.delete(obj)
    assert world.settle(obj) is None
    assert (id_ in case.all()) != is_taken


@pytest.mark.parametrize("was_managed", [False, True])
def test_adopt_only_reads_and_neither_writes_nor_deletes(world, case, was_managed):
    if was_managed:
        world.settled(case.obj())
    obj = case.obj("AdoptOnly")
    world.apply(obj)
    world.run(obj)
    if not was_managed:
        ready = world.ready(obj)
        assert (ready["reason"], ready["status"]) == ("AzureResourceNotFound", "False")
        assert "AdoptOnly" in ready["message"]
        case.there(displayName="Shop")
    world.azure.journal.clear()
    world.settle(obj)
    assert status(world.read(obj))["entraID"] == case.only()["id"]
    world.delete(obj)
    assert world.settle(obj) is None
    assert not writes(world)
    assert len(case.all()) == 1


def test_one_of_another_cluster_is_adopted_and_never_deleted(world, graph, case):
    id_ = case.there()
    mark = "asoreconcile-elsewhere"
    graph.change(id_, **{"tags": [mark]} if case.more else {"uniqueName": mark})
    world.settled(case.obj())
    assert case.noted() == id_
    world.delete(case.obj())
    assert world.settle(case.obj()) is None
    assert case.only()["id"] == id_
    (told,) = [e for e in world.events if e[2] == "NotDeletedInAzure"]
    assert mark in told[3]


def test_an_annotation_alone_makes_nothing_of_somebody_else_s_ones_own(
    world, graph, case
):
    obj = case.obj("AlwaysCreate", notes={RESOURCE_ID: (id_ := case.there())})
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["severity"] == "Error"
    world.delete(obj)
    assert world.settle(obj) is None
    assert case.only()["id"] == id_
    assert not writes(world)


def test_a_change_in_entra_is_undone(world, graph, case):
    world.settled(case.obj())
    graph.change(case.noted(), displayName="x")
    world.settle(case.obj())
    assert case.only()["displayName"] == "Shop"
    assert writes(world)[-1].body == {"displayName": "Shop"}


def test_one_that_was_deleted_is_made_again_and_said(world, graph, case):
    world.settled(case.obj())
    before = case.noted()
    world.clock.advance(301.0)
    graph.remove(before)
    world.settle(case.obj())
    assert case.noted() == case.only()["id"] != before
    assert "AzureResourceRecreated" in [e[2] for e in world.events]


def test_one_that_is_not_seen_yet_is_not_taken_for_gone(world, graph, case):
    graph.lag(60.0)
    world.settled(case.obj())
    world.restart()
    assert world.run(case.obj()).requeue_after_seconds == 5.0
    world.delete(case.obj())
    assert world.settle(case.obj(), passes=40) is None
    assert not case.all()


def test_r1_8_skip_shows_and_writes_nothing(world, case):
    skip = case.obj(notes={RECONCILE_POLICY: "skip"})
    id_ = case.there(displayName="shop")
    if case.more:
        skip["spec"]["displayName"] = "another"
    world.settled(skip)
    assert status(world.read(skip))["entraID"] == id_
    world.delete(skip)
    assert world.settle(skip) is None
    assert not writes(world)


def test_missing_permissions_are_told_with_what_to_grant(world, graph, case):
    graph.deny(world.azure.client_id)
    world.apply(case.obj())
    world.run(case.obj())
    ready = world.ready(case.obj())
    assert ready["reason"] == "AuthorizationRequestDenied"
    assert "Application.ReadWrite.All" in ready["message"]


# Applications.


def application(**spec):
    return manifest("Application", "shop", None, {"displayName": "Shop", **spec})


def test_an_application_has_what_its_spec_has_and_keeps_the_rest(world, graph):
    web = {
        "redirectUris": ["https://shop/1", "https://shop/2"],
        "implicitGrantSettings": {"enableIdTokenIssuance": True},
    }
    obj = application(
        web=web, tags=["b", "a"], identifierUris=["api://shop"], description="sells"
    )
    world.settled(obj)
    (made,) = graph.entries("applications").values()
    assert (made["description"], made["tags"]) == ("sells", ["b", "a"])
    # Of others: the order of lists, and fields that the spec lacks.
    graph.change(
        made["id"], tags=["a", "b"], web={**made["web"], "homePageUrl": "https://shop"}
    )
    world.azure.journal.clear()
    world.settle(obj)
    assert not writes(world)
    shown = status(world.read(obj))
    assert shown["web"]["implicitGrantSettings"]["enableAccessTokenIssuance"] is False
    assert "homePageUrl" not in shown["web"]
    world.apply(application(web={"redirectUris": []}, tags=[], description=""))
    world.settle(obj)
    (now,) = graph.entries("applications").values()
    assert (now["tags"], now["description"]) == ([], None)
    assert now["identifierUris"] == ["api://shop"]
    assert now["web"] == {
        **made["web"],
        "redirectUris": [],
        "homePageUrl": "https://shop",
    }


def test_several_alike_are_for_a_person_to_choose_from(world, graph):
    ids = {graph.seed_in("applications", displayName="Shop") for _ in "ab"}
    world.apply(application())
    world.run(application())
    ready = world.ready(application())
    assert ready["reason"] == "AmbiguousGroup"
    assert all(id_ in ready["message"] for id_ in ids)
    assert not writes(world)


def test_a_deleted_application_can_be_restored_in_entra(world, graph):
    world.settled(application())
    id_ = annotations(world.read(application()))[RESOURCE_ID]
    world.delete(application())
    assert world.settle(application()) is None
    assert graph.deleted() == [id_]


def test_a_uri_of_another_application_is_told_in_graphs_words(world, graph):
    graph.seed_in("applications", displayName="Other", identifierUris=["api://shop"])
    obj = application(identifierUris=["api://shop"])
    world.apply(obj)
    world.run(obj)
    assert "identifierUris" in world.ready(obj)["message"]
    assert len(graph.entries("applications")) == 1


# Service principals.


def principal(**spec):
    return manifest("ServicePrincipal", "shop", None, spec)


def test_an_application_that_entra_does_not_show_yet_is_waited_for(world, graph):
    graph.lag(60.0)
    world.settled(application())
    (app,) = graph.entries("applications").values()
    obj = principal(appId=app["appId"])
    world.apply(obj)
    world.run(obj)
    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == ("ReferenceNotFound", "Warning")
    assert app["appId"] in ready["message"]
    world.clock.advance(61.0)
    world.settle(obj, passes=30)
    assert status(world.read(obj))["displayName"] == "Shop"


def test_the_application_of_a_service_principal_cannot_change(world, graph, shop):
    world.settled(principal(appId=shop))
    world.azure.journal.clear()
    world.apply(principal(appId=NOBODY))
    world.run(principal())
    ready = world.ready(principal())
    assert (ready["severity"], ready["status"]) == ("Error", "False")
    assert "cannot change" in ready["message"]
    assert not writes(world)


def test_always_create_says_that_an_application_has_one_principal(world, graph, shop):
    graph.seed_in("servicePrincipals", appId=shop)
    obj = principal(appId=shop, operatorSpec={"creationMode": "AlwaysCreate"})
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    world.delete(obj)
    world.clock.advance(301.0)
    assert world.settle(obj) is None
    assert len(graph.entries("servicePrincipals")) == 1


def test_a_principal_by_its_name_alone_is_adopted_and_never_made(world, graph, shop):
    world.apply(principal(displayName="Shop's backend"))
    world.run(principal())
    ready = world.ready(principal())
    assert ready["reason"] == "AzureResourceNotFound"
    assert "without spec.appId" in ready["message"]
    id_ = graph.seed_in("servicePrincipals", appId=shop)
    world.settle(principal())
    assert status(world.read(principal()))["entraID"] == id_


def test_a_principal_of_nothing_is_a_sentence(world):
    world.apply(principal())
    world.run(principal())
    assert "displayName" in world.ready(principal())["message"]
