"""Importing an estate from the simulator: what is found, what fails, what is
written.
"""

import errno
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import yaml
from azure.core.credentials import AccessToken
from click.testing import CliRunner

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.catalogue.render import render
from asoreconcile.azure.cmd import manifest_output
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.reconcile.planning.resource_import.importer import (
    NotImportableError,
    ResourceImporter,
)
from asoreconcile.azure.reconcile.planning.resource_import.options import ImportOptions
from asoreconcile.azure.reconcile.planning.resource_import.report import Reporter
from asoreconcile.base import jsontext
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import GroupKind
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse

POLICY = "serviceoperator.azure.com/reconcile-policy"
ONLY = ("resources.azure.com/*", "network.azure.com/*", "storage.azure.com/*")


@pytest.fixture
def azure(tmp_path, monkeypatch):
    with ArmServer(clock=FakeClock(), page_size=2) as server:
        server.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        for name, value in server.settings().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def group(azure):
    """A group with a network of three subnets, its security group and an account."""
    group = f"/subscriptions/{azure.subscription_id}/resourceGroups/Shop"
    azure.seed(group, {"location": "westeurope", "tags": {"team": "shop"}})
    network = f"{group}/providers/Microsoft.Network"
    azure.seed(f"{network}/networkSecurityGroups/web", {"location": "westeurope"})
    space = {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}
    azure.seed(
        f"{network}/virtualNetworks/Shop_Net",
        {"location": "westeurope", "properties": space},
    )
    for number in range(3):
        azure.seed(
            f"{network}/virtualNetworks/Shop_Net/subnets/s{number}",
            {
                "properties": {
                    "addressPrefix": f"10.0.{number}.0/24",
                    "networkSecurityGroup": {
                        "id": f"{network}/networkSecurityGroups/WEB"
                    },
                }
            },
        )
    azure.seed(
        f"{group}/providers/Microsoft.Storage/storageAccounts/shopfiles",
        {
            "location": "westeurope",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
        },
    )
    return group


@pytest.fixture
def client(azure):
    class SignedIn:
        def get_token(self, *scopes, **options):
            return AccessToken(azure.entra.issue(azure.client_id), 1 << 40)

    made = ArmClient(azure.url, SignedIn(), scope="s", clock=FakeClock())
    yield made
    made.close()


def wanted(kind):
    return kind.group in {one.partition("/")[0] for one in ONLY}


def imported(client, *arm_ids, reporter=None, clock=None, **options):
    importer = ResourceImporter(
        client,
        builtin(),
        builtin_sets(),
        options=ImportOptions(**{"wanted": wanted, **options}),
        reporter=reporter,
        clock=clock or FakeClock(),
    )
    return importer.run(arm_ids)


def named(result):
    return {(m.obj["kind"], m.obj["metadata"]["name"]): m.obj for m in result.manifests}


def test_q2_a_group_is_imported_with_all_below_it_and_refers_to_itself(client, group):
    result = imported(client, group, namespace="shop", labels={"a": "b"})
    objs = named(result)
    subnet = objs["VirtualNetworksSubnet", "s1"]
    assert subnet["metadata"] == {
        "name": "s1",
        "namespace": "shop",
        "labels": {"a": "b"},
        "annotations": {POLICY: "skip"},
    }
    assert subnet["spec"]["owner"] == {"name": "shop-net"}
    assert subnet["spec"]["networkSecurityGroup"] == {
        "reference": {
            "group": "network.azure.com",
            "kind": "NetworkSecurityGroup",
            "name": "web",
        }
    }
    network = objs["VirtualNetwork", "shop-net"]
    assert network["spec"]["azureName"] == "Shop_Net"
    assert network["spec"]["owner"] == {"name": "shop"}
    assert "owner" not in objs["ResourceGroup", "shop"]["spec"]
    assert objs["ResourceGroup", "shop"]["spec"]["tags"] == {"team": "shop"}
    assert {name for kind, name in objs if kind.endswith("Subnet")} == {
        "s0",
        "s1",
        "s2",
    }
    assert result.report.is_complete


