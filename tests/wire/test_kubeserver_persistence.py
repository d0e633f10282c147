"""What outlives the embedded API server's process: a folder, and how it is damaged."""

import base64
import errno
import itertools
import os
import signal
import subprocess
import sys
import threading

import pytest
import urllib3
import yaml
from kubeapi import Server, kube_server

from asoreconcile.base.objects import ObjectKey
from asoreconcile.testing.kube import DataFolderError, KubeServer
from asoreconcile.testing.kube.store.persistence import DataFolder
from asoreconcile.testing.kube.store.storage import Change, StorageState, StorageTable

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = StorageTable("", "configmaps")
PROGRAM = "from asoreconcile.azure.cmd.asoreconcile import main; main()"


def config_map(name, **data):
    return {"metadata": {"name": name}, "data": data or {"k": "v"}}


def key(number):
    return ObjectKey("default", f"one-{number}")


def change(version, number, *, gone=False):
    obj = {"metadata": {"name": f"one-{number}", "resourceVersion": str(version)}}
    kind = "DELETED" if gone else "ADDED"
    return Change(version, TABLE, key(number), kind, obj)


def written(path, *changes, **options):
    folder = DataFolder(path, **options)
    folder.load()
    for one in changes:
        folder.append(one)
    folder.close()


def loaded(path):
    folder = DataFolder(path)
    try:
        return folder.load()
    finally:
        folder.close()


def names(state):
    return sorted(key.name for _, key, _ in state.objects)


def test_objects_versions_kubeconfig_and_deletions_outlive_a_restart(tmp_path):
    with kube_server(data_dir=tmp_path) as (kube, client):
        kept = client.post(CONFIG_MAPS, config_map("kept")).expect(201).json
        client.post(CONFIG_MAPS, config_map("gone")).expect(201)
        client.delete(f"{CONFIG_MAPS}/gone").expect(200)
        version = client.get(CONFIG_MAPS).json["metadata"]["resourceVersion"]
        identity = kube.ca_pem, kube.token
    with kube_server(data_dir=tmp_path) as (kube, client):
        assert (kube.ca_pem, kube.token) == identity
        assert client.get(f"{CONFIG_MAPS}/kept").expect(200).json == kept
        client.get(f"{CONFIG_MAPS}/gone").expect(404)
        listed = client.get(CONFIG_MAPS).json["metadata"]["resourceVersion"]
        assert int(listed) >= int(version)
        made = client.post(CONFIG_MAPS, config_map("next")).expect(201)
        assert int(made.rv) > int(version)


def test_a_watch_from_before_a_restart_expires_but_one_from_the_last_write_goes_on(
    tmp_path,
):
    with kube_server(data_dir=tmp_path) as (_, client):
        first = client.post(CONFIG_MAPS, config_map("one")).expect(201).rv
        last = client.post(CONFIG_MAPS, config_map("two")).expect(201).rv
    with kube_server(data_dir=tmp_path) as (_, client):
        with client.watch(CONFIG_MAPS, resourceVersion=first) as events:
            assert next(events)["object"]["code"] == 410
        with client.watch(CONFIG_MAPS, resourceVersion=last) as events:
            client.post(CONFIG_MAPS, config_map("three")).expect(201)
            assert next(events)["object"]["metadata"]["name"] == "three"


def test_what_was_answered_outlives_sigkill(tmp_path):
    """A process of its own, killed in the middle of writes."""

    def start(out):
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", PROGRAM, "testserver", "kube"),
                *("--data-dir", str(tmp_path / "data"), "--kubeconfig-out", str(out)),
            ],
            stderr=subprocess.PIPE,
        )
        process.stderr.readline()  # says where it listens
        document = yaml.safe_load(out.read_text())
        cluster = document["clusters"][0]["cluster"]
        authority = _decoded(cluster["certificate-authority-data"])
        token = document["users"][0]["user"]["token"]
        return process, Server(cluster["server"], token, authority)

    answered = []
    process, client = start(tmp_path / "first")

    def write():
        with client:
            for number in range(10_000):
                try:
                    made = client.post(CONFIG_MAPS, config_map(f"c{number}"))
                except Exception:  # noqa: BLE001 - the server is gone: the point
                    return
                answered.append((f"c{number}", made.rv))
                if number == 60:
                    enough.set()

    enough = threading.Event()
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert enough.wait(30)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stderr.close()
    writer.join(10)
    process, client = start(tmp_path / "second")
    with client:
        items = client.get(CONFIG_MAPS).expect(200).json["items"]
    process.terminate()
    assert process.wait(10) == 0
    process.stderr.close()
    found = {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in items}
    assert len(answered) > 60
    assert found.items() >= dict(answered).items()
    assert len(found) <= len(answered) + 1  # one may be stored and not answered


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_last_line_is_dropped_and_the_next_write_is_whole(tmp_path, cut):
    written(tmp_path, change(5, 1), change(6, 2))
    log = tmp_path / "log"
    os.truncate(log, log.stat().st_size - cut)
    assert names(loaded(tmp_path)) == ["one-1"]
    written(tmp_path, change(7, 3))
    state = loaded(tmp_path)
    assert names(state) == ["one-1", "one-3"]
    assert state.version == 7


