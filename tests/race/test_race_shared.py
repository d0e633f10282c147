"""What all threads of a process share: known secrets, and the stop that cuts calls."""

import random

import pytest
from interleaving import Interleaving, seeds

from asoreconcile.call_limit import limited
from asoreconcile.reconcile_context import Context, running
from asoreconcile.redaction import HIDDEN, Vault
from asoreconcile.stop_signal import StopSignal
from asoreconcile.testing.clock import FakeClock


@pytest.mark.parametrize("most_shown", [3, 8])
def test_what_is_known_is_hidden_from_then_on_in_texts_that_were_said_before(
    monkeypatch, most_shown
):
    monkeypatch.setattr("asoreconcile.redaction.vault._MAX_SHOWN", most_shown)
    secret = "correct-horse-battery"
    for seed in seeds(25):
        interleaving = Interleaving(seed, every=20)
        with interleaving.locks():
            vault = Vault()
        vault.know("another-secret-of-old")
        known, dice = [], random.Random(seed)

        def know(vault=vault, known=known):
            vault.redact("of another object")
            vault.know(secret)
            known.append(secret)

        def say(vault=vault, known=known, dice=dice):
            after = 0
            while after < 6:  # to learn a secret takes a while
                is_known = bool(known)
                shown = vault.redact(f"{dice.randrange(4)} {secret}")
                assert shown.endswith(HIDDEN) or not is_known, shown
                after += is_known

        interleaving.run(know, say, say)


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
