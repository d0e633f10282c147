"""Each code block of each page is run by a test, or the page says why none can."""

import re
from collections import Counter

import pytest
from blocks import HOME, OTHERS, ROOT, all_blocks, all_pages

# The test of each block below a heading, in their order. Not here are drawings, and
# Python of the library's pages, which `test_what_the_pages_show_runs` runs, all of it.
GUIDE = "test_deploy_guide::test_the_commands_of"
MANIFESTS = "test_deploy_manifests::test_every_object_of_the_page_s_commands_is_there_afterwards"
TUTORIAL = "test_docs_tutorial::test_each_step_does_what_the_page_says"
OPERATOR = "test_docs_operator::test"
LIBRARY = "test_docs_library::test"
EXTENSIONS = "test_extensions_readme::test"
POLICY = "test_docs_gitops::test_the_policy_denies_other_locations"
RUNNERS = {
    "README.md": {
        "Try it": [
            "test_docs_library::test_the_sandbox_shows_the_samples",
            "test_sandbox::test_a_kind_that_no_manifest_has_is_applied_and_exports_its_keys",
        ],
        "Use the commands": [f"{LIBRARY}_render_prints_what_the_page_shows"],
        "Run it against Azure": [f"{OPERATOR}_the_printed_options_start_an_operator"],
        "Write a controller of your own": [
            "test_docs_code::test_what_the_pages_show_runs"
        ],
    },
    "asoreconcile/docs/how-to/debug.md": {
        "Look into a running process": [f"{LIBRARY}_the_role_opens_the_debug_pages"]
    },
    "asoreconcile/docs/how-to/ship.md": {
        "Role and Deployment": [f"{LIBRARY}_the_role_is_enough_for_the_tutorial"]
    },
    "asoreconcile/docs/tutorial.md": {
        "1. Install": [TUTORIAL],
        "2. Define the kind": [TUTORIAL],
        "4. Run it": [TUTORIAL] * 4,
    },
    "asoreconcile/docs/versions.md": {
        "How a release is made": [
            "test_release::test_a_signature_holds_for_the_file_that_was_signed",
        ]
    },
    "asoreconcile/testing/README.md": {
        "A Kubernetes API server in five lines": [
            f"{LIBRARY}_a_server_of_one_s_own_takes_objects_and_faults"
        ],
        "Faults and controls": [
            f"{LIBRARY}_a_server_of_one_s_own_takes_objects_and_faults"
        ],
    },
    "deploy/README.md": {
        "Into a cluster": [MANIFESTS, f"{OPERATOR}_single_crds_are_installed"],
        "By Helm": [f"{GUIDE}_helm"] * 3,
        "By Kustomize": [f"{GUIDE}_kustomize"] * 2,
        "Metrics": [
            f"{OPERATOR}_a_scraper_may_read_the_metrics",
            "test_deploy_guide::test_the_command_that_brings_alerts",
        ],
        "Several versions of a kind": [
            f"{OPERATOR}_the_printed_options_start_an_operator",
            f"{OPERATOR}_a_protected_object_is_not_deleted",
        ],
        "One operator for each team": [
            "test_deploy_manifests::test_a_team_s_operator_runs_the_image_that_the_reader_names"
        ],
    },
    "deploy/docs/clusters.md": {
        "Active and passive": [f"{GUIDE}_several_clusters"] * 2,
        "Move to another cluster or namespace": [f"{GUIDE}_several_clusters"],
    },
    "deploy/docs/databases.md": {
        "Users of databases": [f"{LIBRARY}_a_database_user_is_rendered"] * 2
    },
    "deploy/docs/entra.md": {
        "Groups and applications of Microsoft Entra": [
            f"{OPERATOR}_the_manifests_are_admitted"
        ],
        "What is kept in line": [f"{OPERATOR}_the_manifests_are_admitted"],
        "Applications and service principals": [
            f"{OPERATOR}_the_manifests_are_admitted"
        ],
    },
    "deploy/docs/gitops.md": {"Policies": [POLICY, POLICY]},
    "deploy/docs/import.md": {
        "Import resources that exist in Azure": [
            f"{OPERATOR}_a_resource_group_is_imported"
        ],
        "Where ids come from": [
            "test_deploy_import_page::test_the_ids_of_terraform_s_state_are_found_by_the_line_on_the_page"
        ],
    },
    "deploy/docs/migration.md": {
        "Back to ASO": [f"{GUIDE}_the_time_afterwards"] * 2,
    },
    "deploy/docs/operations.md": {
        "Upgrade and rollback": [f"{GUIDE}_the_time_afterwards"],
        "Upgrade by manifests": [
            "test_deploy_manifests::test_manifests_applied_again_change_nothing_and_fight_with_nobody"
        ],
        "Switch the webhooks off": [f"{GUIDE}_the_time_afterwards"],
        "Uninstall": [f"{GUIDE}_the_time_afterwards"],
        "What a sync does": [f"{OPERATOR}_drifted_objects_are_listed"],
        "Change a setting": [f"{GUIDE}_the_time_afterwards"],
        "Credentials": [f"{GUIDE}_the_time_afterwards"],
        "Strict workload identity": [f"{GUIDE}_the_time_afterwards"] * 2,
        "Look at one object": [f"{OPERATOR}_one_object_is_looked_at"],
    },
    "deploy/docs/ownership.md": {
        "A resource that is there before the object": [
            f"{OPERATOR}_an_observed_resource_is_only_read"
        ],
        "Keep a resource from being deleted": [
            f"{OPERATOR}_a_protected_object_is_not_deleted"
        ],
        "Fields that you set once": [
            f"{OPERATOR}_a_field_that_is_not_there_is_refused"
        ],
        "Your own pace": [
            f"{OPERATOR}_an_object_is_reconciled_now",
            f"{OPERATOR}_a_window_that_cannot_be_read_is_refused",
        ],
    },
    "deploy/docs/page.md": {
        "The page: objects in a browser": [f"{OPERATOR}_the_page_is_served"]
    },
    "deploy/docs/scale.md": {
        "Splitting by namespaces": [
            "test_deploy_scale_page::test_each_release_has_its_own_namespaces"
        ],
        "Moving a namespace to another operator": [
            "test_deploy_scale_page::test_the_command_of_a_move_marks_the_namespace_s_objects_of_all_kinds"
        ],
    },
    "deploy/docs/security.md": {
        "The reach of a Namespace": [f"{LIBRARY}_the_grant_grants_what_the_page_says"]
    },
    "deploy/docs/webhook-access.md": {
        "A network policy": [f"{LIBRARY}_the_policy_admits_the_sources_of_the_page"]
        * 2,
        "A client certificate": [
            "test_deploy_install::test_the_api_server_calls_the_webhooks_by_their_service"
        ]
        * 2,
    },
    "extensions/README.md": {
        "Your own set in ten minutes": [
            f"{EXTENSIONS}_the_example_passes_its_own_tests",
            f"{EXTENSIONS}_the_example_passes_its_own_tests",
            f"{EXTENSIONS}_the_example_s_entry_point_leads_to_a_set_that_fits",
        ],
        "One more kind: a row and its test": [
            f"{EXTENSIONS}_a_row_and_its_test_make_one_more_kind"
        ]
        * 2,
    },
}
# Runbooks: each block of the page is run by one test.
ALL_OF = {
    "deploy/docs/alerts.md": "test_deploy_guide::test_the_commands_of_the_runbooks"
}
PAGES = {page.relative_to(ROOT).as_posix(): page for page in all_pages()}


