"""The Ready conditions of work under way."""

from asoreconcile.conditions import Ready


def reconciling(generation: int) -> Ready:
    return Ready(
        "False",
        "Reconciling",
        "Info",
        "The resource is being created or updated in Azure",
        generation,
    )


def deleting(generation: int) -> Ready:
    return Ready(
        "False",
        "Deleting",
        "Info",
        "The resource is being deleted in Azure",
        generation,
    )
