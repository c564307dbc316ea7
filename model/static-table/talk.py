"""Sentences as people say them to one another, made from patterns and WordNet's words.

Glosses tell what words mean but not how people talk: nobody is greeted or thanked in a dictionary. These sentences lend
the regression that part. All patterns are our own; the words that fill them come from WordNet and a list of names.
"""
import random
import re

NAMES = """Anna Ben Clara David Emma Frank Grace Henry Irene Jack Kate Leo Maria Nick Olivia Paul Rachel Sam Tina Victor
Alice Brian Diana Eric Fiona George Helen Ivan Julia Kevin Laura Martin Nora Oscar Peter Rosa Simon Teresa Walter Zoe
Ahmed Priya Chen Yuki Carlos Elena Omar Fatima Raj Ingrid Hugo Amelia Lucas Sofia Daniel Emily James Sarah Thomas
Hannah""".split()
PLACES = """London Paris Berlin Tokyo Boston Chicago Madrid Rome Sydney Toronto Dublin Vienna Lisbon Oslo Delhi Seattle Texas
California Scotland Italy Japan Mexico Canada Egypt Brazil Greece""".split()
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
KIN = """mother father mom dad sister brother son daughter wife husband partner grandmother grandpa aunt uncle cousin
friend roommate neighbour boss colleague kids parents family dog cat teacher coach doctor""".split()

