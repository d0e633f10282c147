"""The alerts and the dashboard fit what /metrics says, by the real Prometheus."""

import json
import re
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import livemetrics
import pytest
import yaml
from operation import WAIT_SECONDS, free_port
from prometheus_client.parser import text_string_to_metric_families
from tools import CHART, DEPLOY, program, run

ALERTS = CHART / "files" / "alerts.yaml"
RUNBOOKS = DEPLOY / "docs" / "alerts.md"
BOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
RULES = [r for g in yaml.safe_load(ALERTS.read_text())["groups"] for r in g["rules"]]
PANELS = [p for p in BOARD["panels"] if p["type"] != "row"]
SHOWN = [(p["title"], t["expr"]) for p in PANELS for t in p["targets"]]
# The faults of the recording, if they last.
LOUD = {
    "AsoReconcileThrottled",
    "AsoReconcileWritesRefused",
    "AsoReconcileAzureUnreachable",
}
# Metrics that are shown only while something is wrong; their TYPE lines prove the
# names.
ONLY_IN_TROUBLE = {
    "asoreconcile_kind_not_running",
    "asoreconcile_kind_handover_seconds",
}
# The two texts are put so far apart, and looked at so long after the second.
APART_SECONDS, LATER_SECONDS = 240, 10


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    """Two texts of the replica that leads, and of the one that waits."""
    return livemetrics.scrapes(tmp_path_factory.mktemp("operation"))


@pytest.fixture(scope="module")
def texts(replicas):
    return replicas[0]


@pytest.fixture(scope="module")
def server(texts, tmp_path_factory):
    """Asks a Prometheus that has scraped both texts: `server(expression)`."""
    prometheus = program("prometheus", "prometheus")
    promtool = program("prometheus", "promtool")
    folder = tmp_path_factory.mktemp("prometheus")
    end = int(time.time()) - LATER_SECONDS
    (folder / "all.om").write_text(_openmetrics(texts, end))
    run(
        *(promtool, "tsdb", "create-blocks-from", "openmetrics"),
        *(folder / "all.om", folder / "data"),
    )
    (folder / "prometheus.yml").write_text("{}\n")
    with _running(prometheus, folder) as port:
        yield lambda expression: _ask(port, expression, end)


def _samples(text, **added):
    """Each series of a text, with the labels that a scraper adds: name, labels,
    value.
    """
    added = {"namespace": "system", "job": "ours", "instance": "1", "pod": "p"} | added
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith("_created"):
                continue
            labels = {**added, **sample.labels}
            said = ",".join(f"{k}={json.dumps(v)}" for k, v in labels.items())
            yield sample.name, said, sample.value


def _openmetrics(texts, end):
    """Both texts as one, with times."""
    series = {}
    for text, at in zip(texts, (end - APART_SECONDS, end), strict=True):
        for name, said, value in _samples(text):
            named = series.setdefault(name, {})
            named.setdefault(said, []).append(f"{value} {at}")
    lines = [
        f"{name}{{{said}}} {value}"
        for name, named in series.items()
        for said, values in named.items()
        for value in values
    ]
    return "\n".join([*lines, "# EOF\n"])


