"""`hack/versions`: the requirements that are installed, newest or oldest."""

from pathlib import Path

from gate.versions import SUITE, requirements
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = """
[project]
name = "own"
dependencies = ["attrs>=24.2", "PyYAML>=6.0.2"]

[project.optional-dependencies]
azure = ["own[cli]", "cel>=0.1.3,<0.2"]
cli = ["click>=8.1"]
dev = ["own[azure]", "hypothesis>=6.115", "attrs>=1"]
"""
LOCK = (
    "attrs==25.1 \\\n    --hash=sha256:0\nhypothesis==6.120.1 \\\n    --hash=sha256:1\n"
)


def test_the_package_s_own_requirements_vary_and_what_runs_the_tests_does_not():
    assert requirements(PYPROJECT, LOCK) == [
        "attrs>=24.2",
        "PyYAML>=6.0.2",
        "cel>=0.1.3,<0.2",
        "click>=8.1",
        "hypothesis==6.120.1",
    ]


def test_every_requirement_of_the_project_has_a_lower_bound():
    """Without one, the oldest is a version of long ago."""
    texts = [ROOT / "pyproject.toml", ROOT / "tests" / "requirements.txt"]
    asked = [Requirement(one) for one in requirements(*(p.read_text() for p in texts))]
    for requirement in asked:
        operators = {one.operator for one in requirement.specifier}
        assert operators & {">=", "=="}, requirement
    assert len({requirement.name.lower() for requirement in asked}) == len(asked)
    assert all((ROOT / path).exists() for path in SUITE)
