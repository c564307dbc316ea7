"""Every view and form, at the widths of a desktop and a phone: its heading, its size, its accessibility and its shifts.

Each page is opened once for all its tests. A test restores the colours and the direction that it changes."""

from dataclasses import dataclass

import pytest
from conftest import open_pages, wait_for_reload_worker
from helpers import expect_view, screenshot, serious_violations, unique_name
from playwright.sync_api import Page, expect

WIDTHS = {"desktop": 1440, "phone": 390}
# The limit below which the Web Vitals rate the layout as stable.
LAYOUT_SHIFT_MAX = 0.1
SEARCH = "/n/demo/search?q=When+did+Priya+break+her+wrist%3F&limit=4"

# Starts the measurement before the page renders.
RECORD_SHIFTS = """
window.shifts = [];
window.shiftObserver = new PerformanceObserver(list => window.shifts.push(...list.getEntries()));
window.shiftObserver.observe({ type: "layout-shift", buffered: true });
"""
# Returns the shifts without recent input, once the current frame and the next one are painted.
READ_SHIFTS = """() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => {
    window.shifts.push(...window.shiftObserver.takeRecords());
    const own = window.shifts.filter(shift => !shift.hadRecentInput);
    const nodes = shift => shift.sources.map(source => source.node?.nodeName + "." + (source.node?.className ?? ""));
    resolve(own.map(shift => ({ value: shift.value, nodes: nodes(shift) })));
})))"""

# The address of each view, its heading, and an element of its content that is loaded last.
VIEWS = {
    "search": (SEARCH, "Search", ".hit"),
    "first search": ("/n/demo/search", "Search", ".empty"),
    "first steps": ("/n/{empty}/search", "Search", ".snippet"),
    "comparison": (f"{SEARCH}&compare=1&b_limit=1", "Search", ".compared >> nth=2"),
    "memories": ("/n/demo/memories?timeline=1", "Memories", ".memory-row"),
    "no memories": ("/n/{empty}/memories", "Memories", ".snippet"),
    "memory": ("/n/demo/memory/{boat}", "The boat", ".diff .added"),
    "no memory": ("/n/demo/memory/facts/nowhere.md", "Memory", ".error"),
    "people": ("/n/demo/people", "People and things", ".subjects a"),
    "profile": ("/n/demo/people/jonas?as_of=2026-04-01", "jonas", "svg .node"),
    "graph": ("/n/demo/graph/{boat}", "Graph", "svg .node"),
    "conversations": ("/n/{talks}/conversations", "Conversations", "tbody tr"),
    "conversation": ("/n/{talks}/conversations/source/{write}", "Conversation", ".turn >> nth=2 >> a"),
    "managed conversation": ("/n/{talks}/conversations/{managed}", "At the pier", ".turn >> nth=1"),
    "activity": ("/n/demo/activity?write={write}", "Activity", "h2:has-text('Write {write}')"),
    "vocabulary": ("/n/demo/vocabulary", "Vocabulary", "tbody tr"),
    "skills": ("/n/demo/skills", "Skills", "main h2"),
    "namespaces": ("/namespaces", "Namespaces", "tbody tr"),
    "keys": ("/keys", "Keys", "main [role=img]"),
    "billing": ("/billing", "Billing", "main .card"),
}
# The address of each form, and the button that opens it.
FORMS = {
    "new memory": ("/n/demo/memories", "New memory"),
    "memory": ("/n/demo/memory/{boat}", "Edit"),
    "term": ("/n/demo/vocabulary", "Teach a term"),
    "skill": ("/n/demo/skills", "New skill"),
    "namespace": ("/namespaces", "New namespace"),
    "key": ("/keys", "New key"),
}


@pytest.fixture(scope="module")
def places(service) -> dict[str, str]:
    """The names and ids that the addresses need."""
    empty, talks, boat = unique_name("empty"), unique_name("talks"), f"facts/{unique_name('boats')}/boat.md"
    for name in [empty, talks]:
        service.call("POST", "/v1/namespaces", {"name": name})
    for colour in ["green", "blue"]:
        content = f"# The boat\n\nIts hull is {colour} since May.\n"
        body = {"namespace": "demo", "content": content, "tags": ["harbour"], "cues": ["What colour is the boat?"]}
        service.call("POST", f"/v1/memories/{boat}", body)
    messages = [{"role": "user", "content": text} for text in ["I live in Oslo.", "ok", "I moved to Bergen."]]
    write = service.call("POST", "/v1/memories?wait=30", {"namespace": talks, "messages": messages})["id"]
    managed = service.call("POST", "/v1/conversations", {"namespace": talks, "title": "At the pier"})["id"]
    messages = [{"role": "user", "content": "My boat is green."}, {"role": "assistant", "content": "Thanks!"}]
    service.call("POST", f"/v1/conversations/{managed}/messages", {"messages": messages})
    terms = [{"term": unique_name("term"), "aliases": ["one"], "definition": "What it means."}]
    service.call("POST", "/v1/vocab?wait=30", {"namespace": "demo", "terms": terms})
    service.call("POST", "/v1/keys", {"name": "of a view", "env": "live"})
    return {"empty": empty, "talks": talks, "boat": boat, "write": write, "managed": managed}