def test_each_id_is_read_once_whatever_its_case(azure, client, group):
    azure.journal.clear()
    made = imported(client, group, group.upper().replace("/SUBSCR", "/subscr"), group)
    read = Counter(e.path.lower() for e in azure.journal)
    ids = [arm_id.lower() for arm_id in azure.resources()]
    assert max(read[one] for one in ids) == 1
    assert sum(read[one] for one in ids) == len(made.manifests) > 6


def test_an_owner_that_is_not_imported_is_named_by_its_id(client, group):
    arm_id = f"{group}/providers/Microsoft.Network/virtualNetworks/Shop_Net/subnets/s0"
    (made,) = imported(client, arm_id).manifests
    assert made.obj["spec"]["owner"] == {"armId": arm_id.rpartition("/subnets")[0]}
    assert "armId" in made.obj["spec"]["networkSecurityGroup"]["reference"]


def test_what_was_imported_renders_to_what_is_in_azure(client, group, tmp_path, azure):
    result = imported(client, group, workers=2)
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([m.obj for m in result.manifests]))
    requests = render(
        builtin(), read_manifests([path]), subscription_id=azure.subscription_id
    ).requests
    found = {r.path.lower() for r in requests}
    seeded = {k.lower() for k in azure.resources()}
    assert found <= seeded
    assert len(found) == len(result.manifests)


def test_two_runs_say_the_same(client, group):
    first, second = (imported(client, group, workers=n) for n in (1, 8))
    assert first.manifests == second.manifests


def test_a_list_that_fails_costs_its_children_and_not_the_parent(azure, client, group):
    azure.faults.answer("GET", "/subnets$", 403, body=error("AuthorizationFailed"))
    result = imported(client, group)
    assert ("VirtualNetwork", "shop-net") in named(result)
    (failed,) = [o for o in result.report.outcomes if o.status == "failed"]
    assert failed.arm_id.endswith("/subnets")
    assert "access is forbidden (AuthorizationFailed)" in failed.reason
    assert not result.report.is_complete


def error(code):
    return {"error": {"code": code, "message": "no"}}


def test_a_type_that_a_place_does_not_have_is_no_failure(azure, client, group):
    azure.faults.answer("GET", "/subnets$", 400, body=error("UnsupportedResourceType"))
    assert imported(client, group).report.is_complete


def listing(azure, path, change):
    """Answer a list with its entries changed."""
    handle = azure.faults.around

    def around(request, inner):
        answer = handle(request, inner)
        if not request.path.lower().endswith(path.lower()):
            return answer
        page = jsontext.loads(answer.body)
        page["value"] = [change(dict(entry)) for entry in page["value"]]
        return HttpResponse(200, jsontext.dumps(page))

    azure.faults.around = around


@pytest.mark.parametrize("path", ["/resources", "/subnets"])
@pytest.mark.parametrize("odd", [None, 5, "", "x", "/subscriptions/s/../t"])
def test_a_list_without_ids_is_said_and_the_rest_is_kept(
    azure, client, group, path, odd
):
    listing(azure, path, lambda entry: {**entry, "id": odd})
    found = imported(client, group)
    (failed,) = (o for o in found.report.outcomes if o.status == "failed")
    assert failed.arm_id.endswith(path)
    assert "entries without an id are left out: see whether a proxy" in failed.reason
    assert "ResourceGroup" in {one.obj["kind"] for one in found.manifests}


def test_a_list_of_another_group_adds_nothing(azure, client, group):
    other = f"{group}2"
    listing(
        azure,
        "/resources",
        lambda entry: {**entry, "id": entry["id"].replace(group, other)},
    )
    found = imported(client, group)
    assert {one.obj["kind"] for one in found.manifests} == {"ResourceGroup"}
    assert not [r for r in azure.journal if other in r.path]


def test_an_entry_of_another_type_than_its_id_is_not_read_as_either(
    azure, client, group
):
    type_ = "Microsoft.Storage/storageAccounts"
    listing(azure, "/resources", lambda entry: {**entry, "type": type_})
    made = [one.obj for one in imported(client, group).manifests]
    assert {o["kind"] for o in made} >= {"ResourceGroup", "StorageAccount"}
    assert not [o for o in made if "net" in o["metadata"]["name"]]


