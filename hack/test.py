"""Run the test suite: `hack/test [ARGUMENT...]`; arguments go to pytest.

New tests are compiled once (`gate.compiled`), failed tests get a second chance
(`gate.second_chance`), and the results are kept (`gate.results`).
"""

import sys
from pathlib import Path

import pytest
from gate.compiled import Compiled
from gate.results import ResultsFile
from gate.second_chance import SecondChance

if __name__ == "__main__":
    # Tests must see the same paths as under plain pytest.
    sys.path.remove(str(Path(__file__).resolve().parent))
    chance = SecondChance()
    sys.exit(
        pytest.main(sys.argv[1:], plugins=[Compiled(), chance, ResultsFile(chance)])
    )
