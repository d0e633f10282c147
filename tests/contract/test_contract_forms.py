"""Versions of the forms that objects are shown in; seconds of grace."""

import pytest
from contractclient import config_maps, widget, widgets


def made(server, path, namespace, name, **meta):
    """An object of either kind, in a server."""
    obj = widget(name) if path is widgets else {"metadata": {"name": name}}
    obj["metadata"] |= meta
    server.post(path(namespace), obj).expect(201)


@pytest.mark.parametrize(
    ("stated", "version"),
    [
        ("as=Table;v=v1beta1;g=meta.k8s.io", "meta.k8s.io/v1beta1"),
        ("as=Table;v=v1;g=meta.k8s.io", "meta.k8s.io/v1"),
        ("as=Table;v=v2;g=meta.k8s.io", None),
        ("as=Table;g=meta.k8s.io", None),
        ("as=Table;v=v1", None),
    ],
)
@pytest.mark.parametrize("path", [config_maps, widgets])
def test_a_form_has_a_version(server, namespace, path, stated, version):
    accept = f"application/json;{stated}"
    found = server.call("GET", path(namespace), headers={"Accept": accept})
    either = server.call(
        "GET", path(namespace), headers={"Accept": f"{accept},application/json"}
    )
    if version is None:
        found.refused(406, "NotAcceptable")
        assert either.expect(200).json["kind"].endswith("List")
        return
    for table in (found.expect(200).json, either.expect(200).json):
        assert (table["kind"], table["apiVersion"]) == ("Table", version)


@pytest.mark.parametrize("path", [config_maps, widgets])
def test_what_forms_hold_is_at_their_version(server, namespace, path):
    at = "v=v1beta1;g=meta.k8s.io"
    made(server, path, namespace, "a")

    def shown(form, *name):
        headers = {"Accept": f"application/json;as={form};{at}"}
        answer = server.call("GET", path(namespace, *name), headers=headers)
        return answer.expect(200).json

    held = shown("Table")["rows"][0]["object"]
    listed = shown("PartialObjectMetadataList")
    for part in (held, listed, *listed["items"], shown("PartialObjectMetadata", "a")):
        assert part["apiVersion"] == "meta.k8s.io/v1beta1"
        assert part["kind"].startswith("PartialObjectMetadata")


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        ("-1", ""),
        ("-5", ""),
        ("0", ""),
        ("x", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("", "invalid syntax"),
        ("9" * 20, "value out of range"),
    ],
)
@pytest.mark.parametrize("path", [config_maps, widgets])
def test_seconds_of_grace_are_whole(server, namespace, path, seconds, why):
    query = {"gracePeriodSeconds": seconds}
    answer = server.delete(path(namespace, "none"), **query)
    if not why:
        answer.refused(404, "NotFound")
        return
    told = f'strconv.ParseInt: parsing "{seconds}": {why}'
    for found in (answer, server.delete(path(namespace), **query)):
        assert found.refused(400, "BadRequest")["message"] == told


@pytest.mark.parametrize("path", [config_maps, widgets])
def test_seconds_below_0_delete_at_once_or_wait_for_finalizers(server, namespace, path):
    for name, finalizers in (("a", []), ("b", ["contract.example.com/x"])):
        made(server, path, namespace, name, finalizers=finalizers)
        body = {"gracePeriodSeconds": -1}
        found = server.delete(path(namespace, name), body).expect(200).json
        if finalizers:
            assert found["metadata"]["deletionGracePeriodSeconds"] == 0
            body = {"metadata": {"finalizers": None}}
            server.patch(path(namespace, name), body).expect(200)
        assert server.get(path(namespace, name)).status == 404
    wrong = {"gracePeriodSeconds": 1.5}
    message = server.delete(path(namespace, "a"), wrong).refused(400, "BadRequest")
    assert message["message"] == (
        "json: cannot unmarshal number 1.5 into Go struct field "
        "DeleteOptions.gracePeriodSeconds of type int64"
    )
