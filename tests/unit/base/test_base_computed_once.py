"""Values that are kept in an object, without a lock that all objects share."""

import re
import threading
from pathlib import Path

import asoreconcile
from asoreconcile.base.lazy import computed_once

ROOT = Path(asoreconcile.__file__).parent

# Slotted attrs classes, for which attrs replaces functools' property by one without a
# lock; and objects of which a process has one.
ALLOWED = {
    *("azure/arm/bucket_key.py", "azure/catalogue/kinds.py"),
    *("azure/reconcile/planning/change_plan.py", "kube/rest_client.py"),
    *("testing/kube/kinds/resources.py", "azure/cmd/manifests.py"),
    *("azure/reconcile/model/annotation_table.py",),
    *("runtime/application.py", "runtime/cluster.py"),
}


class Slow:
    def __init__(self, began, may_end):
        self.began, self.may_end, self.calls = began, may_end, 0

    @computed_once
    def value(self):
        """The value."""
        self.calls += 1
        self.began.set()
        assert self.may_end.wait(30)
        return self.calls


def test_a_value_is_computed_once_and_may_be_replaced():
    now = threading.Event()
    now.set()
    one = Slow(now, now)
    assert (one.value, one.value, one.calls) == (1, 1, 1)
    del one.value
    assert one.value == 2
    assert Slow.value.__doc__ == "The value."


def test_objects_do_not_wait_for_each_other():
    began, may_end, now = threading.Event(), threading.Event(), threading.Event()
    now.set()
    slow = Slow(began, may_end)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    try:
        assert began.wait(30)
        assert Slow(now, now).value == 1
    finally:
        may_end.set()
        thread.join()


def test_no_class_has_a_property_with_one_lock_for_all_objects():
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if re.search(r"from functools import .*\bcached_property\b", path.read_text())
    }
    # Folders that links lead to are found under both names.
    assert {one for one in found if one not in ALLOWED} == set()