def needs_a_runner(page, block):
    is_library = page.is_relative_to(HOME) or page in OTHERS[1:]
    return not (
        block.language in ("text", "mermaid")
        or block.reason
        or (block.language == "python" and is_library)
    )


@pytest.mark.parametrize(
    "name", [name for name, page in PAGES.items() if all_blocks(page)]
)
def test_each_block_has_its_runner(name):
    wanted = Counter(
        one.heading for one in all_blocks(name) if needs_a_runner(PAGES[name], one)
    )
    if name in ALL_OF:
        assert wanted
        return
    rows = {heading: len(tests) for heading, tests in RUNNERS.get(name, {}).items()}
    assert rows == wanted, (
        "a block without a test: write one and name it in RUNNERS, or say why no test "
        "can run the block, in a comment above it: <!-- not run: REASON -->"
    )


def test_drawings_and_outputs_show_no_command():
    for page in PAGES.values():
        for one in all_blocks(page):
            if one.language == "text":
                assert not re.search(r"^\$ ", one.text, re.MULTILINE), (page, one)


def test_each_runner_reads_its_page():
    """It is there, and its file names the page."""
    files = {one.stem: one.read_text() for one in (ROOT / "tests").rglob("test_*.py")}
    rows = [
        (page, test)
        for page, headings in RUNNERS.items()
        for tests in headings.values()
        for test in tests
    ]
    for page, test in [*rows, *ALL_OF.items()]:
        module, _, name = test.partition("::")
        text = files[module]
        assert f"def {name}(" in text, test
        if test != "test_docs_code::test_what_the_pages_show_runs":
            assert PAGES[page].name in text, (page, test)
