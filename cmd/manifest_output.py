"""Write imported manifests to standard output, a file, or a folder of files."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from asoreconcile.azure.cmd.broken_pipe import drop_output
from asoreconcile.azure.cmd.terminal import write
from asoreconcile.azure.cmd.yamltext import yaml_text
from asoreconcile.azure.reconcile.planning.resource_import.manifests import (
    ImportedManifest,
)
from asoreconcile.base.printable import printable


class ManifestOutput:
    """The output. file, folder: one of them, or neither for standard output, as with
    `-`.
    """

    def __init__(
        self, file: Path | None, folder: Path | None, *, overwrite: bool
    ) -> None:
        self._file = None if file == Path("-") else file
        self._folder = folder
        self._overwrite = overwrite

    def check(self) -> None:
        """Check the output before reading, which may take minutes. Raises
        click.UsageError.
        """
        if self._overwrite:
            return
        if self._file is not None and self._file.exists():
            raise click.UsageError(f"{self._file} is there already: use --force")
        if self._folder is not None and any(self._folder.glob("*.yaml")):
            raise click.UsageError(
                f"{self._folder} has manifests already: use another folder, or --force "
                "to overwrite those of the same name"
            )

    def write(self, manifests: Sequence[ImportedManifest]) -> None:
        """Write the manifests. Raises click.ClickException.

        A file is written completely or not at all; files that were written stay.
        """
        try:
            if self._folder is not None:
                _write_folder(self._folder, manifests)
            elif self._file is not None:
                _write_whole(self._file, _text(manifests))
            else:
                _print(_text(manifests))
        except BrokenPipeError:
            raise  # the reader has gone: click ends quietly
        except OSError as error:
            raise click.ClickException(_failed(self._file, error)) from error


def _write_folder(folder: Path, manifests: Sequence[ImportedManifest]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate(manifests):
        path = folder / _file_name(one)
        try:
            _write_whole(path, _text([one]))
        except OSError as error:
            raise click.ClickException(
                f"{_failed(path, error)}; {number} of {len(manifests)} manifests are "
                f"in {folder}"
            ) from error


def _print(text: str) -> None:
    try:
        write(text)
    except BrokenPipeError:
        raise
    except OSError:
        drop_output()  # or it would fail again at the end of the program
        raise


def _failed(path: Path | None, error: OSError) -> str:
    place = path or error.filename or "the output"
    return f"{place} cannot be written: {error.strerror}: mend that and run it again"


def _file_name(manifest: ImportedManifest) -> str:
    obj = manifest.obj
    group = str(obj["apiVersion"]).partition(".")[0]
    return f"{group}-{obj['kind']}-{obj['metadata']['name']}.yaml"


def _write_whole(path: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8"
    ) as file:
        try:
            file.write(text)
            file.flush()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _text(manifests: Sequence[ImportedManifest]) -> str:
    return "".join(_document(manifest) for manifest in manifests)


def _document(manifest: ImportedManifest) -> str:
    """Return a YAML document; fields that Azure did not show are named in comments
    above it.
    """
    comments = "".join(f"# {printable(str(one))}\n" for one in manifest.left_out)
    return yaml_text([manifest.obj]).replace("---\n", f"---\n{comments}", 1)