@contextmanager
def _running(prometheus, folder):
    port = free_port()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                prometheus,
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
                "--storage.tsdb.retention.time=10y",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        end = time.monotonic() + WAIT_SECONDS
        while not _is_ready(port):
            said = (folder / "log").read_text()[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < end, said
        yield port
    finally:
        process.terminate()
        process.wait()


def _is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready"):
            return True
    except OSError:
        return False


def _ask(port, expression, at):
    query = urllib.parse.urlencode({"query": expression, "time": at})
    url = f"http://127.0.0.1:{port}/api/v1/query?{query}"
    with urllib.request.urlopen(url) as answer:
        return json.load(answer)["data"]["result"]


def filled(expression):
    """Return an expression of the dashboard, with variables replaced as Grafana
    does.
    """
    for name, value in (
        ("$__rate_interval", "10m"),
        ("$namespace", "sys.*"),
        ("$controller", ".*"),
    ):
        expression = expression.replace(name, value)
    assert "$" not in expression
    return expression


def metrics_of(expression):
    """The names of metrics in an expression."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)
    return set(re.findall(r"\b[a-z]+_[a-z_]+\b(?!\s*[(=!])", bare)) - {
        "group_left",
        "leader_election",
    }


def shown_names(text):
    """Every name of a series that a text of /metrics has or announces."""
    names = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    return names | set(re.findall(r"^([a-z_:]+)[ {]", text, re.MULTILINE))


EXPRESSIONS = [(r["alert"], r["expr"]) for r in RULES] + SHOWN


def test_alerts_and_panels_ask_for_metrics_that_are_there(texts):
    names = shown_names(texts[1])
    for title, expression in EXPRESSIONS:
        asked = metrics_of(expression)
        assert asked, title
        assert asked <= names, f"{title}: {asked - names}"


@pytest.mark.parametrize(("title", "expression"), SHOWN, ids=[t for t, _ in SHOWN])
def test_each_panel_shows_something_of_a_manager_at_work(server, title, expression):
    assert server(filled(expression)), title


@pytest.mark.parametrize("rule", RULES, ids=[r["alert"] for r in RULES])
def test_each_alert_can_be_evaluated_on_a_manager_at_work(server, rule):
    """And is silent, but for the Azure of the test, which throttles and hangs up."""
    # One event is enough here, of which alerts need three.
    found = server(rule["expr"].replace("> 2.5", "> 0"))
    assert bool(found) == (rule["alert"] in LOUD), found
    for name in metrics_of(rule["expr"]) - ONLY_IN_TROUBLE:
        assert server(name), name


def test_promtool_accepts_the_alerts():
    run(program("prometheus", "promtool"), "check", "rules", ALERTS)


def test_each_alert_fires_when_it_should_and_only_then():
    promtool = program("prometheus", "promtool")
    cases = Path(__file__).parent / "alerts_test.yaml"
    fired = set(re.findall(r'labels: \'{alertname="(\w+)"', cases.read_text()))
    assert fired == {rule["alert"] for rule in RULES}
    run(promtool, "test", "rules", cases)


LEADS = "leader_election_master_status"
# Histories of 150 minutes made of the recorded texts. Each gives the values of a series by
# its two recorded values and their difference; a second replica has its own, or none.
HISTORIES = {
    "idle": ("{1}x240", None),
    "a scrape is missed": ("{1}x60 _ {1}x180", None),
    "counters begin again": ("{1}x60 {0}x180", None),
    "work beside a replica that waits": ("{1}x240", "{1}x240"),
    "a replica waits alone": (None, "{1}x240"),
    "a pod takes over": ("{1}x60 stale", "{0}x61 {1}x180"),
    "a pod is replaced": ("{1}x60 stale", "_x61 {0}x180"),
    "two events": ("{0}x60 {1}x180", None),
    "the faults of the recording go on": ("{1}+{2}x240", None),
}
FIRE = {
    "the faults of the recording go on": sorted(LOUD),
    "a replica waits alone": ["AsoReconcileNoLeader"],
}
# The second replica's series are those of the one that waits, else of one that leads.
WAIT = {"work beside a replica that waits", "a replica waits alone"}
LATER_LEADS = {"a pod takes over": "0x61 1x180"}


FIRED = 'group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[150m]))'
COUNTER = re.compile(r"_(total|count|sum|bucket)\{")
ASKED = set().union(*(metrics_of(rule["expr"]) for rule in RULES))


def _history(replicas, name, patterns):
    first, second = patterns
    series = {}
    for number, pattern in (("1", first), ("2", second)):
        values = {}
        texts = replicas[number == "2" and name in WAIT]
        for text, at in zip(texts, (0, 1), strict=True):
            for metric, said, value in _samples(text, instance=number, pod=number):
                if metric in ASKED:
                    values.setdefault(f"{metric}{{{said}}}", [0.0, 0.0])[at] = value
        for one, (before, after) in values.items() if pattern else ():
            leads = number == "2" and one.startswith(LEADS) and LATER_LEADS.get(name)
            more = after - before if COUNTER.search(one) else 0
            series[one] = leads or pattern.format(before, after, more)
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": s, "values": v} for s, v in series.items()],
        "promql_expr_test": [
            {
                "expr": FIRED,
                "eval_time": "150m",
                "exp_samples": [
                    {"labels": f'{{alertname="{alert}"}}', "value": 1}
                    for alert in FIRE.get(name, ())
                ],
            }
        ],
    }


def test_alerts_fire_over_recorded_histories_only_if_trouble_lasts(replicas, tmp_path):
    tests = [_history(replicas, name, patterns) for name, patterns in HISTORIES.items()]
    document = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "2m",
        "tests": tests,
    }
    (tmp_path / "recorded.yaml").write_text(json.dumps(document))
    promtool = program("prometheus", "promtool")
    run(promtool, "test", "rules", tmp_path / "recorded.yaml")


def test_each_alert_says_what_it_means_and_what_to_do():
    for rule in RULES:
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["for"]
    assert len({rule["alert"] for rule in RULES}) == len(RULES)


def test_each_alert_has_a_section_in_the_runbooks_and_each_section_an_alert():
    sections = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in RULES]
    for rule in RULES:
        url = rule["annotations"]["runbook_url"]
        assert url == f"deploy/docs/alerts.md#{rule['alert'].lower()}"


def test_the_chart_says_where_the_runbooks_are():
    base = "https://git.example/asoreconcile/blob/main/"
    on = ("metrics.enable=true", "metrics.prometheusRule.enable=true")
    settings = [*on, f"metrics.prometheusRule.runbookBase={base}"]
    flags = [flag for one in settings for flag in ("--set", one)]
    text = run(program("helm", "helm"), "template", CHART, *flags)
    assert text.count(f"runbook_url: {base}deploy/docs/alerts.md#") == len(RULES)


def test_panels_lie_beside_each_other():
    places, taken = [p["gridPos"] for p in BOARD["panels"]], set()
    for place in places:
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
    assert len({p["id"] for p in BOARD["panels"]}) == len(places)
