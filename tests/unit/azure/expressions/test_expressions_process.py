"""The engine's process: bounded, replaced when it fails, asked no more than needed."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("cel_expr_python", reason="the CEL engine is an extra")

from asoreconcile.azure.expressions.api import (
    MAX_LENGTH,
    Checked,
    EnginePool,
    ExpressionError,
    ExpressionLimitError,
    Expressions,
)
from asoreconcile.azure.expressions.process import (
    DEADLINE_SECONDS,
    EngineLimitError,
    EngineMissingError,
    EngineProcess,
)
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.fair_share import EngineBusyError
from asoreconcile.base.objects import GroupVersionKind
from asoreconcile.testing.clock import FakeClock

TEXT = {"type": "string"}


class Version:
    """What a kind version gives to the language."""

    gvk = GroupVersionKind("example.azure.com", "v1", "Example")

    def __init__(self, *fields):
        spec = {"type": "object", "properties": dict.fromkeys(fields, TEXT)}
        self.schema = {"type": "object", "properties": {"metadata": {}, "spec": spec}}


VERSION = Version("location")
OBJECT = {"metadata": {"name": "thing"}, "spec": {"location": "eastus"}}
BOMB = "['0123456789abcdef']" + ".map(x, x + x + x + x + x + x + x + x)" * 10 + "[0]"


@pytest.fixture(scope="module")
def engine():
    """An engine, whose process the tests of the file share."""
    made = EngineProcess()
    yield made
    made.close()


@pytest.fixture
def new_engine():
    """An engine that has no process yet."""
    made = EngineProcess()
    yield made
    made.close()


class Counted:
    """An engine that counts what it is asked."""

    def __init__(self, engine):
        self.requests = []
        self._engine = engine

    def ask(self, request, *, namespace):
        self.requests.append(request)
        return self._engine.ask(request)


class Alone:
    """One process for everybody."""

    def __init__(self, engine):
        self._engine = engine

    def ask(self, request, *, namespace):
        return self._engine.ask(request)


def over(engine):
    engine = Alone(engine) if isinstance(engine, EngineProcess) else engine
    return Expressions(engine, clock=FakeClock())


def evaluate(expressions, text, version=VERSION, **secrets):
    return expressions.evaluate(version, text, obj=OBJECT, secrets=secrets)


def test_an_expression_is_checked_and_evaluated(engine):
    expressions = over(engine)
    text = "self.spec.location + secret.key1"
    assert expressions.check(VERSION, text) == Checked("string", frozenset({"key1"}))
    assert evaluate(expressions, text, key1="-k") == "eastus-k"
    assert expressions.check(VERSION, "{'a': 'b'}").gives == "map"


def test_an_expression_is_checked_once_and_the_schema_sent_once(new_engine):
    counted = Counted(new_engine)
    expressions = over(counted)
    for _ in range(3):
        expressions.check(VERSION, "self.spec.location")
    evaluate(expressions, "self.spec.location")
    evaluate(expressions, "self.metadata.name")
    assert ["schema" in request for request in counted.requests] == [
        False,  # the process is new to the kind
        True,
        False,
        False,
    ]


def test_two_schemas_of_one_version_are_kept_apart(engine):
    expressions = over(engine)
    other = Version("place")
    expressions.check(VERSION, "self.spec.location")
    expressions.check(other, "self.spec.place")
    with pytest.raises(ExpressionError, match="undefined field 'location'"):
        expressions.check(other, "self.spec.location")


def test_more_kinds_than_the_process_remembers_are_served(engine):
    expressions = over(engine)
    for _ in range(2):
        for number in range(40):
            field = f"field{number}"
            found = evaluate(
                expressions, f"self.metadata.name + self.spec.{field}", Version(field)
            )
            assert found == "thing"


def test_a_hungry_expression_fails_and_the_next_one_is_served(engine):
    expressions = over(engine)
    with pytest.raises(ExpressionLimitError, match="memory"):
        evaluate(expressions, BOMB)
    assert evaluate(expressions, "self.spec.location") == "eastus"


def with_a_silent_process(deadline_seconds):
    """An engine whose process is there and, stopped, never answers."""
    engine = EngineProcess(deadline_seconds=deadline_seconds)
    os.kill(engine._start()._process.pid, signal.SIGSTOP)
    return engine


def test_a_late_answer_is_an_error_and_the_process_is_replaced():
    request = {"kind": "k", "text": "'a'", "schema": VERSION.schema}
    engine = with_a_silent_process(0.0)
    try:
        with pytest.raises(EngineLimitError, match="make it do less"):
            engine.ask(request)
        engine._deadline_seconds = DEADLINE_SECONDS * 10
        assert "error" not in engine.ask(request)
    finally:
        engine.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_process_that_gets_no_processor_is_waited_for():
    """A busy machine is no fault of an expression."""
    request = {"kind": "k", "text": "'a'", "schema": VERSION.schema}
    engine = with_a_silent_process(0.3)
    pid = engine._child._process.pid
    waking = threading.Timer(0.6, os.kill, (pid, signal.SIGCONT))
    waking.start()
    try:
        assert "error" not in engine.ask(request)
    finally:
        waking.join()
        engine.close()


def test_a_late_answer_is_the_expression_s_limit():
    engine = with_a_silent_process(0.0)
    try:
        with pytest.raises(ExpressionLimitError, match="make it do less"):
            over(engine).check(VERSION, "'a'")
    finally:
        engine.close()


def test_a_process_that_died_is_replaced_unnoticed(engine):
    expressions = over(engine)
    assert evaluate(expressions, "self.spec.location") == "eastus"
    process = engine._child._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert evaluate(expressions, "self.spec.location") == "eastus"


TALKS_NONSENSE = """
import sys
from multiprocessing.connection import Connection
channel = Connection(int(sys.argv[1]))
channel.send_bytes(b'{"ready": true}')
while channel.recv_bytes():
    channel.send_bytes(sys.argv[2].encode())