def test_damage_before_the_last_line_is_an_error_not_a_loss(tmp_path):
    written(tmp_path, change(5, 1), change(6, 2))
    log = tmp_path / "log"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    with pytest.raises(DataFolderError, match="damaged at byte"):
        loaded(tmp_path)


def test_a_log_of_something_else_is_refused(tmp_path):
    (tmp_path / "log").write_bytes(b"hello\n" * 3)
    with pytest.raises(DataFolderError, match="damaged"):
        loaded(tmp_path)


def test_compaction_keeps_what_is_there_and_every_version(tmp_path):
    folder = DataFolder(tmp_path)
    folder.load()
    for version in range(5, 105):
        folder.append(change(version, version % 3))
    folder.append(change(105, 0, gone=True))
    size = (tmp_path / "log").stat().st_size
    objects = [(TABLE, key(n), change(n + 100, n).obj) for n in (1, 2)]
    folder.compact(StorageState(105, {TABLE: 105}, objects))
    folder.append(change(106, 9))
    folder.close()
    assert (tmp_path / "log").stat().st_size < size / 5
    state = loaded(tmp_path)
    assert names(state) == ["one-1", "one-2", "one-9"]
    assert (state.version, state.latest[TABLE]) == (106, 106)


def test_a_server_compacts_its_log_by_itself(tmp_path):
    body = config_map("one", text="x" * 100_000)
    with kube_server(data_dir=tmp_path) as (_, client):
        client.post(CONFIG_MAPS, body).expect(201)
        for number in range(120):
            patch = {"data": {"text": "y" * 100_000, "n": str(number)}}
            client.patch(f"{CONFIG_MAPS}/one", patch).expect(200)
    assert (tmp_path / "log").stat().st_size < 9_000_000
    with kube_server(data_dir=tmp_path) as (_, client):
        found = client.get(f"{CONFIG_MAPS}/one").expect(200).json
    assert found["data"]["n"] == "119"


def test_one_folder_is_one_servers(tmp_path):
    with (
        kube_server(data_dir=tmp_path),
        pytest.raises(DataFolderError, match="another server"),
    ):
        KubeServer(data_dir=tmp_path)


def test_secrets_of_the_folder_are_for_its_owner_alone(tmp_path):
    with kube_server(data_dir=tmp_path):
        for path in tmp_path.iterdir():
            assert path.stat().st_mode & 0o077 == 0, path


def test_a_write_that_the_disk_refuses_is_refused_and_leaves_no_half_line(
    tmp_path, monkeypatch
):
    with kube_server(data_dir=tmp_path) as (_, client):
        client.post(CONFIG_MAPS, config_map("one")).expect(201)
        write = os.write

        def full(descriptor, data):
            if len(data) > 50:
                write(descriptor, bytes(data)[:20])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr("os.write", full)
            client.post(CONFIG_MAPS, config_map("two")).expect(500)
        client.get(f"{CONFIG_MAPS}/two").expect(404)
        client.post(CONFIG_MAPS, config_map("three")).expect(201)
    with kube_server(data_dir=tmp_path) as (_, client):
        client.get(f"{CONFIG_MAPS}/three").expect(200)
        client.get(f"{CONFIG_MAPS}/two").expect(404)


def test_fsync_forces_each_line_to_the_disk(tmp_path, monkeypatch):
    forced = []
    monkeypatch.setattr("os.fsync", forced.append)
    written(tmp_path / "no", change(5, 1), change(6, 2))
    without = len(forced)
    written(tmp_path / "yes", change(5, 1), change(6, 2), fsync=True)
    assert len(forced) - without == without + 2


def test_a_restart_reads_the_folder_anew(tmp_path):
    with kube_server(data_dir=tmp_path) as (kube, client):
        made = client.post(CONFIG_MAPS, config_map("one")).expect(201)
        kube.restart()
        assert client.get(f"{CONFIG_MAPS}/one").expect(200).rv == made.rv


def _decoded(text):
    return base64.b64decode(text).decode()


def test_restarts_under_writes_lose_and_refuse_nothing(tmp_path):
    """A write is answered and kept, or its connection is cut: never a 500, never mute."""
    answered, refused, stop = [], [], threading.Event()

    def write(client, writer):
        for number in itertools.count():
            if stop.is_set():
                return
            name = f"w{writer}-{number}"
            try:
                status = client.post(CONFIG_MAPS, config_map(name)).status
            except urllib3.exceptions.HTTPError:
                continue
            (answered if status == 201 else refused).append((name, status))

    with kube_server(data_dir=tmp_path) as (kube, client):
        threads = [threading.Thread(target=write, args=(client, n)) for n in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(15):
            so_far = len(answered)
            while len(answered) == so_far:
                stop.wait(0.001)
            kube.restart()
        stop.set()
        for thread in threads:
            thread.join()
        assert refused == []
        listed = client.get(CONFIG_MAPS).expect(200).json["items"]
        assert {name for name, _ in answered} <= {i["metadata"]["name"] for i in listed}


def test_a_folder_gives_its_descriptors_back_once(tmp_path):
    folder = DataFolder(tmp_path)
    folder.load()
    folder.close()
    with (tmp_path / "somebody").open("wb") as taken:  # the numbers are in use again
        folder.close()
        taken.write(b"x")
        with pytest.raises(OSError):
            folder.append(change(3, 1))
