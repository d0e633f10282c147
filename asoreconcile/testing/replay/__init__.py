"""Recorded Azure traffic, served as an ARM endpoint to run a controller against."""

from asoreconcile.testing.replay.exchanges import (
    RecordedExchange,
    exchange_of,
    read_recordings,
)
from asoreconcile.testing.replay.playback import Asked, Summary
from asoreconcile.testing.replay.server import ReplayServer

__all__ = [
    "Asked",
    "RecordedExchange",
    "ReplayServer",
    "Summary",
    "exchange_of",
    "read_recordings",
]
