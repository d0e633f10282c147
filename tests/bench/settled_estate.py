"""An estate as an operator has left it, written into both servers without one.

Of each kind one object is settled by a manager: the template. The others are what the
cluster stores of it, under other names: annotations, finalizer, status and the note of
what was put, whose fingerprints are made anew. Their resources are PUT to the simulator
by plain requests. An operator takes them for its own: it has nothing to do.
"""

from concurrent.futures import ThreadPoolExecutor

import attrs
import click
import urllib3
from time_to_ready import sign_in

from asoreconcile.azure.catalogue.body_shape import body_shape
from asoreconcile.azure.catalogue.payload import to_arm
from asoreconcile.azure.catalogue.status import status_of
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import resource_of
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    fingerprint,
    loads,
)
from asoreconcile.azure.reconcile.model.snapshot import snapshot
from asoreconcile.azure.reconcile.sync.desired import child_collections, stated_values
from asoreconcile.base import jsontext
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    annotations,
    key_of,
    spec,
    uid_of,
)

_THREADS = 4
_SECONDS = 600.0
_NAMESPACE = "default"
_LOCATION = "westeurope"
# Written by the API server, for each object anew.
_SERVERS_OWN = (
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
)
# Nothing here names a Secret: fingerprints carry the hash of none.
_NO_SECRETS = ""


@attrs.frozen
class Seed:
    """A kind, the template's name, which its objects have in no other place, and what
    is asked of Azure.
    """

    group_kind: GroupKind
    name: str
    asked: dict

    @property
    def version(self):
        return builtin().kind(self.group_kind).version()

    @property
    def resource(self):
        return resource_of(self.version)

    def manifest(self, owner):
        owned = {"owner": {"name": owner}} if owner else {}
        return {
            "apiVersion": self.version.gvk.api_version,
            "kind": self.group_kind.kind,
            "metadata": {"name": self.name, "namespace": _NAMESPACE},
            "spec": {**owned, "location": _LOCATION, **self.asked},
        }


