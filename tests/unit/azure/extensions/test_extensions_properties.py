"""All built-in extensions against an Azure that answers anything, and all exporters over
seeded histories of faults, foreign Secrets and restarts.
"""

import random
from base64 import b64decode
from types import SimpleNamespace

import attrs
import pytest
from extensions_chains import cr, default, status_at, version
from test_extensions_exporters import REQUEST_IDS, REQUESTS, asking, exported

from asoreconcile.azure.arm import outcomes
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import ExtensionFailedError, linked
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR, IMPORT
from asoreconcile.azure.middleware.requests import (
    ModifyPayload,
    PreReconcileOwner,
)
from asoreconcile.azure.reconcile.exports.export import Exporter
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.state.export_cache import ROTATE
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault, fake_ctx
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import ObjectKey, copy_json
from asoreconcile.kube.errors import InvalidError, NotFoundError
from asoreconcile.kube.resources import SECRETS
from asoreconcile.testing.clock import FakeClock

FAULTS = [arm_fault(status, "Odd") for status in (403, 404, 409, 429, 500, 503)]
FAULTS.append(arm_fault(404, "ResourceNotFound"))
FAULTS.append(ArmTransportError("cut", sent="maybe", method="POST", url="https://a"))
BODIES = [None, {}, {"properties": None}, {"value": []}, {"keys": None}, {"odd": [1]}]
READING = {"GET", "HEAD", "LIST"}


class AnyArm(FakeArm):
    """An Azure that answers each request alike."""

    def __init__(self, answer):
        super().__init__()
        self._answer_all = answer

    def _answer(self, method, path, api_version):
        self.sent.append((method, path, api_version))
        if isinstance(self._answer_all, Exception):
            raise self._answer_all
        if method == "LIST":
            return [self._answer_all or {}]
        return copy_json(self._answer_all)

    def _outcome(self, method, path, api_version):
        return outcomes.OperationDone(self._answer(method, path, api_version))


def links():
    for one in builtin_sets():
        for link in one.freeze():
            yield pytest.param(
                one.name, link, id=f"{link.kind.kind}-{link.point.name}-{link.name}"
            )


def requests_of(link, ctx):
    """Requests with an object that asks for all that its kind can export."""
    kind = f"{link.kind.group.removesuffix('.azure.com')}/{link.kind.kind}"
    keys = version(kind).exports.secrets
    busy = status_at("provisioningState", "Updating") | {"id": ctx.arm_id}
    for obj in (cr(kind), {**asking(kind, keys, busy)}):
        if link.point.request is ModifyPayload:
            for mode in ("purgeThenCreate", "createOrRecover"):
                body = {"name": "a", "properties": {"createMode": mode}}
                yield ModifyPayload(ctx, obj, body, is_first=True)
        elif link.point.request is PreReconcileOwner:
            yield PreReconcileOwner(ctx, obj, obj)
        else:
            yield link.point.request(ctx, obj)


@pytest.mark.parametrize(("name", "link"), [*links()])
def test_no_extension_destroys_anything_or_breaks_a_rule_whatever_azure_answers(
    name, link
):
    if link.point in (CLASSIFY_ERROR, IMPORT):
        return  # they send no request
    for answer in (*FAULTS, *BODIES):
        arm = AnyArm(answer)
        ctx = attrs.evolve(
            fake_ctx(version_of(link), arm=arm, arm_id=id_of(link)), only_reports=True
        )
        for request in requests_of(link, ctx):
            arm.sent.clear()
            ctx.read = None
            try:
                linked(link, name, link.point.default)(request)
            except ExtensionFailedError as failed:
                raise AssertionError(str(failed)) from failed
            except (ArmError, ArmTransportError, AsoreconcileError):
                pass  # shown in a condition
            writes = [one for one in arm.sent if one[0] not in READING]
            assert all(is_allowed(link, *write[:2]) for write in writes), writes


def is_allowed(link, method, path):
    """The requests other than reads that the kind of a point is for."""
    if link.point.name == "delete":
        return method == "DELETE"
    action = path.rpartition("/")[2].lower()
    is_fetch = action.startswith("list") or action == "sharedkeys"
    is_made = action == "requestadmincredential"
    return (
        method == "POST"
        and link.point.name == "export-secrets"
        and (is_fetch or is_made)
    )


