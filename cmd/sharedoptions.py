"""Options that several commands have, said once."""

import click

manifest_files = click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A manifest file, a folder of them, or - for standard input; repeatable.",
)
documents_output = click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml"]),
    default="yaml",
    show_default=True,
    help="json prints one document a line.",
)
table_output = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
)
control_token = click.option(
    "--control-token",
    default="",
    metavar="TOKEN",
    help="Open the paths below /_control/ to who sends this token as x-control-token.",
)
# How a child knows that its parent ended: `subprocesses.ChildProcess` passes it.
until_stdin_closes = click.option("--until-stdin-closes", is_flag=True, hidden=True)
