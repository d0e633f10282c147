"""Ids of requests, reconciles and events."""

import os
import uuid

from asoreconcile.base.random_id import random_id

DRAWN = 2000


def test_an_id_is_a_random_uuid():
    drawn = [random_id() for _ in range(DRAWN)]
    assert len(set(drawn)) == DRAWN
    for text in drawn:
        read = uuid.UUID(text)
        assert str(read) == text
        assert (read.version, read.variant) == (4, uuid.RFC_4122)


def test_a_forked_process_draws_other_ids():
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, random_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        assert answer.read() != random_id()