@pytest.fixture(scope="module")
def open_once(browser):
    """Returns a function that opens a page for several tests."""
    with open_pages(browser) as open_page:
        yield open_page


@dataclass
class Shown:
    """A page that shows a view or a form."""

    name: str
    page: Page
    width: int
    # The layout shifts until the view was loaded.
    shifts: list[dict]


def expect_content(page: Page, title: str, content: str):
    expect_view(page, title)
    expect(page.locator(content).first).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)


@pytest.fixture(scope="module", params=WIDTHS)
def width(request) -> int:
    return WIDTHS[request.param]


def options_of(width: int) -> dict:
    """Returns the options of a page for axe: its script may run, and no colour is between two others."""
    return {"viewport": {"width": width, "height": 900}, "bypass_csp": True, "reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def signed_in_page(service, open_once, width) -> Page:
    """A signed-in page that the views are opened in, one after the other."""
    page = open_once(service.link(), **options_of(width))
    expect_view(page, "Search")
    wait_for_reload_worker(page)
    page.add_init_script(RECORD_SHIFTS)
    return page


def open_fresh(page: Page, address: str):
    """Opens an address without the data of the view before, which a change of the fragment would keep."""
    page.goto("about:blank")
    page.goto(address)


@pytest.fixture(scope="module", params=VIEWS)
def view(request, service, places, signed_in_page, width) -> Shown:
    """A view with its first disclosures open, and its first row selected."""
    place, title, content = (text.format(**places) for text in VIEWS[request.param])
    page = signed_in_page
    open_fresh(page, f"{service.dashboard}/#{place}")
    expect_content(page, title, content)
    shown = Shown(f"{request.param}-{width}", page, width, page.evaluate(READ_SHIFTS))
    page.locator("main details").evaluate_all("all => all.slice(0, 5).forEach(each => { each.open = true })")
    for box in page.locator(".memory-row [type=checkbox]").all()[:1]:
        box.check()
    expect(page.locator(".skeleton")).to_have_count(0)
    return shown


@pytest.fixture(scope="module", params=FORMS)
def form(request, service, places, signed_in_page, width) -> Shown:
    place, button = (text.format(**places) for text in FORMS[request.param])
    page = signed_in_page
    open_fresh(page, f"{service.dashboard}/#{place}")
    page.get_by_role("button", name=button).click()
    field = page.locator(":is(dialog, form.editor) :is(input, textarea)").first
    expect(field).to_be_focused()
    return Shown(f"form-{request.param}-{width}", page, width, [])


@pytest.fixture(scope="module")
def sign_in(service, open_once, width) -> Shown:
    page = open_once(service.dashboard, **options_of(width))
    page.add_init_script(RECORD_SHIFTS)
    page.reload()
    expect_content(page, "Cuebase", "form")
    return Shown(f"sign-in-{width}", page, width, page.evaluate(READ_SHIFTS))


def check_size(shown: Shown):
    """Nothing is wider than the window, in both directions of the page."""
    for direction in ["rtl", "ltr"]:
        shown.page.evaluate("direction => { document.documentElement.dir = direction }", direction)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= shown.width, direction
        too_wide = "dialogs => dialogs.filter(each => each.scrollWidth > each.clientWidth).length"
        assert shown.page.locator("dialog[open]").evaluate_all(too_wide) == 0, direction


def check_accessibility(shown: Shown):
    """axe finds nothing serious, in light and in dark colours."""
    for scheme in ["dark", "light"]:
        shown.page.emulate_media(color_scheme=scheme)
        screenshot(shown.page, f"{shown.name}-{scheme}".replace(" ", "-"))
        assert serious_violations(shown.page) == [], scheme


def check_shifts(shown: Shown):
    assert sum(each["value"] for each in shown.shifts) < LAYOUT_SHIFT_MAX, shown.shifts


def test_a_view_has_one_heading_that_takes_the_focus(view):
    heading = view.page.locator("h1")
    expect(heading).to_have_count(1)
    heading.focus()
    expect(heading).to_be_focused()


def test_a_view_fits(view):
    check_size(view)


def test_a_view_is_accessible(view):
    check_accessibility(view)


def test_a_view_does_not_shift_while_it_loads(view):
    check_shifts(view)


def test_a_form_fits(form):
    check_size(form)


def test_a_form_is_accessible(form):
    check_accessibility(form)


def test_the_sign_in_page_has_one_heading_and_a_focused_field(sign_in):
    expect(sign_in.page.locator("h1")).to_have_count(1)
    expect(sign_in.page.get_by_label("Or paste the link")).to_be_focused()


def test_the_sign_in_page_fits(sign_in):
    check_size(sign_in)


def test_the_sign_in_page_is_accessible(sign_in):
    check_accessibility(sign_in)


def test_the_sign_in_page_does_not_shift_while_it_loads(sign_in):
    check_shifts(sign_in)
