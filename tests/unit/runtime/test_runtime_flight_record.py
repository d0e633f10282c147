"""Objects in flight when a process dies are taken last by the next one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from asoreconcile.base import reconcile_context
from asoreconcile.base.objects import ObjectKey
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.flight_record import FlightRecord
from asoreconcile.runtime.reconciler import Result
from asoreconcile.testing.clock import FakeClock

DIES = """
import os, signal, sys
from pathlib import Path
from asoreconcile.base.objects import ObjectKey
from asoreconcile.runtime.flight_record import FlightRecord
record = FlightRecord(Path(sys.argv[1]))
ended = record.begin("vnet", ObjectKey("a", "ended"))
record.begin("vnet", ObjectKey("a", "running"))
record.begin("group", ObjectKey("", "cluster-wide"))
record.begin("group", ObjectKey("a", "x" * 2000))
record.end(ended)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "in-flight"


def test_what_a_killed_process_was_doing_is_known_to_the_next(path):
    subprocess.run([sys.executable, "-c", DIES, str(path)], check=False, timeout=60)
    record = FlightRecord(path)
    assert record.left("vnet") == {ObjectKey("a", "running")}
    assert record.left("group") == {ObjectKey("", "cluster-wide")}
    assert record.left("other") == frozenset()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_second_process_with_the_file_records_nothing(path):
    first = FlightRecord(path)
    slot = first.begin("vnet", ObjectKey("a", "o"))
    second = FlightRecord(path)
    assert second.left("vnet") == frozenset()
    assert second.begin("vnet", ObjectKey("a", "p")) is None
    first.end(slot)


def test_a_link_or_a_bad_place_turns_the_record_off(path, tmp_path):
    target = tmp_path / "target"
    target.write_text("kept")
    path.symlink_to(target)
    assert FlightRecord(path).begin("vnet", ObjectKey("a", "o")) is None
    assert target.read_text() == "kept"
    missing = FlightRecord(Path("/nowhere/file"))
    assert missing.begin("vnet", ObjectKey("a", "o")) is None


def test_any_content_of_the_file_is_read(path):
    path.write_bytes(os.urandom(300_000))
    assert isinstance(FlightRecord(path).left("vnet"), frozenset)


def test_a_full_record_leaves_objects_out(path):
    record = FlightRecord(path)
    slots = [record.begin("vnet", ObjectKey("a", str(n))) for n in range(257)]
    assert slots[-1] is None
    record.end(slots[0])
    assert record.begin("vnet", ObjectKey("a", "again")) is not None


def test_an_object_that_was_in_flight_is_reconciled_after_the_others(path):
    subprocess.run([sys.executable, "-c", DIES, str(path)], check=False, timeout=60)
    clock, seen = FakeClock(), []

    def reconcile(request):
        why = reconcile_context.current().why_taken_last()
        seen.append((request.key.name, bool(why)))
        return Result()

    controller = Controller("vnet", reconcile, clock=clock, record=FlightRecord(path))
    queue = controller._queue
    for name in ("running", "ended", "new"):
        queue.add(ObjectKey("a", name))

    def work():
        while len(queue):
            item = queue.get()
            controller._worker.work(item)
            queue.done(item.key)

    work()
    assert seen == [("ended", False), ("new", False)]
    clock.advance(2.0)
    work()
    assert seen[2:] == [("running", True)]
