"""Keys, namespaces, the vocabulary and skills: creation, editing with a preview, and deletion with an undo."""

import re

from helpers import unique_name
from playwright.sync_api import Page, expect

VOCABULARY = "/n/demo/vocabulary"
SKILLS = "/n/demo/skills"


def teach(service, term: str):
    terms = [{"term": term, "aliases": ["one"], "definition": "What it means."}]
    service.call("POST", "/v1/vocab?wait=30", {"namespace": "demo", "terms": terms})


def has_term(service, term: str) -> bool:
    return service.call("GET", f"/v1/vocab?namespace=demo&word={term}")["found"]


def store_skill(service, name: str) -> str:
    """Stores a skill. Returns its path."""
    path = f"skills/tests/{name}.md"
    skill = {"name": name, "description": "Keeps it going.", "content": "1. Feed it.", "path": path, "tags": ["rye"]}
    service.call("POST", "/v1/skills?wait=30", {"namespace": "demo", "skills": [skill]})
    return path


def row_of(page: Page, text: str):
    return page.get_by_role("row").filter(has_text=text)


def card_of(page: Page, name: str):
    return page.locator("section.card").filter(has=page.get_by_role("link", name=name, exact=True))


def test_revoked_keys_are_listed_last(service, signed_in):
    old, new = unique_name("old"), unique_name("new")
    key = service.call("POST", "/v1/keys", {"name": old, "env": "live"})
    service.call("POST", "/v1/keys", {"name": new, "env": "live"})
    service.call("DELETE", f"/v1/keys/{key['id']}")
    page = signed_in("/keys")
    expect(row_of(page, old)).to_contain_text("revoked")
    names = page.get_by_role("region", name="Keys").locator("tbody td:first-child").all_inner_texts()
    assert names.index(new) < names.index(old)


def test_the_keys_show_the_usage(signed_in):
    page = signed_in("/keys")
    expect(page.get_by_role("img", name=re.compile(r"^Reads: [\d,]+ of"))).to_be_visible()


def test_an_invalid_namespace_is_not_sent(signed_in):
    page = signed_in("/namespaces")
    page.get_by_role("button", name="New namespace").click()
    page.get_by_label("Name", exact=True).fill("Not Valid")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("dialog input:invalid")).to_be_visible()


