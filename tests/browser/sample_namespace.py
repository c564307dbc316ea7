"""A realistic namespace for pictures and snapshots: the memories of four invented friends over half a year.

The content is the same at every run: a fixed seed draws the sentences, and all times are fixed. `scripts/pictures.py` and
`test_pictures.py` write it with `write_sample`. Start at `conversations` for the content.
"""

import random
import time
import urllib.parse
from datetime import datetime, timedelta, timezone
from typing import Any, Callable

NAMESPACE = "friends"
EMPTY_NAMESPACE = "first-visit"
#: The present of the sample. Views are pictured with the browser's clock at this time.
NOW = datetime(2026, 11, 16, 9, 0, tzinfo=timezone.utc)
START = datetime(2026, 5, 18, 18, 0, tzinfo=timezone.utc)
SEED = 20261116
SMALL_TALK_CONVERSATIONS = 58

QUESTION = "Where does Ana work now?"
OTHER_QUESTION = "What is Ana's job?"
#: The memory with relations and revisions.
PLAN = "facts/trips/triglav-plan.md"
#: The session of the conversation that the pictures open.
MOVE_SESSION = "ana-moves"

Call = Callable[..., Any]

#: Conversations that tell how facts change. Day of the sample, session, tags, and messages.
STORIES: list[tuple[int, str, list[str], list[tuple[str, str]]]] = [
    (0, "hello-ana", ["introduction"], [
        ("Ana", "I live in Porto, two streets from the river."),
        ("Ana", "I work as an architect at Atelier Sousa."),
        ("Ana", "My sister Clara studies medicine in Coimbra."),
        ("Ana", "I am allergic to walnuts."),
        ("Ana", "My cat is called Pingo."),
        ("Ana", "My favourite dish is leek tart."),
    ]),
    (1, "hello-noor", ["introduction"], [
        ("Noor", "I live in Rotterdam and work as a nurse in the children's hospital."),
        ("Noor", "My favourite colour is dark green."),
        ("Noor", "I prefer tea over coffee, and never with sugar."),
        ("Noor", "My partner is called Daan."),
    ]),
    (2, "hello-tomas", ["introduction"], [
        ("Tomas", "I live in Brno and work as a baker."),
        ("Tomas", "My dog is called Bruno, and he is three years old."),
        ("Tomas", "I like rye bread more than wheat bread."),
        ("Tomas", "My phone is an old Fairphone that I repair myself."),
    ]),
    (3, "hello-ilse", ["introduction"], [
        ("Ilse", "I live in Ghent and teach physics at a secondary school."),
        ("Ilse", "I am a vegetarian."),
        ("Ilse", "My brother Maarten builds wooden boats."),
    ]),
    (34, "tomas-vienna", ["move"], [
        ("Tomas", "I moved to Vienna last week."),
        ("Tomas", "I work as a pastry chef at Café Lindner now."),
        ("Tomas", "Bruno hates the tram, so we walk to the park every morning."),
    ]),
    (61, "noor-course", ["work"], [
        ("Noor", "I started a course in emergency medicine on Monday."),
        ("Noor", "From now on, never call me before noon, because I have night shifts."),
        ("Noor", "I take the final exam in December."),
    ]),
    (88, MOVE_SESSION, ["move", "work"], [
        ("Ana", "Big news: I moved to Lisbon on Saturday."),
        ("Assistant", "Congratulations! Does that mean a new job as well?"),
        ("Ana", "I work at Studio Maré now, and my first project is a library in Setúbal."),
        ("Ana", "ok"),
        ("Assistant", "How is the flat?"),
        ("Ana", "I pay 940 euros a month for the new place, which has no lift."),
        ("Ana", "Clara helped me carry the piano up the stairs."),
    ]),
    (120, "bread", ["recipes"], [
        ("Noor", "How do you make the rye bread, Tomas?"),
        ("Tomas", "Here is how I bake the rye bread:\n1. Mix 400 g rye flour with 350 g water and the starter.\n"
                  "2. Let it rest for 14 hours.\n3. Bake it for 50 minutes at 230 °C.\n4. Wait a day before you cut it."),
    ]),
    (147, "noor-hague", ["move"], [
        ("Noor", "I moved to The Hague last week, because Daan found a job there."),
        ("Noor", "My favourite colour is ochre these days."),
        ("Ana", "My favourite dish is grilled sardines now, that is what Lisbon does to me."),
        ("Noor", "I bought a second-hand cargo bike for 1,200 euros."),
    ]),
    (166, "slovenia", ["trips"], [
        ("Ilse", "Shall we walk around Triglav together next summer?"),
        ("Ana", "I am in, if we avoid August. I prefer huts over tents."),
        ("Tomas", "Bruno comes along. He is not allowed in the huts above Bohinj."),
        ("Noor", "I booked two weeks of holiday for it."),
    ]),
    (178, "tomas-bakery", ["work"], [
        ("Tomas", "I signed the lease for my own bakery in the Gumpendorfer Straße."),
        ("Tomas", "I ordered an oven for 18,500 euros, for delivery in January."),
    ]),
]

