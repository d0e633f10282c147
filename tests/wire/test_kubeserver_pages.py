"""Lists in pages across a watch cache that has forgotten where they began."""

from kubeapi import kube_server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. "
    "You can start a new list without the continue parameter, or use the continue "
    "token in this response to retrieve the remainder of the results. Continuing with "
    "the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may "
    "show up in the list."
)


def test_an_expired_page_says_how_to_go_on():
    with kube_server() as (server, client):
        for name in "abcde":
            client.post(CONFIG_MAPS, {"metadata": {"name": name}})
        first = client.get(CONFIG_MAPS, limit=2)
        token = {"continue": first.json["metadata"]["continue"]}
        client.delete(f"{CONFIG_MAPS}/d")
        server.forget_changes()
        answer = client.get(CONFIG_MAPS, limit=2, **token)
        assert answer.status == 410
        assert answer.json["reason"] == "Expired"
        assert answer.json["message"] == TOO_OLD
        fresh = answer.json["metadata"]["continue"]
        rest = client.get(CONFIG_MAPS, limit=2, **{"continue": fresh})
        assert [item["metadata"]["name"] for item in rest.json["items"]] == ["c", "e"]
        assert int(rest.json["metadata"]["resourceVersion"]) > int(
            first.json["metadata"]["resourceVersion"]
        )


def test_an_exact_version_that_is_forgotten_has_no_way_on():
    with kube_server() as (server, client):
        listed = client.get(CONFIG_MAPS)
        client.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
        server.forget_changes()
        query = {"resourceVersionMatch": "Exact"}
        version = listed.json["metadata"]["resourceVersion"]
        answer = client.get(CONFIG_MAPS, resourceVersion=version, **query)
        assert answer.status == 410
        assert answer.json["metadata"] == {}
        assert answer.json["message"] == (
            "The resourceVersion for the provided list is too old."
        )