def test_an_error_of_the_server_is_shown_in_the_form(signed_in):
    page = signed_in("/namespaces")
    page.route("**/v1/namespaces", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.get_by_role("button", name="New namespace").click()
    page.get_by_label("Name", exact=True).fill(unique_name("made"))
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("does not respond")


def test_namespaces_show_their_share_of_the_memories(signed_in):
    page = signed_in("/namespaces")
    expect(page.get_by_role("img", name=re.compile(r"^demo: [\d,]+ memories$"))).to_be_visible()


def test_a_term_is_previewed_while_it_is_written(signed_in):
    page = signed_in(VOCABULARY)
    page.get_by_role("button", name="Teach a term").click()
    page.get_by_label("Term").last.fill("K2")
    page.get_by_label("Aliases").fill("kitchen two, canteen")
    page.get_by_label("Definition").fill("The kitchen on the second floor.")
    preview = page.get_by_role("region", name="Preview")
    expect(preview.locator("dt")).to_have_text("K2, kitchen two, canteen")
    expect(preview.locator("dd")).to_have_text("The kitchen on the second floor.")


def test_an_edited_term_has_its_new_definition(service, signed_in):
    term = unique_name("term")
    teach(service, term)
    page = signed_in(f"{VOCABULARY}?like={term}")
    page.get_by_role("button", name=f"Edit {term}").click()
    page.get_by_label("Definition").fill("Another meaning.")
    page.get_by_role("button", name="Teach", exact=True).click()
    expect(row_of(page, term)).to_contain_text("Another meaning.")
    assert service.call("GET", f"/v1/vocab?namespace=demo&word={term}")["term"]["aliases"] == ["one"]


def test_a_forgotten_term_comes_back_with_undo(service, signed_in):
    term = unique_name("term")
    teach(service, term)
    page = signed_in(f"{VOCABULARY}?like={term}")
    page.get_by_role("button", name=f"Forget {term}").click()
    expect(row_of(page, term)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row_of(page, term)).to_be_visible()
    assert has_term(service, term)


def test_a_term_is_forgotten_when_the_time_to_undo_is_over(service, signed_in):
    term = unique_name("term")
    teach(service, term)
    page = signed_in(f"{VOCABULARY}?like={term}")
    with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        page.get_by_role("button", name=f"Forget {term}").click()
    assert deleted.value.json()["status"] == "ingested"
    assert not has_term(service, term)
    expect(row_of(page, term)).to_have_count(0)


def test_a_skill_is_written_with_a_preview(service, signed_in):
    name = unique_name("Descale")
    page = signed_in(SKILLS)
    page.get_by_role("button", name="New skill").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Description").fill("Cleans the kettle.")
    page.get_by_label("Topic").fill("kitchen")
    page.get_by_label("Tags").fill("kettle, lime")
    page.get_by_label("Content").fill("1. Add **vinegar**.\n2. Boil it.")
    page.get_by_label("Cues").fill(f"How do I {name}?")
    expect(page.get_by_role("region", name="Preview").locator("strong")).to_have_text("vinegar")
    page.get_by_role("button", name="Save").click()
    expect(card_of(page, name)).to_contain_text("Cleans the kettle.")
    stored = [each for each in service.call("GET", "/v1/skills?namespace=demo")["skills"] if each["name"] == name]
    assert stored[0]["topic"] == "kitchen" and stored[0]["tags"] == ["kettle", "lime"]
    assert stored[0]["triggers"] == [f"How do I {name}?"]


def test_an_edited_skill_keeps_its_path_and_its_fields(service, signed_in):
    name = unique_name("skill")
    path = store_skill(service, name)
    page = signed_in(SKILLS)
    page.get_by_role("button", name=f"Edit {name}").click()
    expect(page.get_by_label("Content")).to_have_value("1. Feed it.")
    page.get_by_label("Content").fill("1. Feed it twice.")
    page.get_by_role("button", name="Save").click()
    card = card_of(page, name)
    card.get_by_text("Show", exact=True).click()
    expect(card.locator(".prose li")).to_have_text("Feed it twice.")
    stored = [each for each in service.call("GET", "/v1/skills?namespace=demo")["skills"] if each["path"] == path]
    assert stored[0]["content"] == f"# {name}\n\nKeeps it going.\n\n1. Feed it twice.\n"
    assert stored[0]["tags"] == ["rye"]


def test_a_deleted_skill_comes_back_with_undo(service, signed_in):
    name = unique_name("skill")
    path = store_skill(service, name)
    page = signed_in(SKILLS)
    page.get_by_role("button", name=f"Delete {name}").click()
    expect(card_of(page, name)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(card_of(page, name)).to_be_visible()
    assert service.call("GET", f"/v1/memories/{path}?namespace=demo")["path"] == path


def test_a_skill_is_deleted_when_the_time_to_undo_is_over(service, signed_in):
    name = unique_name("skill")
    store_skill(service, name)
    page = signed_in(SKILLS)
    with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        page.get_by_role("button", name=f"Delete {name}").click()
    assert deleted.value.json()["status"] == "ingested"
    names = [each["name"] for each in service.call("GET", "/v1/skills?namespace=demo")["skills"]]
    assert name not in names
    expect(card_of(page, name)).to_have_count(0)


def test_many_skills_are_shown_in_steps(service, signed_in):
    namespace = unique_name("skills")
    service.call("POST", "/v1/namespaces", {"name": namespace})
    skills = [{"name": f"brew-{number}", "content": "1. Boil it.", "path": f"skills/tea/{number}.md"} for number in range(60)]
    service.call("POST", "/v1/skills?wait=30", {"namespace": namespace, "skills": skills})
    page = signed_in(f"/n/{namespace}/skills")
    cards = page.get_by_role("button", name=re.compile("^Edit brew-"))
    expect(cards).to_have_count(50)
    page.get_by_role("button", name="Show more skills").click()
    expect(cards).to_have_count(60)
    expect(page.get_by_role("button", name="Show more skills")).to_have_count(0)
