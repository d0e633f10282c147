"""The slots of a queue's ready keys."""

from typing import Any

from asoreconcile.queue.entry_heap import EntryHeap
from asoreconcile.queue.priority_queue import PriorityQueue
from asoreconcile.queue.queue_item import QueueItem


def ready_heaps(ready: PriorityQueue[Any]) -> list[EntryHeap[Any]]:
    """Return the heap of each group of each priority that has one."""
    levels = [one for one in ready._levels.values() if not isinstance(one, QueueItem)]
    return [
        heap
        for level in levels
        for heap in ([level.heap] if level.groups is None else level.groups.values())
    ]


def ready_slots(ready: PriorityQueue[Any]) -> list[QueueItem[Any]]:
    """Return the entry of each slot, of all priorities and groups."""
    alone = [one for one in ready._levels.values() if isinstance(one, QueueItem)]
    return alone + [slot[2] for heap in ready_heaps(ready) for slot in heap._slots]
