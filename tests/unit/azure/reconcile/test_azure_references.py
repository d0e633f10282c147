"""What a spec names is looked up in the object's own namespace, and read once."""

import base64

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.azure.reconcile.state.read_set import ReadSet
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.errors import NotFoundError

NETWORK = {"group": "network.azure.com", "kind": "VirtualNetwork", "name": "vnet"}


class Cluster:
    """Secrets, ConfigMaps and networks, by kind and namespace."""

    def __init__(self, **data):
        self.data = data
        self.reads = []

    def get(self, kind, key):
        if not hasattr(kind, "plural"):
            return self.data.get(str(key))
        self.reads.append((kind.kind, str(key)))
        found = self.data.get(f"{kind.kind}:{key}")
        if found is None:
            raise NotFoundError("none", status=404)
        return {"metadata": {"name": key.name, "uid": "1"}, "data": found}

    def is_installed(self, _):
        return True


def references(namespace, **data):
    cluster = Cluster()
    cluster.data = data
    made = ReferenceResolver(
        namespace, client=cluster, objects=cluster, read_set=ReadSet()
    )
    return made, cluster


def encoded(text):
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(("namespace", "found"), [("here", True), ("there", False)])
def test_a_reference_stays_in_its_namespace(namespace, found):
    network = {"metadata": {"annotations": {RESOURCE_ID: "/id"}}}
    key = str(ObjectKey("here", "vnet"))
    refs, _ = references(namespace, **{key: network})
    if found:
        assert refs.reference(NETWORK) == "/id"
        return
    with pytest.raises(ConditionError, match="does not exist in this namespace"):
        refs.reference(NETWORK)


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_an_input_stays_in_its_namespace_and_is_read_once(kind):
    key = ObjectKey("here", "in")
    value = encoded("x") if kind == "Secret" else "x"
    refs, cluster = references("here", **{f"{kind}:{key}": {"a": value, "b": value}})
    read = refs.secret if kind == "Secret" else refs.config_map
    assert [read({"name": "in", "key": k}) for k in ("a", "b", "a")] == ["x"] * 3
    assert cluster.reads == [(kind, str(key))]
    elsewhere, _ = references("there", **{f"{kind}:{key}": {"a": value}})
    reader = elsewhere.secret if kind == "Secret" else elsewhere.config_map
    with pytest.raises(ConditionError) as caught:
        reader({"name": "in", "key": "a"})
    assert caught.value.reason == f"{kind}NotFound"


def test_a_reference_that_has_no_id_yet_says_whose_condition_to_see():
    refs, _ = references("here", **{"here/vnet": {"metadata": {}}})
    with pytest.raises(ConditionError, match="no Azure resource id yet") as caught:
        refs.reference(NETWORK)
    assert caught.value.reason == "ReferenceNotFound"


LOGIN = {"AZURE_CLIENT_ID": encoded("id"), "AZURE_CLIENT_SECRET": encoded("s")}


def reader(secret_data, *, owner=None, named=True):
    """A resolver whose Secret `login` is named as a credential, and its cluster."""
    resolver, cluster = references("here", **{"Secret:here/login": secret_data})
    resolver._is_credential = lambda key: named and key == ObjectKey("here", "login")
    if owner:
        read = cluster.get

        def owned(kind, key):
            obj = read(kind, key)
            obj["metadata"]["ownerReferences"] = [{"apiVersion": owner}]
            return obj

        cluster.get = owned
    return resolver, cluster


@pytest.mark.parametrize(
    "name",
    ["aso-credential", "aso-controller-settings", "asoreconcile-webhook-certificate"],
)
def test_a_resource_reads_no_secret_of_the_operator(name):
    resolver, cluster = references("here", **{f"Secret:here/{name}": LOGIN})
    for read in (resolver.secret, resolver.secret_map):
        with pytest.raises(ConditionError, match="no resource may read it") as raised:
            read({"name": name, "key": "AZURE_CLIENT_SECRET"})
        assert raised.value.severity == "Error"
    assert cluster.reads == []


def test_a_resource_reads_no_secret_that_objects_sign_in_with():
    resolver, _ = reader(LOGIN)
    with pytest.raises(ConditionError, match="no resource may read it"):
        resolver.secret({"name": "login", "key": "AZURE_CLIENT_SECRET"})


WHOLE = {
    **LOGIN,
    "AZURE_TENANT_ID": encoded("t"),
    "AZURE_SUBSCRIPTION_ID": encoded("s"),
}


@pytest.mark.parametrize("more", [{}, {"AUTH_MODE": encoded("podidentity")}, {"a": ""}])
def test_a_resource_reads_no_secret_that_holds_a_login_whatever_names_it(more):
    """An author can take `credential-from` off its object, and then name the Secret."""
    resolver, _ = reader({**WHOLE, **more}, named=False)
    for read in (resolver.secret, resolver.secret_map):
        with pytest.raises(ConditionError, match="holds a login") as raised:
            read({"name": "login", "key": "AZURE_CLIENT_SECRET"})
        assert "asoreconcile/logins-as-values" in str(raised.value)
    resolver._may_read_logins = lambda: True
    assert resolver.secret({"name": "login", "key": "AZURE_CLIENT_SECRET"}) == "s"


@pytest.mark.parametrize("lacking", ["AZURE_SUBSCRIPTION_ID", "AZURE_TENANT_ID"])
@pytest.mark.parametrize("value", ["", None])
def test_a_secret_without_all_that_a_login_needs_may_be_read(lacking, value):
    """Such as the credential of an application of the author's own."""
    data = {key: given for key, given in WHOLE.items() if key != lacking}
    if value is not None:
        data[lacking] = value
    resolver, _ = reader(data, named=False)
    assert resolver.secret({"name": "login", "key": "AZURE_CLIENT_SECRET"}) == "s"


@pytest.mark.parametrize(
    "options",
    [
        {"named": False, "secret_data": LOGIN},
        {"secret_data": {"password": encoded("p")}},
        {"secret_data": LOGIN, "owner": "managedidentity.azure.com/v20230131"},
    ],
    ids=["no credential", "no keys of one", "an export"],
)
def test_naming_a_secret_as_a_credential_alone_forbids_no_reading(options):
    resolver, _ = reader(**options)
    assert resolver.secret_map({"name": "login"})