def test_an_answer_that_shows_no_resource_is_no_manifest(azure, client, group):
    azure.faults.respond("GET", "/shopfiles$", HttpResponse(200, b"{}"))
    found = imported(client, group)
    (failed,) = (o for o in found.report.outcomes if o.status == "failed")
    assert failed.arm_id.endswith("/shopfiles")
    assert "shows no resource" in failed.reason
    assert "StorageAccount" not in {one.obj["kind"] for one in found.manifests}


def test_a_root_that_is_not_there_is_a_failure(client, group):
    result = imported(client, f"{group}-gone")
    assert result.manifests == ()
    assert [o.reason for o in result.report.outcomes] == ["the resource does not exist"]


@pytest.mark.parametrize(
    ("arm_id", "message"),
    [
        ("nonsense", "an ARM id starts with"),
        ("/subscriptions/s/resourceGroups/rg/providers/Microsoft.X/y/z", "no kind"),
        (
            (
                "/subscriptions/s/resourceGroups/rg/providers/"
                "Microsoft.Storage/storageAccount/z"
            ),
            "did you mean Microsoft.Storage/storageAccounts",
        ),
        (
            (
                "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/"
                "virtualNetworks"
            ),
            "ends on a type",
        ),
    ],
)
def test_an_id_that_cannot_be_imported_says_why_before_anything_is_read(
    azure, client, arm_id, message
):
    azure.journal.clear()
    with pytest.raises(NotImportableError, match=message):
        imported(client, arm_id)
    assert not azure.journal


class Waits(Reporter):
    def __init__(self):
        self.seconds = []

    def waiting(self, seconds, why):
        self.seconds.append(seconds)


class SkippingClock(FakeClock):
    """Waits take no time: they move it on."""

    def wait(self, event, timeout_seconds):
        self.advance(timeout_seconds)
        return event.is_set()


@pytest.mark.parametrize(("asked", "waited"), [("17", 17.0), ("0", 1.0)])
def test_a_throttled_read_waits_as_long_as_asked_and_is_said(
    azure, client, group, asked, waited
):
    headers = {"Retry-After": asked}
    body = error("TooManyRequests")
    azure.faults.answer("GET", "/subnets$", 429, headers=headers, body=body, times=9)
    waits = Waits()
    result = imported(client, group, reporter=waits, clock=SkippingClock())
    assert result.report.is_complete
    assert waits.seconds == [waited] * 9


def test_a_read_that_fails_by_the_way_is_repeated_five_times(azure, client, group):
    azure.faults.answer("GET", "/s0$", 503, times=4)
    azure.faults.answer("GET", "/s1$", 503, times=5)
    result = imported(client, group, clock=SkippingClock(), workers=1)
    failed = [o.arm_id[-2:] for o in result.report.outcomes if o.status == "failed"]
    assert failed == ["s1"]


def test_who_stops_an_import_gets_what_was_read(azure, client, group):
    hold = azure.faults.hold(method="GET", path="/subnets$")
    importer = ResourceImporter(
        client, builtin(), options=ImportOptions(wanted=wanted), clock=SystemClock()
    )
    found = []
    thread = threading.Thread(target=lambda: found.append(importer.run([group])))
    thread.start()
    assert hold.wait_arrived(30)
    importer.stop()
    hold.release()
    thread.join(30)
    (result,) = found
    assert result.report.was_stopped
    assert ("VirtualNetwork", "shop-net") in named(result)
    assert not any(kind == "VirtualNetworksSubnet" for kind, _ in named(result))


@pytest.fixture
def signed_in_once(azure):
    """A client whose first token is the last, as after some hours of `az login`."""
    tokens = [AccessToken(azure.entra.issue(azure.client_id), 1 << 40)]

    class SignedInOnce:
        def get_token(self, *scopes, **options):
            if not tokens:
                raise CredentialError("no token: run `az login`")
            return tokens.pop()

    made = ArmClient(azure.url, SignedInOnce(), scope="s", clock=FakeClock())
    yield made
    made.close()


def test_who_is_signed_out_by_the_way_keeps_what_was_read(azure, group, signed_in_once):
    azure.faults.answer("GET", "/subnets$", 401, code="ExpiredAuthenticationToken")
    found = imported(signed_in_once, group)
    report = found.report
    assert report.was_stopped
    failed = [o.reason for o in report.outcomes if o.status == "failed"]
    assert failed == ["no token: run `az login`"]
    assert any(text.endswith("/Shop_Net") for text in report.unread)
    assert "ResourceGroup" in {one.obj["kind"] for one in found.manifests}


