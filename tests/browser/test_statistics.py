"""The tabs of the activity for performance, retrieval quality and the server, with responses that the tests choose."""

import copy
import json
from datetime import datetime, timedelta, timezone

import pytest
from helpers import query_of, serious_violations
from playwright.sync_api import Page, expect

ACTIVITY = "/n/demo/activity"
INTERVALS = 96
START = datetime(2026, 11, 25, 12, 0, tzinfo=timezone.utc)
RETRIEVE = {"method": "GET", "route": "/v1/retrieve", "count": 5000, "errors": 0, "p50_ms": 1.4, "p99_ms": 9.5}
ANSWER = {"method": "POST", "route": "/v1/answer", "count": 20, "errors": 1, "p50_ms": 900, "p99_ms": 2500}
REMEMBER = {"method": "POST", "route": "/v1/memories", "count": 300, "errors": 7, "p50_ms": 3, "p99_ms": 40}


def interval(number: int) -> dict:
    """Returns an interval. The first ones have no requests, as after a start."""
    at = (START + timedelta(minutes=15 * number)).isoformat().replace("+00:00", "Z")
    if number < 10:
        return {"at": at, "requests": 0, "errors": 0, "p50_ms": None, "p99_ms": None, "retrievals": 0, "empty": 0}
    figures = {"requests": 40 + number, "errors": int(number % 7 == 0), "p50_ms": 1.5, "p99_ms": 20 + number}
    return {"at": at, **figures, "retrievals": 20, "empty": number % 5}


def scores() -> list[dict]:
    """Returns the bins of the top scores: 10 queries in the second bin and 30 in the tenth."""
    bins = [{"from": number / 20, "to": (number + 1) / 20, "count": 0} for number in range(20)]
    bins[1]["count"] = 10
    bins[9]["count"] = 30
    return bins


STATISTICS = {
    "since": "2026-11-25T12:00:00Z",
    "interval_seconds": 900,
    "requests": {"count": 5320, "errors": 8, "p50_ms": 1.4, "p99_ms": 1250},
    "routes": [RETRIEVE, REMEMBER, ANSWER],
    "intervals": [interval(number) for number in range(INTERVALS)],
    "retrieval": {"count": 40, "empty": 6, "top_scores": scores()},
    "storage": {
        "disk_free_bytes": 5_000_000_000,
        "disk_total_bytes": 100_000_000_000,
        "namespaces": 3,
        "memories": 1234,
        "damaged_namespaces": 0,
    },
    "models": [
        {"role": "embedding", "name": "all-MiniLM-L6-v2", "state": "ready"},
        {"role": "chat", "name": "llama", "state": "unavailable"},
    ],
}


@pytest.fixture
def statistics() -> dict:
    """The statistics of the responses. A test may change them before it opens the page."""
    return copy.deepcopy(STATISTICS)


@pytest.fixture
def open_tab(signed_in, statistics):
    """Returns a function that opens a tab of the activity with the statistics of the test."""

    def enter(tab: str, **options) -> Page:
        page = signed_in(**options)
        body = json.dumps(statistics)
        page.route("**/v1/statistics", lambda route: route.fulfill(content_type="application/json", body=body))
        go_to_tab(page, tab)
        return page

    return enter


def go_to_tab(page: Page, tab: str):
    page.evaluate("place => { location.hash = place }", f"{ACTIVITY}?tab={tab}")
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_visible()


def tab_link(page: Page, name: str):
    return page.get_by_role("navigation", name="Parts of the activity").get_by_role("link", name=name)


def tile(page: Page, name: str):
    return page.locator(".tile").filter(has=page.locator("dt", has_text=name))


def rows_of(page: Page, caption: str):
    return page.get_by_role("region", name=caption, exact=True).locator("tbody tr")


def open_table(page: Page, section: str):
    """Shows the table of a chart. Returns its rows."""
    region = page.get_by_role("region", name=section, exact=True)
    region.get_by_text("Show as a table").click()
    return region.locator("details tbody tr")


def expect_charts(page: Page, count: int):
    expect(page.locator(".plot canvas")).to_have_count(count)


def test_a_tab_is_in_the_address(open_tab):
    page = open_tab("writes")
    tab_link(page, "Performance").click()
    expect(tile(page, "Requests")).to_be_visible()
    assert query_of(page)["tab"] == ["performance"]
    expect(tab_link(page, "Performance")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_text("Waiting writes")).to_be_visible()