OPENERS = [
    "Hey {name}!", "Hi {name}, how are you?", "Hey {name}, long time no see!", "Good morning!", "Hello again.",
    "Hey, how's it going?", "Hi {name}! How have you been?", "Hey {name}! Great to hear from you.", "What's up, {name}?",
    "Thanks, {name}!", "Thank you so much!", "Thanks for asking.", "Wow, {name}!", "Wow, that's amazing!", "That's great!",
    "That sounds {adj}!", "Oh no, sorry to hear that.", "Congrats, {name}!", "Congratulations on the {thing}!", "Cool!",
    "Yeah, totally.", "Yes, exactly!", "Yeah, I know what you mean.", "No, not yet.", "Nah, not really.", "Absolutely!",
    "Of course!", "Sure thing!", "Sounds good.", "Awesome!", "I agree.", "You're right.", "Good question.", "Haha, true!",
    "Aww, that's so sweet.", "Well done!", "Way to go, {name}!", "I hear you.", "That means a lot to me.", "By the way,",
    "Guess what?", "To be honest,", "Actually,", "Anyway,", "Oh, and one more thing:", "I appreciate it.", "No worries!",
]
CLOSERS = [
    "How about you?", "What about you?", "What have you been up to?", "Anything new?", "What do you think?",
    "Have you ever tried it?", "Do you like {things}?", "Do you have any plans for the weekend?", "How was your {time_noun}?",
    "Take care!", "Talk to you soon!", "See you later.", "Good luck!", "Let me know.", "Keep it up!", "Can't wait!",
    "It was so much fun.", "It was {adj}.", "I loved it.", "I'm so proud of {them}.", "It means a lot to me.",
    "It really helps me relax.", "It makes me happy.", "We had a great time.", "I felt so {feel}.", "It was a {adj} day.",
    "I can't believe it!", "It's been a while.", "I'm still learning.", "Wish me luck!", "You should come along.",
    "Here's a picture of it.", "Take a look at this. [shares a photo: a photo of {a_thing} on a {thing2}]",
    "[shares a photo: a photo of {a_animal} in {a_place}]", "I'll send you a photo.", "Hope you're doing well.",
    "It's all about hard work.", "I couldn't have done it without my {kin}.", "You're the best!", "So exciting!",
]
STATEMENTS = [
    "I {verbed} {a_thing} {when}.", "I went to {a_place} with my {kin} {when}.", "I just bought {a_adj} {thing} for my {kin}.",
    "My {kin} {verbed} the {thing} {when}.", "I've been {verbing} {things} for {num} years.", "We {verbed} some {food} together.",
    "I'm thinking about {verbing} {a_thing}.", "I started {activity} {when}.", "I'm taking {a_adj} class in {activity}.",
    "My {kin} and I love {activity}.", "I love {activity}, it helps me {verb} my {thing}.", "I used to {verb} {things} as a kid.",
    "I moved to {city} in {month}.", "I lived in {city} for {num} years before I came here.", "I'm from {city}.",
    "I work as {a_job} at {a_place}.", "I got a new job as {a_job} {when}.", "I lost my job {when}, so I'm {verbing} {things} now.",
    "I applied to be {a_job} and I hope to hear back soon.", "I adopted {a_animal} called {name} {when}.",
    "My {animal} is {num} years old and likes {things}.", "I have {num} {animals} and {a_animal}.",
    "My favourite {thing} is the {adj} one.", "My favourite food is {food}, and I hate {food2}.", "I'm allergic to {food}.",
    "I can't eat {food} because of my {thing}.", "I finished a book about {things} {when}.", "I read a great book by {name}.",
    "I watched {a_adj} film about {a_job}.", "We're going camping at {a_place} next {time_noun}.", "I'm planning a trip to {city}.",
    "I flew to {city} {when} and saw the {place}.", "I signed up for {a_event} in {month}.", "I ran {a_event} {when}.",
    "I won {a_thing} at the {event}.", "I gave a talk about {things} at the {event}.", "The {event} was {adj} and full of {things}.",
    "My {kin}'s birthday is in {month}.", "We celebrated my {kin}'s birthday with {food} {when}.", "I got married {when} in {city}.",
    "My {kin} had an accident {when}, but is okay now.", "I broke my {thing} and had to see a doctor.", "I've been feeling {feel} lately.",
    "I was really {feel} when the {thing} {happened}.", "{activity_c} makes me feel {feel}.", "I'm proud of how far I've come.",
    "My {kin} taught me how to {verb} {a_thing}.", "My {kin} gave me {a_adj} {thing} that stands for love and strength.",
    "It reminds me of my {kin} and the {things} we had.", "I painted {a_thing} with {adj} colours.", "I made {a_thing} out of {thing2}.",
    "I play the {thing} every {day}.", "I've been practising {activity} every {day}.", "I joined {a_adj} group for {people}.",
    "I volunteer at {a_place} with {people}.", "I'm saving money for {a_thing}.", "My rent went up to {num} dollars in {month}.",
    "The {thing} cost me {num} dollars.", "I prefer {food} over {food2} in the morning.", "I don't like {things} at all.",
    "I usually {verb} the {thing} before I {verb2} the {thing2}.", "My car broke down near {a_place} {when}.",
    "I'm trying to {verb} more {things} this year.", "My dream is to open {a_place} in {city}.", "I opened my own {place} {when}.",
    "Business has been {adj} since I started to {verb} {things}.", "We decided to {verb} the {thing} in {month}.",
    "I had a meeting with my {kin} about the {thing}.", "The doctor told me to {verb} less {food}.", "It took {num} weeks to {verb} the {thing}.",
    "I met {name} at {a_event} {when}.", "{name} and I have been friends for {num} years.", "{name} told me about {a_adj} {place} in {city}.",
    "{name} helped me {verb} the {thing}.", "I'm so grateful for {name}'s support.", "I want to learn how to {verb} {things}.",
    "The sunset over the {place} was {adj}.", "We saw {a_animal} on our way to the {place}.", "The kids were so excited to see the {animals}.",
    "I've decided to stop {verbing} {things}.", "I changed my mind about the {thing}.", "I need to {verb} the {thing} by {day}.",
    "Remind me to {verb} the {thing} on {day}.", "My appointment is on {day} at {num}.", "My password for the {thing} starts with {num}.",
]
QUESTIONS = [
    "When did {name} {verb} the {thing}?", "When did {name} go to the {place}?", "When is {name}'s {event}?",
    "Where did {name} {verb} the {thing}?", "Where has {name} been {activity}?", "Where does {name}'s {kin} live?",
    "What did {name} {verb} {when}?", "What did {name} buy for the {kin}?", "What does {name} do to relax?",
    "What activities does {name} do with the {kin}?", "What kind of {thing} does {name} have?", "What is {name}'s favourite {thing}?",
    "What does {name} think about {things}?", "What are {name}'s hobbies besides {activity}?", "What did {name} say about the {thing}?",
    "What pets does {name} have?", "What is {name} allergic to?", "What job does {name} have?", "What books has {name} read?",
    "Who gave {name} the {thing}?", "Who taught {name} to {verb}?", "Who supports {name} when things are hard?",
    "Why did {name} {verb} the {thing}?", "Why does {name} like {activity}?", "How does {name} feel about the {event}?",
    "How did {name} {verb} the {thing}?", "How long has {name} been {verbing} {things}?", "How many {things} does {name} have?",
    "How old is {name}'s {kin}?", "How often does {name} go {activity}?", "Which {things} has {name} {verbed}?",
    "Which city did {name} visit in {month}?", "Did {name} {verb} {a_thing}?", "Does {name} like {food}?", "Is {name} {feel} about the {thing}?",
    "Would {name} enjoy {activity}?", "What do {name} and {name2} have in common?", "What {thing} did I mention {when}?",
    "What did I tell you about my {kin}?", "Where did I say I put the {thing}?", "How much did the {thing} cost me?",
    "Can you remind me what my {kin}'s name is?", "What should I cook for my {kin}?",
]
TIME_NOUNS = "week weekend month summer day trip vacation holiday morning evening year".split()
FEELINGS = "happy proud excited nervous stressed tired grateful lonely calm inspired sad anxious relieved hopeful scared free".split()
ACTIVITIES = """hiking painting swimming running cooking baking dancing singing reading writing gardening fishing cycling skiing
sailing climbing camping knitting photography pottery yoga meditation surfing chess football tennis boxing coding travelling
volunteering woodworking""".split()
JOBS = """nurse teacher banker engineer lawyer waiter chef driver designer writer musician counsellor mechanic programmer
scientist photographer carpenter nanny manager accountant""".split()
EVENTS = """concert festival marathon wedding conference parade workshop exhibition party competition meeting funeral interview
race show retreat picnic graduation fair tournament""".split()
HAPPENED = "broke arrived failed ended opened closed worked burned vanished started".split()


