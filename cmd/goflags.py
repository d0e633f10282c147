"""Flags as Azure Service Operator's Deployments write them: Go's, not click's."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def switch(name: str, *, text: str, effect: bool = True) -> Callable[[F], F]:
    """An option that is on as `--name`, and takes `--name=true` and `--name=false`.

    text: its help. effect: False for what is only taken, and given to nobody.
    """
    return click.option(
        name,
        type=click.BOOL,
        is_flag=False,
        flag_value=True,
        default=False,
        expose_value=effect,
        metavar="[=true|false]",
        help=text,
    )
