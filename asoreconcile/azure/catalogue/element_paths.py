"""Replaces the steps to elements of lists in a path: `rules[allow].priority`. Pure.

The texts between brackets are identities that authors and Azure choose.
"""

import re

_ELEMENT = re.compile(r"\[[^\]]*+\]")


def replace_elements(path: str, by: str) -> str:
    """Return a path with another text in place of each step to an element.

    Takes time in proportion to the length of the path: after the last closing bracket
    no step ends, so the search for one does not begin there.
    """
    inner, bracket, rest = path.rpartition("]")
    return _ELEMENT.sub(by, inner + bracket) + rest