def test_who_is_signed_out_before_anything_is_read_is_told(
    azure, group, signed_in_once
):
    azure.faults.answer("GET", "/Shop$", 401, code="ExpiredAuthenticationToken")
    with pytest.raises(CredentialError, match="az login"):
        imported(signed_in_once, group)


def test_a_budget_is_kept_and_waited_for(azure, group):
    clock = SkippingClock()
    budget = Budget(clock)
    with_budget = ArmClient(
        azure.url, _signed_in(azure), scope="s", clock=clock, budget=budget
    )
    azure.faults.answer(
        "GET", "/subnets$", 429, headers={"Retry-After": "5"}, body=error("x"), times=1
    )
    try:
        assert imported(with_budget, group, clock=clock).report.is_complete
    finally:
        with_budget.close()


def _signed_in(azure):
    class SignedIn:
        def get_token(self, *scopes, **options):
            return AccessToken(azure.entra.issue(azure.client_id), 1 << 40)

    return SignedIn()


def asoctl(*arguments):
    only = [part for glob in ONLY for part in ("--only", glob)]
    words = ["import", "azure-resource", *arguments, *only]
    return CliRunner().invoke(main, words)


def test_the_command_prints_yaml_and_reports_beside_it(group):
    done = asoctl(group, "-n", "shop", "-l", "a=b,c=d", "--policy", "manage")
    assert done.exit_code == 0, done.output
    documents = list(yaml.safe_load_all(done.stdout))
    assert len(documents) > 6
    assert {d["metadata"]["annotations"][POLICY] for d in documents} == {"manage"}
    assert documents[0]["metadata"]["labels"] == {"a": "b", "c": "d"}
    assert "VirtualNetworksSubnet.network.azure.com  imported" in done.stderr


def test_kinds_can_be_left_out_and_every_manifest_annotated(group):
    done = asoctl(group, "--skip", "network.azure.com/*", "--annotation", "a/b=c")
    assert done.exit_code == 0, done.output
    documents = list(yaml.safe_load_all(done.stdout))
    groups = {d["apiVersion"].partition("/")[0] for d in documents}
    assert groups == {"resources.azure.com", "storage.azure.com"}
    assert {d["metadata"]["annotations"]["a/b"] for d in documents} == {"c"}


def test_the_newest_version_is_what_is_imported_unless_one_is_named(group):
    def versions(*arguments):
        done = asoctl(group, *arguments)
        assert done.exit_code == 0, done.output
        found = yaml.safe_load_all(done.stdout)
        return {d["apiVersion"] for d in found if d["kind"] == "VirtualNetwork"}

    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    assert versions() == {f"network.azure.com/{kind.storage}"}
    assert versions("--api-version", "newest") == versions()
    other = "network.azure.com/VirtualNetwork=v1api20240301"
    assert versions("--api-version", other) == {"network.azure.com/v1api20240301"}


def test_the_command_writes_files_and_overwrites_none_unasked(azure, group, tmp_path):
    folder = tmp_path / "out"
    assert asoctl(group, "-f", str(folder)).exit_code == 0
    assert (folder / "network-VirtualNetwork-shop-net.yaml").is_file()
    assert not list(folder.glob(".*"))
    azure.journal.clear()
    again = asoctl(group, "-f", str(folder))
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert not azure.journal, "refused before anything is read"
    assert asoctl(group, "-f", str(folder), "--force").exit_code == 0
    file = tmp_path / "all.yaml"
    assert asoctl(group, "-o", str(file)).exit_code == 0
    assert asoctl(group, "-o", str(file)).exit_code == 2
    assert len(list(yaml.safe_load_all(file.read_text()))) > 6