GROUP = Seed(GroupKind("resources.azure.com", "ResourceGroup"), "seedgroup", {})
MEMBERS = (
    Seed(
        GroupKind("network.azure.com", "VirtualNetwork"),
        "seednetwork",
        {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
    ),
    Seed(
        GroupKind("storage.azure.com", "StorageAccount"),
        "seedstorage",
        {
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
            "accessTier": "Hot",
            "minimumTlsVersion": "TLS1_2",
            "allowBlobPublicAccess": False,
        },
    ),
    Seed(
        GroupKind("managedidentity.azure.com", "UserAssignedIdentity"),
        "seedidentity",
        {"tags": {"team": "red"}},
    ),
)
# A group and nine in it.
_TEN = 10


def is_noted(client, seed):
    """Whether an operator has noted what the seed's PUT came to."""
    obj = client.get(seed.resource, ObjectKey(_NAMESPACE, seed.name))
    note = loads(annotations(obj).get(OBSERVED, ""))
    return note is not None and bool(note.rest)


@attrs.frozen
class _Template:
    """A settled object, as text without what the server writes, and whose it is.

    principal: the tenant, the client and the subscription of the credential.
    """

    seed: Seed
    text: str
    owner_uid: str
    principal: tuple[str, str, str]

    @classmethod
    def of(cls, client, azure, seed, owner_uid):
        obj = client.get(seed.resource, ObjectKey(_NAMESPACE, seed.name))
        if obj["metadata"]["generation"] != 1:
            message = f"{seed.name} was changed after it was made"
            raise click.ClickException(message)
        for name in _SERVERS_OWN:
            obj["metadata"].pop(name)
        template = cls(seed, jsontext.dumps(obj).decode(), owner_uid, azure.principal)
        # What is made here in the operator's place has to be what it makes.
        again = template.settled(obj, azure.get(template.arm_url(obj)))
        if again != obj:
            message = f"{seed.name} is {obj}, and not {again}"
            raise click.ClickException(message)
        return template

    def copy(self, name, owner, owner_uid):
        """The object under another name, of another group."""
        text = self.text.replace(self.seed.name, name)
        if owner:
            text = text.replace(GROUP.name, owner).replace(self.owner_uid, owner_uid)
        return jsontext.loads(text)

    def arm_url(self, obj):
        api_version = self.seed.version.api_version
        return f"{annotations(obj)[RESOURCE_ID]}?api-version={api_version}"

    def body(self, obj):
        """What is PUT for it."""
        name = obj["metadata"]["name"]
        return to_arm(self.seed.version, spec(obj), name=name, inputs=None)

    def settled(self, obj, have):
        """The object once its resource is as Azure has it."""
        reported = status_of(self.seed.version, have)
        conditions = {"conditions": obj["status"]["conditions"]}
        notes = {**annotations(obj), OBSERVED: self._noted(obj, have)}
        meta = {**obj["metadata"], "annotations": notes}
        return {**obj, "metadata": meta, "status": {**reported, **conditions}}

    def _noted(self, obj, have):
        """The note of the PUT, and of what it came to."""
        version = self.seed.version
        body, arm_id = self.body(obj), annotations(obj)[RESOURCE_ID]
        put = fingerprint(
            arm_id.lower(),
            version.api_version,
            body,
            stated_values(spec(obj)),
            _NO_SECRETS,
            self.principal,
        )
        children = child_collections(version, builtin())
        rest = snapshot(body_shape(version), body, have, children=children)
        note = attrs.evolve(loads(annotations(obj)[OBSERVED]), put=put, rest=rest)
        return note.dumps()


class SettledEstate:
    """What is there, and more of it. Made once the templates are Ready."""

    def __init__(self, world, client):
        self._client = client
        self._azure = azure = _Azure(world)
        uid = uid_of(client.get(GROUP.resource, ObjectKey(_NAMESPACE, GROUP.name)))
        self._group = _Template.of(client, azure, GROUP, "")
        self._members = [_Template.of(client, azure, m, uid) for m in MEMBERS]
        self.count = 1 + len(MEMBERS)

    def grow(self, count):
        """Have so many objects in all, each with its resource."""
        firsts = range(self.count, count, _TEN)
        sizes = (min(_TEN, count - first) for first in firsts)
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(self._add, firsts, sizes):
                pass  # raises what a thread has raised
        self.count = max(self.count, count)

    def _add(self, first, count):
        """A group and what is in it."""
        owner = f"group{first:06}"
        uid = self._write(self._group, owner, "", "")
        for index in range(count - 1):
            template = self._members[index % len(self._members)]
            kind = template.seed.name.removeprefix("seed")
            self._write(template, f"{kind}{first:06}{index}", owner, uid)

    def _write(self, template, name, owner, owner_uid):
        obj = template.copy(name, owner, owner_uid)
        url = template.arm_url(obj)
        self._azure.put(url, template.body(obj))
        settled = template.settled(obj, self._azure.get(url))
        resource = template.seed.resource
        made = self._client.create(resource, settled)
        status = {"status": settled["status"]}
        self._client.patch(resource, key_of(settled), status, subresource="status")
        return uid_of(made)


class _Azure:
    """Requests to the simulator, without an operator's budget."""

    def __init__(self, world):
        settings, trusted = world.settings, str(world.folder / "azure-ca.pem")
        self._endpoint, token = sign_in(world)
        self.principal = tuple(
            settings[f"AZURE_{name}_ID"].lower()
            for name in ("TENANT", "CLIENT", "SUBSCRIPTION")
        )
        self._pool = urllib3.PoolManager(ca_certs=trusted, maxsize=_THREADS)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }

    def put(self, url, body):
        self._ask("PUT", url, jsontext.dumps(body))

    def get(self, url):
        return jsontext.loads(self._ask("GET", url, None).data)

    def _ask(self, method, url, body):
        answer = self._pool.request(
            method,
            f"{self._endpoint}{url}",
            body=body,
            headers=self._headers,
            timeout=_SECONDS,
        )
        if answer.status not in (200, 201, 202):
            message = f"{method} {url}: {answer.status} {answer.data[:500]!r}"
            raise click.ClickException(message)
        return answer
