"""The interactions that are measured: where each starts, what is done, and what the page then shows.

`place`, `ready` and `shown` are the address of the view and two conditions in JavaScript. `bench.has` and `bench.title`
are in timing.js. `prepare` runs before the measurement, and `act` is measured from its first event.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page

Act = Callable[[Page], None]

ROWS = 'bench.has(".memory-row")'
STATUS = "main [role=status]"
GRAPH = 'bench.has("svg .node")'
#: Time that the pointer rests before a press, seconds, so that the hover is not measured.
HOVER = 0.05


@dataclass(frozen=True)
class Interaction:
    """One row of the table."""

    title: str
    place: str
    ready: str
    act: Act
    shown: str
    prepare: Act | None = None


def press(find: Callable[[Page], Locator], modifier: str = "") -> Act:
    """Returns a press of the mouse on an element."""

    def act(page: Page) -> None:
        element = find(page).first
        # Scrolls to the element and waits until it stands still.
        element.hover()
        box = element.bounding_box()
        assert box, "the element is not visible"
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        time.sleep(HOVER)
        page.evaluate("bench.arm(bench.shown)")
        if modifier:
            page.keyboard.down(modifier)
        page.mouse.down()
        page.mouse.up()
        if modifier:
            page.keyboard.up(modifier)

    return act


def keys(find: Callable[[Page], Locator] | None, *names: str) -> Act:
    """Returns a press of keys in an element, or where the focus is."""

    def act(page: Page) -> None:
        if find:
            find(page).first.focus()
        page.evaluate("bench.arm(bench.shown)")
        for name in names:
            page.keyboard.press(name)

    return act


def back(page: Page) -> None:
    page.evaluate("bench.arm(bench.shown); bench.begin(); history.back()")


def change_address(place: str) -> Act:
    def act(page: Page) -> None:
        page.evaluate("place => { bench.arm(bench.shown); bench.begin(); location.hash = place }", place)

    return act


def ctrl_wheel(page: Page) -> None:
    box = page.locator("svg:has(.node)").first.bounding_box()
    assert box, "the graph is not visible"
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.keyboard.down("Control")
    page.evaluate("bench.arm(bench.shown)")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")


def button(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=name, exact=True)


def check(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.locator("main label.check").filter(has_text=name).locator("input")


def field(label: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_label(label, exact=True)


def css(selector: str) -> Callable[[Page], Locator]:
    return lambda page: page.locator(selector)


def does(*acts: Act) -> Act:
    """Returns acts one after the other, each once the page is quiet."""

    def act(page: Page) -> None:
        for each in acts:
            page.evaluate("bench.shown = () => true")
            each(page)
            page.evaluate("bench.quiet()")

    return act


def list_interactions(central: str, hub: str) -> list[Interaction]:
    """Returns all interactions. `central` is a subject with many claims, `hub` a memory with many relations."""
    return [*views(), *memories(), *one_memory(hub), *search(), *people(central, hub), *conversations()]


def views() -> list[Interaction]:
    content = {
        "Memories": ROWS,
        "People and things": 'bench.has(".subjects li")',
        "Conversations": 'bench.has("main tbody tr")',
        "Activity": 'bench.has("main h2")',
        "Vocabulary": 'bench.title("Vocabulary") && bench.has("main")',
        "Skills": 'bench.title("Skills") && bench.has("main")',
        "Namespaces": 'bench.title("Namespaces") && bench.has("main tbody tr")',
    }
    found = []
    for title, shown in content.items():
        link = css(f'nav a:text-is("{title}")')
        shown = f'bench.title("{title}") && {shown}'
        found.append(Interaction(f"open {title}", "search", 'bench.title("Search")', press(link), shown))
    return found


def memories() -> list[Interaction]:
    timeline = 'bench.has(".timeline-card canvas")'
    # The rows of before stay until the new ones are loaded.
    is_loaded = "!document.querySelector('[aria-label=\"List of memories\"][aria-busy=true]')"
    pressed = 'bench.has(".chip[aria-pressed=true]")'
    checked = "document.querySelectorAll('.memory-row input:checked').length"
    select = css(".memory-row input")
    first, last = (lambda page: select(page).first), (lambda page: select(page).last)
    next_page = press(button("Next page"))

    def at(text: str) -> str:
        return f'{is_loaded} && bench.has(".memory-row") && bench.has("{STATUS}", "{text}")'

    def listed(title: str, act: Act, shown: str, query: str = "", prepare: Act | None = None) -> Interaction:
        return Interaction(f"list: {title}", f"memories{query}", ROWS, act, shown, prepare)

    return [
        listed("next page", next_page, at("51–100 of")),
        listed("page 8", next_page, at("351–400 of"), "?page=7"),
        listed("previous page", press(button("Previous page")), at("51–100 of"), "?page=3"),
        listed("page 100 by address", change_address("/n/large/memories?page=100"), at("4,951–5,000 of")),
        listed("sort by title", keys(field("Order"), "End"), at("1–50 of") + ' && location.hash.includes("=title")'),
        listed("sort by oldest", keys(field("Order"), "ArrowDown"), at("1–50 of") + ' && location.hash.includes("=old")'),
        listed("sort by title, then newest", keys(field("Order"), "Home"), at("1–50 of"), "?order=title"),
        listed("time field", keys(field("Time"), "ArrowDown"), at("1–50 of") + ' && location.hash.includes("by=")'),
        listed("tier", press(check("incidents")), at("1–50 of") + ' && location.hash.includes("tiers=")'),
        listed("only what holds", press(check("Only what holds")), at("1–50 of") + ' && location.hash.includes("current=")'),
        # The newest memories come from conversations and have no tags.
        listed("tag", press(css(".chip[aria-pressed=false]")), f"{pressed} && {ROWS}", "?tiers=rules"),
        listed("topic", keys(field("Topic"), "ArrowDown"), at("1–50 of") + ' && location.hash.includes("topic=")'),
        listed("key in the tags", keys(field("Any of these tags"), "g"), "document.activeElement?.value?.endsWith('g')"),
        listed("directory", press(css("nav[aria-label=Directories] a")), ROWS + ' && location.hash.includes("/facts")'),
        listed(
            "large directory",
            change_address("/n/large/memories/facts/archive"),
            'bench.has(".crumbs", "archive") && ' + ROWS,
        ),
        listed("select a row", press(first), f"{checked} === 1"),
        listed("select a range", press(last, "Shift"), f"{checked} === 50", prepare=does(press(first))),
        listed("select the page", press(check("Select this page")), f"{checked} === 50"),
        listed(
            "select none",
            press(button("Select none")),
            f"{checked} === 0",
            prepare=does(press(check("Select this page"))),
        ),
        listed("select a row below the timeline", press(first), f"{checked} === 1", "?order=title&timeline=1"),
        listed("new memory", press(button("New memory")), 'bench.has("dialog[open] textarea")'),
        listed("timeline", press(check("Timeline")), timeline),
        listed(
            "timeline: table",
            press(css(".timeline-card summary")),
            'bench.has(".timeline-card details[open] td")',
            "?timeline=1",
        ),
        listed(
            "timeline: day",
            press(css(".timeline-card tbody button")),
            'bench.has(".memory-row") && location.hash.includes("day=")',
            "?timeline=1",
            does(press(css(".timeline-card summary"))),
        ),
        listed(
            "open a memory", press(css(".memory-row a")), 'bench.has(".view-memory .prose")',
        ),
        listed("open a memory, then Back", back, at("1–50 of"), "", does(press(css(".memory-row a")))),
        listed("page 20, a memory, then Back", back, at("951–1,000 of"), "?page=20", does(press(css(".memory-row a")))),
    ]


def one_memory(hub: str) -> list[Interaction]:
    place, ready = f"memory/{hub}", 'bench.has(".view-memory .prose")'
    text = css(".view-memory textarea")
    return [
        Interaction("memory: edit", place, ready, press(button("Edit")), 'bench.has(".view-memory textarea")'),
        Interaction("memory: key in the editor", place, ready, keys(text, "x"), "true", does(press(button("Edit")))),
        Interaction("memory: graph", place, ready, press(css('.view-memory a:text-is("Graph")')), GRAPH),
    ]


def search() -> list[Interaction]:
    query, ready = field("Query"), 'bench.title("Search")'
    hits = 'bench.has(".hits li")'

    def typed(page: Page) -> None:
        query(page).fill("Who repaired the compass of the harbour in Porto?")

    return [
        Interaction(
            "search: key in the query", "search", ready, keys(query, "h"), "document.activeElement.value === 'h'",
        ),
        Interaction("search: send", "search", ready, keys(query, "Enter"), hits, typed),
        Interaction(
            "search: key above the hits",
            "search?q=harbour",
            hits,
            keys(query, "x"),
            "document.activeElement?.value?.includes('x')",
        ),
        Interaction("search: send with 200 hits", "search?limit=200", ready, keys(query, "Enter"), hits, typed),
        Interaction("palette: open", "memories", ROWS, keys(None, "Control+k"), 'bench.has("dialog.palette[open] li")'),
        Interaction(
            "palette: key",
            "memories",
            ROWS,
            keys(None, "h"),
            'bench.has("dialog.palette li", "Search for")',
            does(keys(None, "Control+k")),
        ),
    ]


def people(central: str, hub: str) -> list[Interaction]:
    name = field("Name")
    subjects, profile, around = "people", f"people/{central}", f"graph/{hub}"
    list_ready = 'bench.has(".subjects li")'
    profile_ready = f'{GRAPH} && bench.has(".about li")'
    find, node = field("Find a node"), css("svg .node:not(.centre) circle")
    selected = "document.querySelector('svg .node.selected:not(.centre)') !== null"

    def typed(page: Page) -> None:
        name(page).fill("an")

    def filled(page: Page) -> None:
        page.evaluate("bench.nodes = document.querySelectorAll('svg .node').length")

    def graph(title: str, act: Act, shown: str, prepare: Act | None = None) -> Interaction:
        return Interaction(f"graph: {title}", around, GRAPH, act, shown, prepare)

    def chosen(page: Page) -> None:
        does(press(css("svg .node.subject:not(.centre) circle, svg .node:not(.centre) circle")))(page)
        filled(page)

    scale = "document.querySelector('svg[data-scale]').dataset.scale !== bench.scale"

    def scaled(page: Page) -> None:
        page.evaluate("bench.scale = document.querySelector('svg[data-scale]').dataset.scale")

    return [
        Interaction(
            "people: key in the name", subjects, list_ready, keys(name, "a"), "document.activeElement.value === 'a'",
        ),
        Interaction(
            "people: filter",
            subjects,
            list_ready,
            keys(name, "Enter"),
            f'{list_ready} && location.hash.includes("find=")',
            typed,
        ),
        Interaction(
            "people: open a profile", subjects, list_ready, press(css(".subjects li:nth-child(9) a")), profile_ready,
        ),
        Interaction(
            "people: open the largest profile",
            subjects,
            list_ready,
            change_address(f"/n/large/people/{central}"),
            profile_ready,
        ),
        Interaction(
            "people: profile, then Back",
            subjects,
            list_ready,
            back,
            list_ready,
            does(press(css(".subjects li:nth-child(9) a"))),
        ),
        Interaction(
            "profile: key in the graph",
            profile,
            profile_ready,
            keys(find, "b"),
            "document.activeElement.value === 'b'",
        ),
        Interaction("profile: zoom in", profile, profile_ready, press(button("Zoom in")), scale, scaled),
        Interaction("profile: select a node", profile, profile_ready, press(node), selected),
        graph("zoom in", press(button("Zoom in")), scale, scaled),
        graph("zoom with the wheel", ctrl_wheel, scale, scaled),
        graph("arrow key", keys(css("svg .node[tabindex='0']"), "ArrowRight"), "true"),
        graph("select a node", press(node), selected),
        graph(
            "expand a node",
            press(button("Expand")),
            "document.querySelectorAll('svg .node').length > bench.nodes",
            chosen,
        ),
        graph("key in the search", keys(find, "a"), 'bench.has("[role=status]", "nodes match")'),
        graph("table", press(css(".graph summary")), 'bench.has(".graph details[open] td")'),
    ]


def conversations() -> list[Interaction]:
    ready = 'bench.has("main tbody tr")'
    session = field("Session ID")

    def typed(page: Page) -> None:
        session(page).fill("session-7")

    opened = 'location.hash.includes("/source/") && !bench.has("main tbody tr") && bench.has("main h1")'
    return [
        Interaction(
            "conversations: older",
            "conversations",
            ready,
            press(button("Older")),
            f'{ready} && location.hash.includes("before=")',
        ),
        Interaction(
            "conversations: session",
            "conversations",
            ready,
            keys(session, "Enter"),
            f'{ready} && location.hash.includes("session=")',
            typed,
        ),
        Interaction("conversations: open one", "conversations", ready, press(css("main tbody a")), opened),
    ]
