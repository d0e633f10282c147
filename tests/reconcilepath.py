"""The way of one object through the modules of the Azure reconciler, counted.

`hack/path` prints the counts, and a test limits them. Calls of functions are recorded
while one reconcile after the other runs in this thread; the servers run in others.
"""

import inspect
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import attrs
from world import World, resource_group, virtual_network

from asoreconcile.azure import reconcile
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import JsonObject

_ROOM = Path(reconcile.__file__).resolve().parent
# Frames of their own in this version of Python, and no calls.
_NO_CALLS = {"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"}
_GROUPS = "resources.azure.com/ResourceGroup"
_NETWORKS = "network.azure.com/VirtualNetwork"


@attrs.define
class Stay:
    """Calls of one module's functions, one after the other."""

    module: str
    functions: list[str] = attrs.field(factory=list)


@attrs.define
class Course:
    """All stays of a path, in their order."""

    stays: list[Stay] = attrs.field(factory=list)

    @property
    def modules(self) -> Any:
        return {stay.module for stay in self.stays}

    @property
    def returns(self) -> Any:
        """Stays in a module that was left before."""
        return len(self.stays) - len(self.modules)

    @property
    def calls(self) -> Any:
        return sum(len(stay.functions) for stay in self.stays)

    def note(self, module: Any, function: Any) -> None:
        if not self.stays or self.stays[-1].module != module:
            self.stays.append(Stay(module))
        self.stays[-1].functions.append(function)

    @contextmanager
    def recording(self) -> Iterator[Any]:
        """Record the calls that this thread makes."""
        before = sys.getprofile()

        def profile(frame: Any, event: Any, _arg: Any) -> None:
            code = frame.f_code
            if event != "call" or code.co_name in _NO_CALLS:
                return
            if code.co_flags & inspect.CO_GENERATOR:
                return  # each of its steps would count
            if (module := _module_of(code.co_filename)) is not None:
                self.note(module, code.co_name)

        sys.setprofile(profile)
        try:
            yield self
        finally:
            sys.setprofile(before)


@cache
def _module_of(filename: Any) -> Any:
    """The module of a file below the reconciler, or None."""
    path = Path(filename)
    if not path.is_absolute() or not path.resolve().is_relative_to(_ROOM):
        return None
    return str(path.resolve().relative_to(_ROOM))


def follow(name: str) -> Any:
    """The course of one of `PATHS`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder), lro=10.0, retry_after=10) as world,
    ):
        world.install(_GROUPS, _NETWORKS)
        # As the operator is by default.
        world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
        world.settled(resource_group())
        return PATHS[name](world, virtual_network())


def _put(world: Any, obj: JsonObject) -> Any:
    world.apply(obj, marked=False)
    course = Course()
    while not world.requests("PUT", "virtualNetworks"):
        with course.recording():
            world.run_once(obj)
    return course


def _sync(world: Any, obj: JsonObject) -> Any:
    world.settled(obj)
    # The first sync after a PUT learns what Azure made of it.
    world.run(obj)
    world.azure.journal.clear()
    with (course := Course()).recording():
        world.run_once(obj)
    assert [request.method for request in world.azure.journal] == ["GET"]
    return course


def _deletion(world: Any, obj: JsonObject) -> Any:
    world.settled(obj)
    world.delete(obj)
    course = Course()
    while world.read(obj) is not None:
        with course.recording():
            result = world.run_once(obj)
        world.clock.advance(result.requeue_after_seconds or 0.0)
    return course


PATHS = {"put": _put, "sync": _sync, "deletion": _deletion}
