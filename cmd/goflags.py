"""Flags as Azure Service Operator's Deployments write them: Go's, not click's."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def switch(
    name: str, *, text: str, default: bool | None = False, effect: bool = True
) -> Callable[[F], F]:
    """An option that is on as `--name`, and takes `--name=true` and `--name=false`.

    text: its help. default: None tells whether it was given. effect: False for what is
    only taken, and given to nobody.
    """
    return click.option(
        name,
        type=click.BOOL,
        is_flag=False,
        flag_value=True,
        default=default,
        show_default=bool(default),
        expose_value=effect,
        metavar="[=true|false]",
        help=text,
    )
