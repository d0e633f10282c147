"""Pictures of the page and the sandbox: their sizes, texts and places."""

import re

from blocks import ROOT
from docs import PICTURES, pages, stage
from docs_terminal import Piece, Screen, film

MOST_BYTES = 600_000
_SHOWN = re.compile(r"^!\[([^\]]+)\]\(\S*pictures/(\S+)\)$", re.MULTILINE)


def test_a_screen_is_what_a_terminal_would_show():
    screen = Screen()
    screen.feed("first\r\n\x1b[33mFalse\x1b[0m <a>\r\nold\r\n")
    screen.feed("\x1b[2A\r\x1b[J\x1b[32mTrue \x1b[0m &\r\n")
    texts = ["".join(c for c, _ in line) for line in screen.lines]
    assert texts == ["first", "True  &", ""]
    assert '<tspan class="green">True </tspan> &amp;</text>' in screen.picture()


def test_a_film_has_a_frame_for_each_screen_and_shortens_pauses():
    made = film("run", [Piece(9, "a\r\n"), Piece(9.1, "b\r\n"), Piece(10.1, "c\r\n")])
    assert made.count("<g ") == 3
    assert "7.1s step-end" in made  # a pause cut to 2 s, 1.1 s, and 4 s of the end
    assert made.count("prefers-reduced-motion:reduce){.terminal .f") == 2
    assert "\n\n" not in made  # it would end the HTML inside of a page of Markdown


def test_each_picture_is_small_and_shown_with_a_text(tmp_path):
    shown = {
        name: text
        for source in pages()
        for text, name in _SHOWN.findall((ROOT / source).read_text())
    }
    kept = {path.name: path for path in PICTURES.iterdir()}
    assert shown.keys() == kept.keys() - {"made-from.txt"}
    assert min(map(len, shown.values())) > 40
    assert sum(path.stat().st_size for path in kept.values()) < MOST_BYTES
    for name in shown:
        if name.endswith(".svg"):
            found = re.findall(r'="(https?:[^"]+)|url\(', kept[name].read_text())
            assert found == ["http://www.w3.org/2000/svg"]
    stage(tmp_path / "site")
    page = (tmp_path / "site/operator/page.md").read_text()
    assert "](../pictures/page-graph.png)" in page
    assert (tmp_path / "site/pictures/page-graph.png").exists()
    assert '<svg aria-label="A recording of a terminal' in page