SPEAKERS = ("Ana", "Noor", "Tomas", "Ilse")
TOPICS: dict[str, list[str]] = {
    "food": [
        "I cooked a {dish} for {guest} on {weekday}, and it was {verdict}.",
        "I bought a {tool} for the kitchen, for {price} euros.",
        "I tried the {dish} at the {street} market, and it was {verdict}.",
        "{guest} gave me a jar of {preserve} for my birthday.",
    ],
    "sport": [
        "I ran {distance} km along the {water} on {weekday}.",
        "I swam in the {water} with {guest} before breakfast.",
        "I had my {gear} repaired on {weekday} for {price} euros.",
        "I won my age group at the {distance} km race in {city}.",
    ],
    "culture": [
        "I finished reading {book}, and the ending was {verdict}.",
        "I went to {city} with {guest} to see old {subject} in a museum.",
        "{guest} lent me {book} on {weekday}.",
        "I booked two seats for the concert in {city}, for {price} euros in all.",
    ],
    "home": [
        "I planted {plant} on the balcony on {weekday}.",
        "I called the plumber about the {appliance}, and he wants {price} euros.",
        "I painted the {room} {colour}, and {guest} held the ladder.",
        "I moved the {furniture} into the {room} on {weekday}.",
    ],
    "trips": [
        "I booked a train to {city} for {price} euros.",
        "I visited {guest} in {city} and we walked to the {water}.",
        "I lost my {gear} on the night train from {city}.",
        "I stayed in a hostel in {city} for {price} euros a night.",
    ],
}
WORDS: dict[str, list[str]] = {
    "dish": ["leek tart", "lentil soup", "mushroom risotto", "fennel salad", "plum cake", "barley stew", "bean curry"],
    "guest": ["Clara", "Daan", "Maarten", "Mirko", "Agnes", "Rui", "Hanneke", "Pavel", "Sofia"],
    "weekday": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "verdict": ["excellent", "too salty", "a surprise", "better than expected", "disappointing", "worth the effort"],
    "tool": ["cast-iron pan", "pasta machine", "stone mill", "kitchen scale", "bread knife", "pressure cooker"],
    "preserve": ["quince jelly", "pickled onions", "plum jam", "lemon curd", "apple chutney"],
    "street": ["harbour", "Thursday", "cathedral", "canal", "station"],
    "water": ["river", "canal", "lake", "reservoir", "coast", "estuary"],
    "distance": ["8", "12", "15", "21", "10"],
    "gear": ["rucksack", "bike light", "rain jacket", "head torch", "left boot", "water bottle"],
    "price": ["18", "24", "35", "42", "59", "76", "110", "145"],
    "city": ["Bologna", "Graz", "Leipzig", "Antwerp", "Braga", "Trieste", "Lyon", "Kraków", "Utrecht", "Bergen"],
    "book": ["“The Salt Road”", "“Four Winters”", "“A Map of Moss”", "“Night Ferry”", "“The Glass Orchard”"],
    "subject": ["textiles", "sea charts", "ship models", "photographs", "tapestries"],
    "plant": ["basil", "tomatoes", "a fig tree", "lavender", "runner beans", "mint"],
    "appliance": ["washing machine", "boiler", "dishwasher", "tap in the bathroom", "shower"],
    "room": ["hall", "kitchen", "bedroom", "study", "bathroom"],
    "colour": ["dark green", "white", "ochre", "pale blue", "grey"],
    "furniture": ["bookshelf", "desk", "piano", "wardrobe", "armchair"],
}

