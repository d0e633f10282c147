"""DELETE: finalizers, preconditions, propagation, collections."""

from collections.abc import Iterator

import pytest
from contractclient import GROUP, Server, config_maps, widget, widgets


@pytest.fixture
def held(server: Server, namespace: str) -> Iterator[str]:
    """The path of a widget that a finalizer holds."""
    body = widget("held")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    server.post(widgets(namespace), body).expect(201)
    path = widgets(namespace, "held")
    yield path
    server.patch(path, {"metadata": {"finalizers": None}})


def test_without_finalizers_the_answer_is_a_status(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json
    status = server.delete(widgets(namespace, "a")).expect(200).json
    assert (status["kind"], status["status"]) == ("Status", "Success")
    assert status["details"] == {
        "name": "a",
        "group": GROUP,
        "kind": "widgets",
        "uid": made["metadata"]["uid"],
    }
    server.get(widgets(namespace, "a")).refused(404, "NotFound")


def test_with_a_finalizer_the_answer_is_the_object(server: Server, held: str):
    before = server.get(held).json["metadata"]
    meta = server.delete(held).expect(200).json["metadata"]
    assert meta["deletionTimestamp"]
    assert meta["deletionGracePeriodSeconds"] == 0
    assert meta["generation"] == before["generation"] + 1
    assert int(meta["resourceVersion"]) > int(before["resourceVersion"])


def test_a_second_delete_changes_nothing(server: Server, held: str):
    first = server.delete(held).expect(200)
    again = server.delete(held).expect(200)
    assert again.rv == first.rv
    assert again.json["metadata"]["generation"] == first.json["metadata"]["generation"]


def test_no_finalizer_may_join_while_terminating(server: Server, held: str):
    server.delete(held).expect(200)
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}}
    answer = server.patch(held, more)
    answer.refused(422, "Invalid")
    assert answer.causes[0]["field"] == "metadata.finalizers"
    assert answer.causes[0]["reason"] == "FieldValueForbidden"


def test_the_spec_may_change_while_terminating(server: Server, held: str):
    gone = server.delete(held).expect(200).json["metadata"]
    after = server.patch(held, {"spec": {"size": 5}}).expect(200).json["metadata"]
    assert after["generation"] == gone["generation"] + 1
    assert after["deletionTimestamp"] == gone["deletionTimestamp"]


def test_the_patch_of_the_last_finalizer_answers_with_the_version_before(
    server: Server, namespace: str, held: str
):
    going = server.delete(held).expect(200)
    with server.watch(widgets(namespace), resourceVersion=going.rv) as events:
        last = server.patch(held, {"metadata": {"finalizers": None}}).expect(200)
        assert last.rv == going.rv
        assert "finalizers" not in last.json["metadata"]
        event = next(events)
    assert event["type"] == "DELETED"
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(going.rv)
    server.get(held).refused(404, "NotFound")


def test_a_uid_precondition_that_fails_is_a_conflict(server: Server, namespace: str):
    made = server.post(widgets(namespace), widget("a")).expect(201).json["metadata"]
    wrong = "8f0c7c5e-0000-4000-8000-000000000000"
    answer = server.delete(widgets(namespace, "a"), {"preconditions": {"uid": wrong}})
    refusal = answer.refused(409, "Conflict")
    assert refusal["details"]["kind"] == "Widget"
    assert refusal["message"].endswith(
        f"the UID in the precondition ({wrong}) does not match the UID in record "
        f"({made['uid']}). The object might have been deleted and then recreated"
    )


def test_a_version_precondition_that_fails_is_a_conflict(
    server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("a")).expect(201)
    server.patch(widgets(namespace, "a"), {"spec": {"size": 2}}).expect(200)
    answer = server.delete(
        widgets(namespace, "a"), {"preconditions": {"resourceVersion": made.rv}}
    )
    refusal = answer.refused(409, "Conflict")
    assert refusal["details"]["kind"] == "Widget"
    assert "the ResourceVersion in the precondition (" in refusal["message"]