def test_the_tabs_are_reached_with_the_keyboard(open_tab):
    page = open_tab("writes")
    # A new view takes the focus.
    expect(page.get_by_role("heading", name="Activity", level=1)).to_be_focused()
    tab_link(page, "Writes").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(tab_link(page, "Server")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Storage")).to_be_visible()
    expect(tab_link(page, "Server")).to_be_focused()


def test_the_tabs_are_accessible_and_fit(open_tab, width, scheme):
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
    page = open_tab("writes", **options)
    expect(rows_of(page, "Writes").first).to_be_visible()
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tab_link(page, "Performance").click()
    expect_charts(page, 2)
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tab_link(page, "Retrieval quality").click()
    expect_charts(page, 2)
    expect(tile(page, "Queries")).to_be_visible()
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tab_link(page, "Server").click()
    expect(tile(page, "Free disk space")).to_be_visible()
    expect(rows_of(page, "Background jobs").first).to_be_visible()
    assert serious_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_tabs_fit_from_right_to_left(open_tab, width):
    page = open_tab("performance", viewport={"width": width, "height": 900})
    page.keyboard.press("Control+k")
    page.get_by_label("Command or search").fill("right to left")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    for tab, shown in [("performance", "Requests"), ("quality", "Queries"), ("server", "Free disk space")]:
        go_to_tab(page, tab)
        expect(tile(page, shown)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_totals_of_the_requests_are_shown(open_tab):
    page = open_tab("performance")
    expect(tile(page, "Requests")).to_contain_text("5,320")
    expect(tile(page, "Errors of the server")).to_contain_text("8")
    expect(tile(page, "Median (p50)")).to_contain_text("1.4 ms")
    expect(tile(page, "p99")).to_contain_text("1.25 s")


def test_requests_and_response_times_have_charts_with_tables(open_tab):
    page = open_tab("performance")
    expect_charts(page, 2)
    requests = open_table(page, "Requests over time")
    expect(requests).to_have_count(INTERVALS)
    expect(requests.nth(14).get_by_role("cell")).to_have_text([f"{local(page, 14)}", "54", "1"])
    times = open_table(page, "Response time over time")
    expect(times.nth(0).get_by_role("cell")).to_have_text([f"{local(page, 0)}", "—", "—"])
    expect(times.nth(14).get_by_role("cell")).to_have_text([f"{local(page, 14)}", "1.5 ms", "34 ms"])


def local(page: Page, number: int) -> str:
    """Returns the start of an interval as the table has it."""
    format_ = "new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'short'}).format(new Date(at))"
    return page.evaluate(f"at => {format_}", interval(number)["at"])


def test_the_routes_are_sorted(open_tab):
    page = open_tab("performance")
    rows = rows_of(page, "Routes")
    expect(rows.first).to_contain_text("GET /v1/retrieve")
    page.get_by_role("button", name="Slowest").click()
    expect(rows.first).to_contain_text("POST /v1/answer")
    expect(rows.last).to_contain_text("GET /v1/retrieve")
    assert query_of(page)["sort"] == ["p99"]
    page.get_by_role("button", name="Most errors").click()
    expect(rows.first).to_contain_text("POST /v1/memories")


def test_a_single_interval_is_shown(open_tab, statistics):
    statistics["intervals"] = [interval(14)]
    page = open_tab("performance")
    expect_charts(page, 2)
    expect(open_table(page, "Requests over time")).to_have_count(1)


def test_the_scores_of_the_best_hits_have_a_histogram(open_tab):
    page = open_tab("quality")
    expect_charts(page, 2)
    rows = open_table(page, "Top scores")
    expect(rows).to_have_count(20)
    expect(rows.nth(1).get_by_role("cell")).to_have_text(["0.05–0.10", "10"])
    expect(rows.nth(9).get_by_role("cell")).to_have_text(["0.45–0.50", "30"])
    expect(tile(page, "Median of the top scores")).to_contain_text("0.45–0.50")


def test_the_share_of_queries_without_a_hit_is_shown_with_advice(open_tab):
    page = open_tab("quality")
    expect(tile(page, "Without an admitted hit")).to_contain_text("15%")
    expect(tile(page, "Without an admitted hit")).to_contain_text("6 of 40 queries")
    rows = open_table(page, "Queries without a hit")
    expect(rows.nth(0).get_by_role("cell").last).to_have_text("—")
    expect(rows.nth(14).get_by_role("cell").last).to_have_text("20%")
    expect(page.get_by_text("open “Why not …?”")).to_be_visible()


def test_a_server_without_queries_says_what_to_do(open_tab, statistics):
    statistics["retrieval"] = {"count": 0, "empty": 0, "top_scores": []}
    page = open_tab("quality")
    expect(page.get_by_text("No query yet")).to_be_visible()


def test_storage_and_models_are_shown(open_tab):
    page = open_tab("server")
    expect(tile(page, "Free disk space")).to_contain_text("5 GB")
    # Less than a tenth is free.
    expect(tile(page, "Free disk space").locator(".bad")).to_be_visible()
    expect(tile(page, "Memories")).to_contain_text("1,234")
    expect(tile(page, "Memories")).to_contain_text("in 3 namespaces")
    models = rows_of(page, "Models")
    expect(models.nth(0)).to_contain_text("all-MiniLM-L6-v2")
    expect(models.nth(0)).to_contain_text("ready")
    expect(models.nth(1)).to_contain_text("does not answer")


def test_a_missing_chat_model_is_shown(open_tab, statistics):
    statistics["models"][1].update(name=None, state="off")
    page = open_tab("server")
    expect(rows_of(page, "Models").nth(1).get_by_role("cell")).to_have_text(["Chat", "none", "not configured"])


def test_a_damaged_namespace_is_marked(open_tab, statistics):
    statistics["storage"]["damaged_namespaces"] = 1
    page = open_tab("server")
    expect(tile(page, "Damaged namespaces").locator(".bad")).to_have_text("1")
    expect(tile(page, "Damaged namespaces")).to_contain_text("cuebase doctor")


def test_a_storage_without_known_space_is_shown(open_tab, statistics):
    statistics["storage"].update(disk_free_bytes=None, disk_total_bytes=None)
    page = open_tab("server")
    expect(tile(page, "Free disk space")).to_contain_text("not known")


def test_the_nodes_of_a_cluster_are_shown(open_tab, statistics):
    statistics["nodes"] = [
        {"id": "01KB0000000000000000000001", "version": "0.1.0", "this": False, "namespaces": 2},
        {"id": "01KB0000000000000000000002", "version": "0.1.0", "this": True, "namespaces": 1},
        {"id": "01KB0000000000000000000003", "version": "0.1.0", "this": False, "namespaces": None},
    ]
    page = open_tab("server")
    rows = rows_of(page, "Nodes")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).get_by_role("cell")).to_have_text(["01KB0000000000000000000001", "0.1.0", "2"])
    expect(rows.nth(1)).to_contain_text("this node")
    expect(rows.nth(2)).to_contain_text("no answer")