def inflect(verb, irregular):
    """Past and gerund of a verb."""
    past = irregular.get(verb) or (verb + "d" if verb.endswith("e") else
                                   verb[:-1] + "ied" if re.search(r"[^aeiou]y$", verb) else verb + "ed")
    gerund = verb[:-1] + "ing" if re.search(r"[^e]e$", verb) else verb + "ing"
    return past, gerund


def plural(noun):
    if re.search(r"(s|x|ch|sh)$", noun):
        return noun + "es"
    return noun[:-1] + "ies" if re.search(r"[^aeiou]y$", noun) else noun + "s"


def a(word):
    return ("an " if word[0].lower() in "aeiou" else "a ") + word


class Words:
    """WordNet's words by kind; only those that the encoder knows as one token, which are the usual ones."""

    def __init__(self, known, folder="/usr/share/wordnet"):
        self.kinds = {}
        for part in ("noun", "verb", "adj"):
            for line in open(f"{folder}/data.{part}", encoding="latin-1"):
                if line.startswith("  "):
                    continue
                fields = line.split()
                # The first sense listed under a word is not known here; the lexicographer's file tells its kind.
                for i in range(int(fields[3], 16)):
                    word = re.sub(r"\(.*\)", "", fields[4 + 2 * i])
                    if word.islower() and word.isalpha() and len(word) > 2 and word in known:
                        self.kinds.setdefault((part, int(fields[1])), {})[word] = None
        self.irregular = {}
        for line in open(f"{folder}/verb.exc", encoding="latin-1"):
            form, base = line.split()[:2]
            if not form.endswith("ing") and "_" not in form:
                self.irregular.setdefault(base, form)
        # The most usual first: WordPiece numbers its words so.
        kind = lambda part, *files: sorted({w for f in files for w in self.kinds.get((part, f), {})}, key=known.get)
        self.things = kind("noun", 6)
        self.foods = kind("noun", 13)
        self.animals = kind("noun", 5)
        self.places = kind("noun", 15, 17)
        self.people = kind("noun", 18)
        self.adjectives = kind("adj", 0)
        self.verbs = kind("verb", 31, 32, 35, 36, 38, 40)


def texts(count, known, seed=11):
    """So many different texts, always the same."""
    words, draw = Words(known), random.Random(seed)
    pick = draw.choice

    def usual(words):
        return words[int(len(words) * draw.random() ** 2)]

    def slots():
        thing, thing2, adj, animal = usual(words.things), usual(words.things), usual(words.adjectives), usual(words.animals)
        place, verb, verb2 = usual(words.places), usual(words.verbs), usual(words.verbs)
        past, gerund = inflect(verb, words.irregular)
        job, event, activity = pick(JOBS), pick(EVENTS), pick(ACTIVITIES)
        when = pick(["yesterday", "last week", "last {}".format(pick(DAYS)), "last weekend", "two weeks ago", "a few years ago",
                     "in {}".format(pick(MONTHS)), "on {} {}".format(draw.randint(1, 28), pick(MONTHS)), "this morning", "today",
                     "recently", "in {}".format(draw.randint(2010, 2024)), "the other day", "last night", "last month"])
        return dict(
            name=pick(NAMES), name2=pick(NAMES), city=pick(PLACES), month=pick(MONTHS), day=pick(DAYS), kin=pick(KIN), when=when,
            thing=thing, thing2=thing2, things=plural(thing), a_thing=a(thing), food=usual(words.foods), food2=usual(words.foods),
            animal=animal, animals=plural(animal), a_animal=a(animal), place=place, a_place=a(place), adj=adj, a_adj=a(adj),
            verb=verb, verb2=verb2, verbed=past, verbing=gerund, job=job, a_job=a(job), event=event, a_event=a(event),
            activity=activity, activity_c=activity.capitalize(), people=plural(usual(words.people)), feel=pick(FEELINGS),
            num=draw.randint(2, 40), time_noun=pick(TIME_NOUNS), them=pick(["them", "her", "him", "you", "myself"]),
            happened=pick(HAPPENED),
        )

    made = {}
    while len(made) < count:
        kind = draw.random()
        if kind < 0.25:
            text = pick(QUESTIONS).format(**slots())
        else:
            parts = [pick(STATEMENTS) for _ in range(draw.choice([1, 1, 1, 2, 2, 3]))]
            if draw.random() < 0.5:
                parts.insert(0, pick(OPENERS))
            if draw.random() < 0.5:
                parts.append(pick(CLOSERS))
            if kind < 0.35:
                parts = [pick(OPENERS), pick(CLOSERS)]
            text = " ".join(part.format(**slots()) for part in parts)
            if draw.random() < 0.5:
                text = f"{pick(NAMES)}: {text}"
        made[text] = None
    return list(made)