def version_of(link):
    return version(f"{link.kind.group.removesuffix('.azure.com')}/{link.kind.kind}")


def id_of(link):
    return (
        "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg"
        f"/providers/{version_of(link).arm_type.partition('/')[0]}/things/a"
    )


# Exporters over histories.

HOUR = 3600.0
RECORD_KEY = RecordKey(b"k" * 32)
OUT = ObjectKey("default", "out")


class CrashError(BaseException):
    """The process dies."""


class Cluster:
    """The Secret `out`, as `write` uses the client; None while it does not exist."""

    def __init__(self):
        self.secret, self.version, self.before_call = None, 0, lambda: None

    def get(self, resource, key):
        self.before_call()
        if resource is not SECRETS or key != OUT or self.secret is None:
            raise NotFoundError("not there", status=404)
        return copy_json(self.secret)

    def create(self, resource, wanted, *, field_manager):
        self.before_call()
        return self.put({**copy_json(wanted)})

    def patch(self, resource, key, body, **options):
        self.before_call()
        if self.secret.get("immutable"):
            raise InvalidError("field is immutable", status=422)
        data = {**self.secret["data"], **body["data"]}
        kept = {name: value for name, value in data.items() if value is not None}
        return self.put({**self.secret, "data": kept})

    def put(self, secret):
        self.version += 1
        meta = {**secret["metadata"], "resourceVersion": str(self.version)}
        self.secret = {**secret, "metadata": meta}
        return copy_json(self.secret)


class Patcher:
    """The part of `PatchHelper` that exports use."""

    def __init__(self, obj, kind):
        self.obj, self.version = obj, version(kind)
        self.key, self.generation = ObjectKey("default", "sample"), 1
        self.annotations = dict(obj["metadata"]["annotations"])

    def annotate(self, notes):
        for name, value in notes.items():
            if value is None:
                self.annotations.pop(name, None)
            else:
                self.annotations[name] = value


