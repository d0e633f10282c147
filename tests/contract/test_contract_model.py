"""Random sequences of writes: two servers, or a server and a plain model, agree.

The tests compare all answers, all objects and the events of a watch, except versions,
uids and times. A real server is the measure if there is one, else `widgetmodel` is.
ASORECONCILE_CONTRACT_EXAMPLES sets how many sequences are tried.
"""

import json
import os
from collections.abc import Callable
from typing import Any, Protocol

import hypothesis
import pytest
from contractclient import Answer, Json, Server, widget, widgets
from hypothesis import stateful
from hypothesis import strategies as st
from widgetmodel import Model, Outcome

_EXAMPLES = int(os.environ.get("ASORECONCILE_CONTRACT_EXAMPLES", "10"))
_HOLD = "example.com/hold"
_NAMES = st.sampled_from(("a", "b"))
_MANAGERS = st.sampled_from(("one", "two"))
_FINALIZERS = st.sampled_from(([], [_HOLD]))
_FIELDS: dict[str, Any] = {
    "size": st.sampled_from((1, 2, 101)),
    "color": st.sampled_from(("red", "blue", "pink")),
    "mode": st.sampled_from(("fast", "slow")),
}
_SPECS = st.fixed_dictionaries({}, optional=_FIELDS)
# Never empty: of an empty object whose fields were all applied before, a real server
# makes a null, and refuses it. That is not worth having.
_APPLIED = st.fixed_dictionaries(
    {"mode": _FIELDS["mode"]},
    optional={name: values for name, values in _FIELDS.items() if name != "mode"},
)
_PATCHES = st.fixed_dictionaries(
    {}, optional={name: st.none() | values for name, values in _FIELDS.items()}
)


class Side(Protocol):
    """One of the two that must agree: the model, or a server as it is seen here."""

    def create(self, name: str, spec: Json, finalizers: list[str]) -> Outcome: ...
    def replace(
        self, name: str, spec: Json, finalizers: list[str], *, is_stale: bool
    ) -> Outcome: ...
    def patch(self, name: str, change: Json) -> Outcome: ...
    def patch_status(self, name: str, value: int) -> Outcome: ...
    def apply(self, name: str, manager: str, spec: Json, *, force: bool) -> Outcome: ...
    def delete(self, name: str) -> Outcome: ...
    def read(self, name: str) -> Outcome: ...
    def names(self) -> list[str]: ...
    def told(self) -> list[tuple[str, str, Json]]: ...
    def close(self) -> None: ...


class Served:
    """A namespace of a server, as one side."""

    def __init__(self, server: Server, *, shows_owners: bool = False) -> None:
        """shows_owners: whether objects are compared with their managedFields."""
        self._server = server
        self._shows_owners = shows_owners
        self._context = server.namespace()
        self._namespace = self._context.__enter__()
        self._start = server.get(widgets(self._namespace)).rv
        self._versions: dict[str, str] = {}

    def close(self) -> None:
        for name in self.names():
            patch = {"metadata": {"finalizers": None}}
            self._server.patch(self._at(name), patch)
        self._context.__exit__(None, None, None)

    def create(self, name: str, spec: Json, finalizers: list[str]) -> Outcome:
        body = _widget(name, spec, finalizers)
        return self._outcome(
            name,
            self._server.post(widgets(self._namespace), body, fieldManager="client"),
        )

    def replace(
        self, name: str, spec: Json, finalizers: list[str], *, is_stale: bool
    ) -> Outcome:
        body = _widget(name, spec, finalizers)
        version = "1" if is_stale else self._versions.get(name, "1")
        body["metadata"]["resourceVersion"] = version
        return self._outcome(
            name, self._server.put(self._at(name), body, fieldManager="client")
        )

    def patch(self, name: str, change: Json) -> Outcome:
        body: Json = {"spec": change.get("spec", {})}
        if "finalizers" in change:
            body["metadata"] = {"finalizers": change["finalizers"]}
        return self._outcome(
            name, self._server.patch(self._at(name), body, fieldManager="client")
        )

    def patch_status(self, name: str, value: int) -> Outcome:
        body = {"status": {"value": value}}
        path = self._at(name) + "/status"
        return self._outcome(
            name, self._server.patch(path, body, fieldManager="client")
        )

    def apply(self, name: str, manager: str, spec: Json, *, force: bool) -> Outcome:
        query = {"force": "true"} if force else {}
        body = _widget(name, spec, [])
        del body["metadata"]["finalizers"]
        return self._outcome(
            name, self._server.apply(self._at(name), body, manager, **query)
        )

    def delete(self, name: str) -> Outcome:
        return self._outcome(name, self._server.delete(self._at(name)))

    def read(self, name: str) -> Outcome:
        return self._outcome(name, self._server.get(self._at(name)))

    def names(self) -> list[str]:
        listed = self._server.get(widgets(self._namespace)).expect(200).json
        return [one["metadata"]["name"] for one in listed["items"]]

    def told(self) -> list[tuple[str, str, Json]]:
        """All events since the beginning, up to one of an object of our own."""
        self._server.post(widgets(self._namespace), widget("end")).expect(201)
        found = []
        query = {"resourceVersion": self._start}
        with self._server.watch(widgets(self._namespace), **query) as events:
            for event in events:
                name = event["object"]["metadata"]["name"]
                if name == "end":
                    return found
                found.append((event["type"], name, self._plain(event["object"])))
        raise AssertionError(found)

    def _at(self, name: str) -> str:
        return widgets(self._namespace, name)

    def _outcome(self, name: str, answer: Answer) -> Outcome:
        document = answer.json
        if document["kind"] == "Status":
            return Outcome(answer.status, document.get("reason", ""))
        version = document["metadata"]["resourceVersion"]
        is_new = self._versions.get(name) != version
        self._versions[name] = version
        return Outcome(answer.status, obj=self._plain(document), is_new=is_new)

    def _plain(self, obj: Json) -> Json:
        meta = obj["metadata"]
        shown = {
            "spec": obj["spec"],
            "status": obj.get("status"),
            "finalizers": meta.get("finalizers") or [],
            "generation": meta["generation"],
            "deleting": "deletionTimestamp" in meta,
        }
        if self._shows_owners:
            owners = ({**entry, "time": None} for entry in meta["managedFields"])
            shown["owners"] = sorted(
                owners, key=lambda entry: json.dumps(entry, sort_keys=True)
            )
        return shown