DIRECT_MEMORIES: list[dict[str, Any]] = [
    {"path": "facts/trips/huts.md", "occurred_at": "2026-11-02T19:00:00Z", "tags": ["trips", "slovenia"],
     "content": "# Huts on the way\n\nThe hut at Bohinj has 24 beds, the one at Vodnik has 60. Both open on 15 June.\n"},
    {"path": "facts/trips/packing-list.md", "occurred_at": "2026-11-03T19:00:00Z", "tags": ["trips", "slovenia"],
     "content": "# Packing list\n\n- rain jacket\n- head torch\n- water for four hours\n- a lead for Bruno\n"},
    {"path": PLAN, "occurred_at": "2026-11-04T19:00:00Z", "tags": ["trips", "slovenia"],
     "content": "# Plan for Triglav\n\nFour days from Bohinj in June 2027, with Ana, Noor, Tomas and Ilse.\n"},
    {"path": PLAN, "occurred_at": "2026-11-07T19:00:00Z", "tags": ["trips", "slovenia"],
     "content": "# Plan for Triglav\n\nFive days from Bohinj, 21 to 25 June 2027, with Ana, Noor, Tomas and Ilse.\n\n"
                "- Nights in [the two huts](huts.md), booked by Ilse.\n"},
    {"path": PLAN, "occurred_at": "2026-11-12T19:00:00Z", "tags": ["trips", "slovenia", "booked"],
     "metadata": {"budget": 420, "status": "booked"},
     "cues": ["When do we walk around Triglav?", "Who comes along to Slovenia?"],
     "content": "# Plan for Triglav\n\nFive days from Bohinj, 21 to 25 June 2027, with Ana, Noor, Tomas and Ilse.\n\n"
                "- Nights in [the two huts](huts.md), booked by Ilse.\n- Everyone brings what is on the "
                "[packing list](packing-list.md).\n- Bruno stays with Agnes, because dogs are not allowed above Bohinj.\n"},
]

TERMS = [
    {"term": "the Gump", "definition": "Tomas's own bakery in the Gumpendorfer Straße.", "aliases": ["Gump", "new bakery"]},
    {"term": "Maré", "definition": "The studio for which Ana works.", "aliases": ["Studio Maré"]},
    {"term": "EM course", "definition": "Noor's course in emergency medicine.", "aliases": ["the course"]},
    {"term": "round trip", "definition": "The walk around Triglav in June 2027.", "aliases": ["Triglav", "Slovenia"]},
    {"term": "night week", "definition": "Seven night shifts in a row.", "aliases": []},
]

SKILLS = [
    {"name": "Bake rye bread", "topic": "kitchen", "description": "Rye bread from a starter, in two days.",
     "content": "## Dough\n1. Mix flour, water and the starter.\n2. Rest it for 14 hours.\n\n## Bake\n50 minutes at 230 °C.",
     "tags": ["bread"], "path": "skills/kitchen/rye-bread.md"},
    {"name": "Book a mountain hut", "topic": "trips", "description": "How to reserve beds for a group.",
     "content": "1. Write to the hut by March.\n2. Name the number of beds and the day.\n3. Pay the deposit of 10 euros a bed.",
     "tags": ["slovenia"], "path": "skills/trips/mountain-hut.md"},
    {"name": "Repair a bicycle tube", "topic": "home", "description": "Find the hole, patch it, and test it under water.",
     "content": "1. Find the hole under water.\n2. Roughen the rubber.\n3. Glue the patch and wait five minutes.",
     "tags": ["bike"], "path": "skills/home/bicycle-tube.md"},
    {"name": "Prepare a site visit", "topic": "work", "description": "What Ana takes along to a building site.",
     "content": "- drawings of the day\n- helmet and boots\n- laser meter\n- list of open questions",
     "tags": ["architecture"], "path": "skills/work/site-visit.md"},
]

