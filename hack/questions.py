"""Prints which modules a reader opens to answer twenty questions about a reconcile.

    hack/questions [WORD...]     only the questions that contain a word

Each answer begins at a module that a reader finds by the name of the matter. A test
checks that the named functions are there.
"""

import sys

POLICIES = "asoreconcile/azure/reconcile/policies"
MODEL = "asoreconcile/azure/reconcile/model"
WRITES = "asoreconcile/azure/reconcile/writes"
SCOPE = "asoreconcile/azure/reconcile/scope"
# The modules to open for each question, in order, each with the name to look for.
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "which phases run before a PUT, and in which order?": (
        (f"{POLICIES}/order.py", "BEFORE_PUT"),
    ),
    "which phase held this object's PUT?": (
        (f"{POLICIES}/order.py", "PERMIT"),
        (f"{POLICIES}/maintenance_windows.py", "window_open"),
    ),
    "what counts as a PUT for the budget?": (
        (f"{POLICIES}/put_budget.py", "within_budget"),
    ),
    "why does a deletion send no DELETE?": (
        (f"{POLICIES}/order.py", "BEFORE_DELETE"),
        (f"{POLICIES}/sole_manager.py", "why_left"),
    ),
    "what does deletion protection protect?": (
        (f"{POLICIES}/deletion_protection.py", "unprotected"),
    ),
    "what does a change of an annotation wake?": (
        (f"{MODEL}/annotation_table.py", "needs_reconcile"),
    ),
    "which annotations are there, and which values do they have?": (
        (f"{MODEL}/annotation_table.py", "_ROWS"),
    ),
    "when is an object looked at next?": ((f"{SCOPE}/next_look.py", "next_look"),),
    "when may a sync read a list in place of a GET?": (
        (f"{POLICIES}/bulk_reads.py", "listed_resource"),
    ),
    "which differences does a sync repair?": (
        (f"{POLICIES}/drift.py", "sync"),
        ("asoreconcile/azure/reconcile/sync/drift.py", "at_sync"),
    ),
    "which tags and fields of others does a PUT keep?": (
        (f"{POLICIES}/foreign_values.py", "keep_foreign_values"),
        (f"{MODEL}/merged_body.py", "merged"),
    ),
    "when is a resource that was there taken over?": (
        (f"{POLICIES}/adoption.py", "meet_existing"),
    ),
    "what may an object do to a resource?": ((f"{MODEL}/standing.py", "TABLE"),),
    "when does a 404 count as gone?": (
        (f"{POLICIES}/confirmed_absence.py", "confirm_absence"),
    ),
    "when is a resource deleted and made again?": (
        (f"{POLICIES}/recreation.py", "why_kept"),
        (f"{WRITES}/recreating.py", "recreate"),
    ),
    "what is read after a restart?": ((f"{POLICIES}/resumption.py", "resume"),),
    "what does a policy remember between reconciles?": (
        ("asoreconcile/azure/reconcile/state/memory.py", "part"),
    ),
    "where is the one place that sends a PUT or a DELETE?": (
        (f"{WRITES}/sending.py", "send_put"),
    ),
    "which conditions end a reconcile that has read its resource?": (
        (f"{POLICIES}/order.py", "SETTLED"),
    ),
    "at which points do extensions run?": (
        ("asoreconcile/azure/middleware/extension_points.py", "POINTS"),
    ),
}


def main(words: list[str]) -> None:
    """Print the questions that contain one of the words, or all."""
    for question, places in QUESTIONS.items():
        if not words or any(word.lower() in question.lower() for word in words):
            shown = "\n".join(f"    {path}: {name}" for path, name in places)
            sys.stdout.write(f"{question}\n{shown}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