def test_preconditions_that_hold_delete(server: Server, namespace: str):
    meta = server.post(widgets(namespace), widget("a")).expect(201).json["metadata"]
    hold = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    server.delete(widgets(namespace, "a"), {"preconditions": hold}).expect(200)


@pytest.mark.parametrize(
    ("policy", "finalizer"),
    [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")],
)
def test_a_policy_is_a_finalizer(server: Server, held: str, policy: str, finalizer):
    going = server.delete(held, {"propagationPolicy": policy}).expect(200).json
    assert finalizer in going["metadata"]["finalizers"]
    assert going["metadata"]["deletionTimestamp"]


def test_a_policy_can_be_in_the_query(server: Server, held: str):
    going = server.delete(held, propagationPolicy="Foreground").expect(200).json
    assert "foregroundDeletion" in going["metadata"]["finalizers"]


def test_an_unknown_policy_is_invalid(server: Server, held: str):
    answer = server.delete(held, {"propagationPolicy": "Sideways"})
    answer.refused(422, "Invalid")
    assert answer.json["details"]["kind"] == "DeleteOptions"
    assert answer.causes[0]["field"] == "propagationPolicy"


def test_a_dry_run_deletes_nothing(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    server.delete(widgets(namespace, "a"), dryRun="All").expect(200)
    server.delete(widgets(namespace, "a"), {"dryRun": ["All"]}).expect(200)
    server.get(widgets(namespace, "a")).expect(200)


def test_deleting_what_is_not_there_is_not_found(server: Server, namespace: str):
    answer = server.delete(widgets(namespace, "nobody"))
    assert answer.refused(404, "NotFound")["details"]["kind"] == "widgets"


def test_delete_options_must_be_that(server: Server, namespace: str):
    server.post(widgets(namespace), widget("a")).expect(201)
    answer = server.delete(widgets(namespace, "a"), widget("a"))
    assert answer.refused(400, "BadRequest")["message"].startswith(
        'no kind "Widget" is registered'
    )
    server.get(widgets(namespace, "a")).expect(200)


def test_a_collection_goes_by_selector(server: Server, namespace: str):
    for name, kind in (("a", "x"), ("b", "x"), ("c", "y")):
        body = widget(name)
        body["metadata"]["labels"] = {"kind": kind}
        server.post(widgets(namespace), body).expect(201)
    answer = server.delete(widgets(namespace), labelSelector="kind=x").expect(200)
    assert answer.json["kind"] == "WidgetList"
    assert [o["metadata"]["name"] for o in answer.json["items"]] == ["a", "b"]
    left = server.get(widgets(namespace)).json["items"]
    assert [o["metadata"]["name"] for o in left] == ["c"]
    server.delete(widgets(namespace), fieldSelector="metadata.name=c").expect(200)
    assert server.get(widgets(namespace)).json["items"] == []


def test_a_built_in_answers_a_status_too(server: Server, namespace: str):
    made = server.post(config_maps(namespace), {"metadata": {"name": "a"}}).json
    status = server.delete(config_maps(namespace, "a")).expect(200).json
    assert status["details"] == {
        "name": "a",
        "kind": "configmaps",
        "uid": made["metadata"]["uid"],
    }


def test_a_deleted_object_ends_with_a_version_of_its_own(
    server: Server, namespace: str
):
    made = server.post(widgets(namespace), widget("a", size=3)).expect(201)
    with server.watch(widgets(namespace), resourceVersion=made.rv) as events:
        server.delete(widgets(namespace, "a")).expect(200)
        event = next(events)
    assert event["type"] == "DELETED"
    assert event["object"]["spec"] == {"size": 3}
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(made.rv)


def test_a_name_can_be_used_again(server: Server, namespace: str):
    first = server.post(widgets(namespace), widget("a")).expect(201).json["metadata"]
    server.delete(widgets(namespace, "a")).expect(200)
    second = server.post(widgets(namespace), widget("a")).expect(201).json["metadata"]
    assert first["uid"] != second["uid"]
