"""For hack/docs: a run of a command on a terminal, as an animated SVG.

The command runs on a pseudo-terminal. Its output is read with the time of each piece
and put on a screen, and each screen becomes a frame. The screen knows the sequences of
our commands: colours, `cursor up` and `clear below`.
"""

import codecs
import fcntl
import html
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from typing import NamedTuple

COLUMNS, ROWS = 80, 24
_CHARACTER, _LINE, _PADDING, _BAR = 8.4, 18, 14, 30
_SEQUENCE = re.compile(r"\x1b\[([\d;]*)([A-Za-z])|\x1b.|[\r\n]|[^\x1b\r\n]+", re.DOTALL)
_COLOURS = {"31": "red", "32": "green", "33": "yellow", "36": "cyan", "1": "bold"}
_LAST_SECONDS = 4.0  # how long the end is shown before the film begins again
_LEAST_SECONDS, _MOST_SECONDS = 0.4, 2.0  # of a frame; longer pauses are shortened
_STILL = "@media (prefers-reduced-motion:reduce)"
_STYLE = """
.terminal { background: none; }
.terminal .case { fill: #10151f; stroke: #3d5379; }
.terminal text { fill: #dbe4f3; font: 14px ui-monospace, "SF Mono", "Liberation Mono", Menlo, monospace; white-space: pre; }
.terminal text.title { fill: #9fb2d0; text-anchor: middle; font-size: 12.5px; }
.terminal .red { fill: #ff8078; } .terminal .green { fill: #4cc763; }
.terminal .yellow { fill: #e3b341; } .terminal .cyan { fill: #6cb0ff; }
.terminal .bold { font-weight: 700; } .terminal circle { fill: #3d5379; }
"""  # noqa: E501 -- a style sheet as it is written


class Piece(NamedTuple):
    """A piece of output, with the seconds since the command's start."""

    seconds: float
    text: str


class Screen:
    """Holds lines of characters, each with the name of its colour."""

    def __init__(self) -> None:
        self.lines: list[list[tuple[str, str]]] = [[]]
        self._row = self._column = 0
        self._colour = ""

    def feed(self, text: str) -> None:
        """Take over a piece of output."""
        for found in _SEQUENCE.finditer(text):
            whole, number, action = found[0], found[1], found[2]
            if whole == "\r":
                self._column = 0
            elif whole == "\n":
                self._row += 1
                if self._row == len(self.lines):
                    self.lines.append([])
            elif action == "A":
                self._row = max(0, self._row - int(number or 1))
            elif action == "J":
                del self.lines[self._row + 1 :]
                del self.lines[self._row][self._column :]
            elif action == "m":
                self._colour = _COLOURS.get((number or "").split(";")[-1], "")
            elif not whole.startswith("\x1b"):
                self._write(whole)

    def _write(self, text: str) -> None:
        line = self.lines[self._row]
        line += [(" ", "")] * (self._column - len(line))
        end = self._column + len(text)
        line[self._column : end] = [(character, self._colour) for character in text]
        self._column = end

    def picture(self) -> str:
        """Return the last lines, as many as a terminal has, as SVG."""
        return "".join(
            f'<text x="{_PADDING}" y="{_BAR + _LINE * (number + 1)}">{spans}</text>'
            for number, line in enumerate(self.lines[-ROWS:])
            if (spans := "".join(_spans(line)))
        )


def _spans(line: list[tuple[str, str]]) -> Iterator[str]:
    text, colour = "", ""
    for character, its in [*line, ("", "\0")]:
        if its != colour and text:
            shown = html.escape(text, quote=False)
            yield f'<tspan class="{colour}">{shown}</tspan>' if colour else shown
            text = ""
        text, colour = text + character, its


def record(command: list[str]) -> Iterator[Piece]:
    """Run a command on a terminal; yield what it writes, as it does.

    It goes on until it ends by itself, or until the caller ends the iteration: then it
    gets SIGINT, as by Ctrl-C.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    began = time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")()
    with subprocess.Popen(
        command, stdin=its, stdout=its, stderr=its, env=environment
    ) as process:
        os.close(its)
        try:
            while data := _read(ours):
                yield Piece(time.monotonic() - began, decoder.decode(data))
        finally:
            process.send_signal(signal.SIGINT)
            while _read(ours):
                pass
            os.close(ours)


def _read(terminal: int) -> bytes:
    """Return what comes next; b"" once no process has the terminal any more."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def film(typed: str, pieces: list[Piece]) -> str:
    """Return an SVG that plays what a command wrote, over and over.

    typed: the command line, shown first. Those who want no motion see the end.
    """
    screen = Screen()
    screen.feed(f"\x1b[36m$\x1b[0m \x1b[1m{typed}\x1b[0m\r\n")
    frames = [(0.0, screen.picture())]
    before = 0.0
    for seconds, text in pieces:
        screen.feed(text)
        shown = frames[-1][0]
        pause = min(seconds - before, _MOST_SECONDS)
        if pause < _LEAST_SECONDS and len(frames) > 1:
            frames[-1] = (shown, screen.picture())
        elif screen.picture() != frames[-1][1]:
            frames.append((shown + pause, screen.picture()))
            before = seconds
    total = frames[-1][0] + _LAST_SECONDS
    parts, rules = [], ""
    for number, (begin, picture) in enumerate(frames):
        parts.append(f'<g class="f{number}">{picture}</g>')
        is_last = number == len(frames) - 1
        steps = "0%{visibility:hidden}" if number else ""
        steps += f"{begin / total * 100:.2f}%{{visibility:visible}}"
        if not is_last:
            end = frames[number + 1][0] / total * 100
            steps += f"{end:.2f}%,100%{{visibility:hidden}}"
            rules += f"{_STILL}{{.terminal .f{number}{{display:none}}}}\n"
        played = f"animation:f{number} {total:.1f}s step-end infinite"
        rules += f"@keyframes f{number}{{{steps}}}\n.terminal .f{number}{{{played}}}\n"
    rules += f"{_STILL}{{.terminal g{{animation:none!important}}}}"
    width = COLUMNS * _CHARACTER + 2 * _PADDING
    rows = max(picture.count("<text") for _, picture in frames) + 1
    height = _BAR + _LINE * (rows + 1)
    dots = "".join(f'<circle cx="{20 + 18 * n}" cy="16" r="5"/>' for n in range(3))
    return (
        f'<svg class="terminal" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg">\n<style>{_STYLE}{rules}</style>\n'
        f'<rect class="case" x="0.5" y="0.5" width="{width - 1:.0f}" '
        f'height="{height - 1}" rx="9"/>{dots}'
        f'<text class="title" x="{width / 2:.0f}" y="20">{html.escape(typed)}</text>\n'
        f"{chr(10).join(parts)}\n</svg>\n"
    )