def test_the_command_s_exit_code_says_how_it_went(azure, group):
    azure.faults.answer("GET", "/subnets$", 403, body=error("AuthorizationFailed"))
    partly = asoctl(group)
    assert partly.exit_code == 3
    assert "cannot be listed: access is forbidden" in partly.stderr
    assert list(yaml.safe_load_all(partly.stdout))
    assert asoctl(f"{group}-gone").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "an ARM id starts with"),
        (
            [
                (
                    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage"
                    "/storageAccount/z"
                )
            ],
            "did you mean Microsoft.Storage/storageAccounts?",
        ),
        (["/subscriptions/s/resourceGroups/g", "--label", "x"], "write KEY=VALUE"),
        (["/subscriptions/s/resourceGroups/g", "--api-version", "x"], "GROUP/KIND="),
        (
            [
                "/subscriptions/s/resourceGroups/g",
                *("--api-version", "network.azure.com/VirtualNetwrk=v1"),
            ],
            "did you mean VirtualNetwork",
        ),
        (["/subscriptions/s/resourceGroups/g", "-o", "x", "-f", "y"], "either"),
    ],
)
def test_a_wrong_call_says_what_to_write(azure, arguments, message):
    done = asoctl(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_throttled_command_waits_and_says_so(azure, group):
    headers = {"Retry-After": "2"}
    body = error("TooManyRequests")
    azure.faults.answer("GET", "/subnets$", 429, headers=headers, body=body, times=1)
    done = asoctl(group)
    assert done.exit_code == 0
    assert "waiting 2 s: " in done.stderr


PROGRAM = "from asoreconcile.azure.cmd.asoctl import main; main()"


def process(*arguments, stdout=subprocess.PIPE, **options):
    only = [part for glob in ONLY for part in ("--only", glob)]
    words = ["import", "azure-resource", *arguments, *only]
    # -B: a limit on the size of files would cut bytecode that is written.
    return subprocess.Popen(
        [sys.executable, "-B", "-c", PROGRAM, *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_ctrl_c_keeps_what_is_read_and_says_how_to_go_on(azure, group):
    hold = azure.faults.hold(method="GET", path="/subnets$")
    with process(group) as running:
        assert hold.wait_arrived(60)
        running.send_signal(signal.SIGINT)
        line = running.stderr.readline() + running.stderr.readline()
        assert "stopping after the reads under way" in line
        hold.release()
        out, err = running.communicate(timeout=60)
    assert running.returncode == 3
    kinds = {document["kind"] for document in yaml.safe_load_all(out)}
    assert "VirtualNetwork" in kinds
    assert "VirtualNetworksSubnet" not in kinds
    assert "Stopped: what was read until then is written." in err
    told = [line.strip() for line in err.splitlines() if line.startswith("  /")]
    assert told
    # What is told leads to all that is missing.
    azure.faults.clear()
    rest = asoctl(*told)
    assert rest.exit_code == 0, rest.stderr
    found = {d["kind"] for d in yaml.safe_load_all(rest.stdout)}
    assert "VirtualNetworksSubnet" in found


def test_a_second_ctrl_c_ends_the_program_at_once(azure, group):
    hold = azure.faults.hold(method="GET", path="/subnets$")
    with process(group) as running:
        assert hold.wait_arrived(60)
        running.send_signal(signal.SIGTERM)
        running.stderr.readline()
        running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 1
        hold.release()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_said(azure, group):
    with Path("/dev/full").open("w") as full, process(group, stdout=full) as running:
        _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "the output cannot be written: No space left on device" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_file_that_gets_too_large_leaves_nothing_half_written(azure, group, tmp_path):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    single = tmp_path / "all.yaml"
    with process(group, "-o", str(single), preexec_fn=limited) as running:
        _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "all.yaml cannot be written: File too large" in err
    assert not list(tmp_path.glob("*all.yaml*"))


def test_a_folder_keeps_what_was_written_before_the_disk_was_full(
    group, tmp_path, monkeypatch
):
    written = []
    whole = manifest_output._write_whole

    def write(path, text):
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        whole(path, text)

    monkeypatch.setattr(manifest_output, "_write_whole", write)
    done = asoctl(group, "-f", str(tmp_path / "out"))
    assert done.exit_code == 1
    assert "No space left on device" in done.stderr
    assert "; 2 of " in done.stderr
    assert sorted((tmp_path / "out").iterdir()) == sorted(written)


def test_who_cannot_sign_in_is_told_how(monkeypatch, azure, group):
    for name in azure.settings():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    done = asoctl(group)
    assert done.exit_code == 1
    assert "az login" in done.stderr
