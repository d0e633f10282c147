"""The state that all threads of a process share: known secrets, and the stop that
cancels calls.
"""

import random
import time

import pytest
from azure.core.credentials import AccessToken
from interleaving import Interleaving, seeds

from asoreconcile.azure.arm.bearer import TokenCache
from asoreconcile.azure.reconcile.state.parent_writes import ParentWrites
from asoreconcile.base.call_limit import limited
from asoreconcile.base.errors import RetryError
from asoreconcile.base.reconcile_context import Context, running
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.redaction import HIDDEN, SecretRegistry
from asoreconcile.testing.clock import FakeClock


@pytest.mark.parametrize("most_shown", [3, 8])
def test_what_is_known_is_hidden_from_then_on_in_texts_that_were_said_before(
    monkeypatch, most_shown
):
    monkeypatch.setattr("asoreconcile.redaction.secret_registry._MAX_SHOWN", most_shown)
    secret = "correct-horse-battery"
    for seed in seeds(25):
        interleaving = Interleaving(seed, every=20)
        with interleaving.locks():
            registry = SecretRegistry()
        registry.register("another-secret-of-old")
        known, dice = [], random.Random(seed)

        def register(registry=registry, known=known):
            registry.redact("of another object")
            registry.register(secret)
            known.append(secret)

        def say(registry=registry, known=known, dice=dice):
            after = 0
            while after < 6:  # to learn a secret takes a while
                is_known = bool(known)
                shown = registry.redact(f"{dice.randrange(4)} {secret}")
                assert shown.endswith(HIDDEN) or not is_known, shown
                after += is_known

        interleaving.run(register, say, say)


def test_th9_a_stop_at_the_end_of_a_call_leaves_no_timer():
    for seed in seeds(40):
        interleaving = Interleaving(seed)
        with interleaving.locks():
            stop, clock = StopSignal(), FakeClock()
        context = Context(clock, stop=stop)
        cut = []

        def call(context=context, cut=cut):
            with running(context):
                for number in range(4):
                    with limited(60.0, is_read=bool(number % 2)) as one:
                        one.within(1.0)
                    cut.append(one)

        def end(stop=stop, clock=clock, cut=cut):
            while not cut:
                clock.monotonic()
            stop.stop(clock.monotonic() + 5.0)

        with interleaving.locks():  # of the calls, too
            interleaving.run(call, call, end)
        clock.advance(60.0)
        assert not any(one.is_cut for one in cut), f"seed {seed}"
        assert not stop._calls


class Authority:
    """Gives tokens: the first has ended by now, the others live on."""

    def __init__(self):
        self.given = 0

    def get_token(self, *scopes, **options):
        self.given += 1
        lives = 3600 if self.given > 1 else -60
        return AccessToken(f"token-{self.given}", int(time.time()) + lives)


def test_e8_a_token_that_has_ended_is_not_sent_while_the_next_one_comes():
    for seed in seeds(40):
        interleaving = Interleaving(seed, every=4)
        with interleaving.locks():
            clock = FakeClock()
            tokens = TokenCache(Authority(), "scope", clock=clock)
            # On the threads of the schedule.
            tokens._sign_ins = SingleFlight()
        assert tokens.get().token == "token-1"
        clock.advance(60)  # it is no longer new

        def replace(tokens=tokens):
            tokens._fetch("")

        def ask(tokens=tokens, seed=seed):
            assert tokens.get().token != "token-1", f"seed {seed}"

        with interleaving.locks():  # of the sign-ins
            interleaving.run(replace, ask, ask)


PARENT = (
    "/subscriptions/1/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v"
)


def test_q8_no_child_is_written_between_its_parents_read_and_put():
    """Azure, in a word: a PUT of the parent leaves the children that it carries."""
    for seed in seeds(40):
        interleaving = Interleaving(seed)
        with interleaving.locks():
            writes = ParentWrites()
        azure, put, parents = set(), set(), []

        def parent(writes=writes, azure=azure, parents=parents, step=interleaving):
            while len(parents) < 3:
                with writes.reading(PARENT) as reading:
                    step.switch()
                    read = set(azure)
                    step.switch()
                    try:
                        with writes.exclusive(reading):
                            step.switch()
                            azure.intersection_update(read)
                            step.switch()
                    except RetryError:
                        continue
                parents.append(read)

        def child(name, writes=writes, azure=azure, put=put, step=interleaving):
            for number in range(3):
                try:
                    with writes.writing(f"{PARENT}/subnets/{name}{number}"):
                        step.switch()
                        azure.add((name, number))
                        step.switch()
                except RetryError:
                    continue
                put.add((name, number))

        interleaving.run(parent, lambda: child("a"), lambda: child("b"))
        assert azure == put, f"seed {seed}"
        assert writes._writes == {}
        assert writes._readings == {}