def _widget(name: str, spec: Json, finalizers: list[str]) -> Json:
    body = widget(name)
    body["metadata"]["finalizers"] = finalizers
    return {**body, "spec": spec}


class Machine(stateful.RuleBasedStateMachine):
    """Does the same to both sides. `sides` makes them: the measure is the second."""

    sides: Callable[[], tuple[Side, Side]]

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = type(self).sides()

    def agree(self, act: Callable[[Side], Any]) -> None:
        found, expected = act(self.one), act(self.other)
        assert found == expected

    @stateful.rule(name=_NAMES, spec=_SPECS, finalizers=_FINALIZERS)
    def create(self, name: str, spec: Json, finalizers: list[str]) -> None:
        self.agree(lambda side: side.create(name, spec, finalizers))

    @stateful.rule(
        name=_NAMES, spec=_SPECS, finalizers=_FINALIZERS, is_stale=st.booleans()
    )
    def replace(
        self, name: str, spec: Json, finalizers: list[str], *, is_stale: bool
    ) -> None:
        self.agree(lambda side: side.replace(name, spec, finalizers, is_stale=is_stale))

    @stateful.rule(name=_NAMES, spec=_PATCHES)
    def patch(self, name: str, spec: Json) -> None:
        self.agree(lambda side: side.patch(name, {"spec": spec}))

    @stateful.rule(name=_NAMES, finalizers=_FINALIZERS)
    def patch_finalizers(self, name: str, finalizers: list[str]) -> None:
        self.agree(lambda side: side.patch(name, {"finalizers": finalizers}))

    @stateful.rule(name=_NAMES, value=st.integers(0, 2))
    def patch_status(self, name: str, value: int) -> None:
        self.agree(lambda side: side.patch_status(name, value))

    @stateful.rule(name=_NAMES, manager=_MANAGERS, spec=_APPLIED, force=st.booleans())
    def apply(self, name: str, manager: str, spec: Json, *, force: bool) -> None:
        self.agree(lambda side: side.apply(name, manager, spec, force=force))

    @stateful.rule(name=_NAMES)
    def delete(self, name: str) -> None:
        self.agree(lambda side: side.delete(name))

    @stateful.invariant()
    def have_the_same_objects(self) -> None:
        self.agree(lambda side: side.names())

    def teardown(self) -> None:
        try:
            self.agree(lambda side: [side.read(name) for name in ("a", "b")])
            self.agree(lambda side: side.told())
        finally:
            self.one.close()
            self.other.close()


@pytest.fixture
def sides(
    servers: Callable[[str], Server], targets: tuple[str, ...]
) -> Callable[[], tuple[Side, Side]]:
    """Returns a function that makes new sides for each sequence."""
    embedded = servers("embedded")

    def make() -> tuple[Side, Side]:
        if "real" in targets:
            return (
                Served(embedded, shows_owners=True),
                Served(servers("real"), shows_owners=True),
            )
        return Served(embedded), Model()

    return make


@pytest.mark.real  # both servers at once, if there is a real one
def test_random_writes_have_the_same_outcome(
    sides: Callable[[], tuple[Side, Side]],
):
    machine = type("Held", (Machine,), {"sides": staticmethod(sides)})
    stateful.run_state_machine_as_test(
        machine,
        settings=hypothesis.settings(
            max_examples=_EXAMPLES, stateful_step_count=20, deadline=None
        ),
    )