"""


def test_a_process_that_talks_nonsense_is_replaced(new_engine, monkeypatch):
    real = subprocess.Popen
    for nonsense in ("oops", "[]", "null", '{"value":'):

        def odd(arguments, nonsense=nonsense, **rest):
            said = [TALKS_NONSENSE, arguments[-2], nonsense]
            return real([sys.executable, "-c", *said], **rest)

        monkeypatch.setattr(subprocess, "Popen", odd)
        with pytest.raises(ExpressionLimitError):
            evaluate(over(new_engine), "self.spec.location")
    monkeypatch.undo()
    assert evaluate(over(new_engine), "self.spec.location") == "eastus"


def test_closing_ends_the_process_and_a_later_request_starts_another(engine):
    expressions = over(engine)
    evaluate(expressions, "self.spec.location")
    process = engine._child._process
    engine.close()
    assert process.returncode == -signal.SIGKILL
    assert evaluate(expressions, "self.spec.location") == "eastus"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_process_gets_none_of_our_credentials(new_engine, monkeypatch):
    monkeypatch.setenv("AZURE_CLIENT_SECRET", "S3cret-Value")
    evaluate(over(new_engine), "self.spec.location")
    environment = Path(f"/proc/{new_engine._child._process.pid}/environ")
    assert b"S3cret-Value" not in environment.read_bytes()


def test_without_the_library_the_message_says_what_to_install(new_engine, monkeypatch):
    real = subprocess.Popen

    def without_site_packages(arguments, *, env, **rest):
        return real([arguments[0], "-S", *arguments[1:]], env=env, **rest)

    monkeypatch.setattr(subprocess, "Popen", without_site_packages)
    path = [p for p in sys.path if "site-packages" not in p]
    monkeypatch.setattr(sys, "path", path)
    with pytest.raises(EngineMissingError, match=r"pip install '[^']*\[cel\]'"):
        evaluate(over(new_engine), "self.spec.location")


def test_secrets_used_without_a_name_are_told(engine):
    """Exports into Secrets refuse them: nobody can tell which keys they need."""
    assert over(engine).check(VERSION, "secret.map(k, k)[0]").whole
    assert not over(engine).check(VERSION, "secret.key").whole


def test_overlong_expressions_are_refused_without_asking():
    counted = Counted(SimpleNamespace(ask=None))
    with pytest.raises(ExpressionError, match=f"more than the {MAX_LENGTH}"):
        over(counted).check(VERSION, "'" + "a" * MAX_LENGTH + "'")
    assert counted.requests == []


def test_messages_are_short_whatever_they_quote(engine):
    text = "self.metadata.labels['a' + 'b" + "x" * 9000 + "']"
    with pytest.raises(ExpressionError, match="Key not found") as caught:
        evaluate(over(engine), text)
    assert len(str(caught.value)) < 600


def test_macros_that_double_what_they_stand_on_are_counted_before_they_are_compiled(
    engine,
):
    expressions = over(engine)
    chain = "optional.of('a')" + ".optMap(x, x)" * 8 + ".orValue('')"
    assert evaluate(expressions, chain) == "a"
    chain = "optional.of('a')" + ".optMap(x, x)" * 28 + ".orValue('')"
    with pytest.raises(ExpressionError, match="28 times, at most 8"):
        expressions.check(VERSION, chain)


MEGABYTE = "'a'" + ".replace('a', 'aaaaaaaaaaaaaaaa')" * 5
TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
SLOW = f"{MEGABYTE}.replace('a', 'b').size() > 0"
for name in "abc":
    SLOW = f"{TEN}.all({name}, {SLOW})"


def test_bad_expressions_of_one_namespace_hold_up_nobody_else(eventually):
    """Each of them takes its two seconds; a trivial one elsewhere, none of them."""
    pool = EnginePool(clock=SystemClock())
    expressions = Expressions(pool, clock=SystemClock())

    def bad(number):
        text = f"string({SLOW}) + '{number}'"
        obj = {"metadata": {"name": f"o{number}", "namespace": "bad"}}
        with suppress(ExpressionError, EngineBusyError):
            expressions.evaluate(VERSION, text, obj=obj, secrets={})

    def trivial():
        # A reconcile tries again, too: on a busy machine two seconds of work are long.
        with suppress(EngineBusyError):
            return evaluate(expressions, "self.spec.location")

    try:
        evaluate(expressions, "self.spec.location")
        threads = [threading.Thread(target=bad, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            assert eventually(trivial, timeout_seconds=60) == "eastus"
        assert any(thread.is_alive() for thread in threads)
    finally:
        for thread in threads:
            thread.join()
        pool.close()
