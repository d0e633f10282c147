"""Run the checks that must pass before a change lands, stage by stage.

    hack/ci               every stage
    hack/ci STAGE...      only these
    hack/ci long          the long proofs, before a change to their subjects
    hack/ci --list        name the stages

A stage that cannot run on this machine says SKIPPED, and why. Two stages that leave a
core idle run at the same time. Exit code 1 if a stage fails; no stage starts after it,
and another that runs goes on to its end. SIGTERM, SIGHUP and Ctrl-C end the stages that
run, with their children.
"""

import argparse
import sys

from gate import stages


def main() -> int:
    """Read the arguments, and run the stages."""
    parser = argparse.ArgumentParser(
        prog="hack/ci",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE")
    parser.add_argument("--list", action="store_true", help="name the stages")
    given = parser.parse_args()
    if given.list:
        for heading, some in (
            ("hack/ci", stages.STAGES),
            ("hack/ci long", stages.LONG),
        ):
            print(f"{heading}:")
            for stage in some:
                print(f"  {stage.name:<12} {stage.about}")
        return 0
    try:
        chosen = stages.chosen(given.stages)
    except KeyError as error:
        parser.error(f"there is no stage {error}: see hack/ci --list")
    return stages.run(chosen)


if __name__ == "__main__":
    sys.exit(main())