DOCUMENT_NAME = "lease-gumpendorfer.md"
DOCUMENT = """# Lease of the shop in the Gumpendorfer Straße

## Parties

The lease is between the housing association Morgenrot and Tomas Havel, baker.

## Term

The lease begins on 1 January 2027 and runs for ten years. Either side gives notice twelve months in advance.

## Rent

The rent is 1,850 euros a month, with heating. It is due on the fifth day of each month.

## Use

The tenant bakes between 3 and 11 in the morning. Deliveries use the gate in the yard.

## Alterations

An oven of up to 4 tonnes may be installed. The association approves the chimney before it is built.
"""


def conversations() -> list[dict[str, Any]]:
    """Returns the requests of all conversations in the order of their times."""
    made = [story_request(*story) for story in STORIES]
    made += small_talk(random.Random(SEED))
    return sorted(made, key=lambda body: body["occurred_at"])


def story_request(day: int, session: str, tags: list[str], turns: list[tuple[str, str]]) -> dict[str, Any]:
    messages = []
    for name, text in turns:
        role = "assistant" if name == "Assistant" else "user"
        messages.append({"role": role, "name": name, "content": text})
    return conversation(START + timedelta(days=day), session, tags, messages)


def small_talk(numbers: random.Random) -> list[dict[str, Any]]:
    """Returns conversations about everyday events. No sentence occurs twice."""
    made, used = [], set()
    for number in range(SMALL_TALK_CONVERSATIONS):
        at = START + timedelta(days=4 + number * 3, hours=numbers.randrange(-8, 4), minutes=numbers.randrange(60))
        topic = numbers.choice(sorted(TOPICS))
        messages = []
        while len(messages) < 4:
            text = sentence(numbers, numbers.choice(TOPICS[topic]))
            if text not in used:
                used.add(text)
                messages.append({"role": "user", "name": numbers.choice(SPEAKERS), "content": text})
        made.append(conversation(at, f"{at:%Y-%m-%d}-{topic}", [topic], messages))
    return made


def sentence(numbers: random.Random, pattern: str) -> str:
    words = {}
    for name in sorted(WORDS):
        words[name] = numbers.choice(WORDS[name])
    return pattern.format(**words)


def conversation(at: datetime, session: str, tags: list[str], messages: list[dict[str, Any]]) -> dict[str, Any]:
    body = {"namespace": NAMESPACE, "messages": messages, "session_id": session, "tags": tags}
    return {**body, "occurred_at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "timezone": "Europe/Vienna"}


def write_sample(call: Call, upload: Callable[[str, bytes], Any]) -> None:
    """Writes the sample. `call` sends JSON to a path, `upload` sends bytes to a path."""
    for name in (NAMESPACE, EMPTY_NAMESPACE):
        call("POST", "/v1/namespaces", {"name": name})
    for body in conversations():
        finish(call("POST", "/v1/memories?wait=30", body))
    for memory in DIRECT_MEMORIES:
        body = {"namespace": NAMESPACE, **memory}
        call("POST", f"/v1/memories/{body.pop('path')}", body)
    finish(call("POST", "/v1/vocab?wait=30", {"namespace": NAMESPACE, "terms": TERMS}))
    skills = [{**skill, "occurred_at": "2026-11-10T12:00:00Z"} for skill in SKILLS]
    finish(call("POST", "/v1/skills?wait=30", {"namespace": NAMESPACE, "skills": skills}))
    query = {"namespace": NAMESPACE, "filename": DOCUMENT_NAME, "occurred_at": "2026-11-13T10:00:00Z", "wait": "30"}
    finish(upload(f"/v1/documents?{urllib.parse.urlencode(query)}", DOCUMENT.encode()))
    for name in ("assistant", "phone app"):
        call("POST", "/v1/keys", {"name": name, "env": "live"})
        # Keys are listed by the millisecond in which they were made.
        wait_for_next_millisecond()
    call("POST", "/v1/keys", {"name": "reader of friends", "env": "test", "namespace": NAMESPACE})


def wait_for_next_millisecond() -> None:
    """Returns in another millisecond than that of the call."""
    began = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == began:
        pass


def finish(write: dict[str, Any]) -> None:
    """Fails if an accepted write has not been ingested."""
    assert write.get("status") == "ingested", f"the sample was not ingested: {write}"