def test_a_single_server_has_no_table_of_nodes(open_tab, statistics):
    page = open_tab("server")
    expect(rows_of(page, "Models").first).to_be_visible()
    expect(rows_of(page, "Nodes")).to_have_count(0)
    statistics["nodes"] = [{"id": "01KB0000000000000000000001", "version": "0.1.0", "this": True, "namespaces": 3}]
    page = open_tab("server")
    expect(rows_of(page, "Models").first).to_be_visible()
    expect(rows_of(page, "Nodes")).to_have_count(0)


def test_an_error_is_shown_in_the_place_of_the_figures(signed_in):
    page = signed_in()
    page.route("**/v1/statistics", lambda route: route.abort())
    go_to_tab(page, "performance")
    expect(page.get_by_role("alert")).to_contain_text("The server does not respond")
    tab_link(page, "Writes").click()
    expect(page.get_by_text("Waiting writes")).to_be_visible()


def test_a_search_is_counted(service, signed_in):
    before = service.call("GET", "/v1/statistics")["retrieval"]["count"]
    service.call("GET", "/v1/retrieve?namespace=demo&q=wrist")
    page = signed_in(f"{ACTIVITY}?tab=quality")
    expect(tile(page, "Queries")).to_be_visible()
    shown = int(tile(page, "Queries").locator(".figure").inner_text().replace(",", ""))
    assert shown > before