class History:
    """One object whose keys are exported, step by step."""

    def __init__(self, row, seed):
        self.kind, self.action, self.answer, keys = row
        self.api_version = version(self.kind).api_version
        self.random = random.Random(f"{self.kind} {self.action} {seed}")
        self.clock, self.cluster = FakeClock(), Cluster()
        self.memory = ObjectMemory("u")
        self.obj = asking(self.kind, keys)
        self.obj["metadata"] |= {"uid": "u", "annotations": {}}
        self.is_ready = self.says_failed = False
        self.fault, self.last_good, self.called_at = None, None, None
        self.has_reason, self.calls = True, 0
        self.until_crash = None

    def expected(self):
        arm = FakeArm().on("POST", f"/{self.action}", self.api_version, self.answer)
        export = exported(self.obj, self.kind, arm=arm)
        return {one.key: one.value for one in export.secrets}

    def step(self):
        getattr(self, self.random.choice(STEPS))()
        self.export()

    def passes(self):
        self.clock.advance(self.random.choice([60.0, 900.0, HOUR, 7 * HOUR]))

    def fails(self):
        self.fault = self.random.choice([*FAULTS, None, {}, {"extra": "x"}])
        self.clock.advance(HOUR)
        if self.fault is None:
            self.fault = {"value": None, "keys": None, "kubeconfigs": None}

    def regenerates(self):
        self.answer = renewed(self.answer, self.random.randrange(10**6))
        self.clock.advance(HOUR)

    def restarts(self):
        self.memory = ObjectMemory("u")
        # Keys are read again once; no credential is made for a restart.
        self.has_reason = self.has_reason or "requestAdmin" not in self.action

    def crashes(self):
        self.until_crash = self.random.randrange(5)
        self.clock.advance(self.random.choice([60.0, HOUR]))

    def rotates(self):
        self.obj["metadata"]["annotations"][ROTATE] = str(self.clock.monotonic())
        self.has_reason = True

    def is_deleted(self):
        self.cluster.secret = None
        self.has_reason = True

    def is_taken(self):
        foreign = {"name": "out", "namespace": "default"}
        self.cluster.put({"metadata": foreign, "data": {"theirs": "eA=="}})
        self.has_reason = True

    def is_edited(self):
        if self.cluster.secret is not None:
            data = {**self.cluster.secret["data"], "more": "eA=="}
            self.cluster.put({**self.cluster.secret, "data": data})
        self.has_reason = True

    def is_frozen(self):
        if self.cluster.secret is not None:
            self.cluster.put({**self.cluster.secret, "immutable": True})
        self.has_reason = True

    def _tick(self):
        if self.until_crash is not None:
            self.until_crash -= 1
            if self.until_crash < 0:
                raise CrashError

    def _arm(self):
        answer = self.answer if self.fault is None else self.fault
        arm = FakeArm().on("POST", f"/{self.action}", self.api_version, answer)
        post = arm.post

        def counted(*arguments):
            self._tick()
            self.calls += 1
            return post(*arguments)

        arm.post = counted
        return arm

    def export(self):
        status = "True" if self.is_ready else "False"
        ready = {"type": "Ready", "status": status, "observedGeneration": 1}
        self.obj["status"] = {"conditions": [ready]}
        before, calls = copy_json(self.cluster.secret), self.calls
        self.cluster.before_call = self._tick
        patcher = Patcher(self.obj, self.kind)
        exporter = Exporter(
            SimpleNamespace(
                client=self.cluster,
                extensions=default(),
                expressions=lambda: None,
                is_credential=lambda key: False,
                record_key=lambda: RECORD_KEY,
                exported=ExportedObjects(),
            ),
            patcher,
            fake_ctx(version(self.kind), arm=self._arm(), clock=self.clock),
            self.memory,
            HOUR,
        )
        was_ready, had_reason = self.is_ready, self.has_reason
        try:
            end = exporter.export(self.obj)
        except CrashError:
            self.memory, self.has_reason = ObjectMemory("u"), True
        except AsoreconcileError:
            self.is_ready, self.has_reason = False, True
        else:
            self.is_ready = True
            self.obj["metadata"]["annotations"] = patcher.annotations
            if end.failure is not None:
                self.says_failed = True
            elif end.is_fetched:
                self.says_failed, self.has_reason = False, False
            self.check_values(end, before)
        self.cluster.before_call = lambda: None
        self.check_foreign(before)
        self.check_calls(calls, had_reason=had_reason or not was_ready)
        self.until_crash = self.fault = None

    def check_foreign(self, before):
        if before is not None and "ownerReferences" not in before["metadata"]:
            assert self.cluster.secret == before
        for value in ((self.cluster.secret or {}).get("data") or {}).values():
            assert value != ""

    def check_values(self, end, before):
        """Ready is True: the Secret has Azure's values, or a condition says why not."""
        if end.failure is not None:
            assert self.cluster.secret == before
        elif end.is_fetched:
            self.last_good = decoded(self.cluster.secret)
            assert self.last_good == self.expected()
        else:
            assert decoded(self.cluster.secret) == self.last_good
            is_old = self.clock.monotonic() - self.called_at > HOUR
            assert self.says_failed or not is_old or "requestAdmin" in self.action

    def check_calls(self, calls, *, had_reason):
        now = self.clock.monotonic()
        assert self.calls <= calls + 1
        if self.calls == calls:
            return
        if not had_reason and self.called_at is not None and not self.says_failed:
            least = 16 * HOUR if "requestAdmin" in self.action else HOUR - 60.0
            assert now - self.called_at >= least
        self.called_at = now


STEPS = [
    *("passes", "passes", "regenerates", "regenerates", "fails", "restarts"),
    *("crashes", "rotates", "is_deleted", "is_taken", "is_edited", "is_frozen"),
]


def renewed(answer, number):
    """The answer with other values; names stay."""
    if isinstance(answer, dict):
        return {
            name: value if name in ("name", "keyName") else renewed(value, number)
            for name, value in answer.items()
        }
    if isinstance(answer, list):
        return [renewed(one, number) for one in answer]
    # Four characters, so that base64 stays base64.
    return (
        f"{answer}{number:04}"[:-4] + f"{number % 10**4:04}"
        if isinstance(answer, str)
        else answer
    )


def decoded(secret):
    return {name: b64decode(value).decode() for name, value in secret["data"].items()}


@pytest.mark.parametrize("row", REQUESTS, ids=REQUEST_IDS)
def test_exports_keep_their_word_over_any_history(row):
    for seed in range(8):
        history = History(row, seed)
        for _ in range(40):
            history.step()
