"""Generated sentences with a fixed seed: who did what to which thing, where and when. No real text is copied."""

from __future__ import annotations

from random import Random

_PEOPLE = ("Asha", "Bram", "Celia", "Dario", "Edda", "Farid", "Greta", "Hiro", "Ines", "Jonas", "Kalinda", "Lorenz")
_FAMILIES = ("Abara", "Brandt", "Castellan", "Dufort", "Ekwall", "Fontana", "Gupta", "Hallgren", "Imani", "Jansson")
_VERBS = ("repaired", "sold", "borrowed", "measured", "painted", "ordered", "cleaned", "returned", "weighed", "packed")
_KINDS = ("copper", "wooden", "folding", "striped", "heavy", "antique", "spare", "broken", "polished", "narrow")
_THINGS = (
    "ladder", "compass", "kettle", "violin", "lantern", "bicycle", "telescope", "anvil", "barometer", "suitcase",
    "carpet", "printer", "rudder", "gramophone", "wheelbarrow", "tripod", "accordion", "saddle", "mirror", "freezer",
)
_PLACES = ("Lisbon", "Tromso", "Nairobi", "Osaka", "Valparaiso", "Ghent", "Pune", "Halifax", "Izmir", "Adelaide")
_MONTHS = ("January", "March", "April", "June", "July", "September", "October", "December")
_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"


class Corpus:
    """A source of sentences, queries and unique words. Equal seeds return equal texts."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._seed = seed
        self._words = 0

    def sentence(self) -> str:
        """Returns a statement that the built-in extraction stores. Two of them are almost never equal."""
        pick = self._random.choice
        person = f"{pick(_PEOPLE)} {pick(_FAMILIES)}"
        day = f"{self._random.randint(1, 28)} {pick(_MONTHS)}"
        price = self._random.randint(100, 9999)
        thing = f"{pick(_KINDS)} {pick(_THINGS)}"
        return f"{person} {pick(_VERBS)} the {thing} in {pick(_PLACES)} on {day} for {price} euros."

    def query(self) -> str:
        """Returns a question about such statements."""
        pick = self._random.choice
        return f"Who {pick(_VERBS)} the {pick(_KINDS)} {pick(_THINGS)} in {pick(_PLACES)}?"

    def number_below(self, end: int) -> int:
        """Returns a random number from 0 to `end` - 1."""
        return self._random.randrange(end)

    def unique_word(self) -> str:
        """Returns a word that no sentence and no other call returns."""
        self._words += 1
        number, letters = self._words * 10_007 + self._seed, []
        for _ in range(4):
            letters.append(_CONSONANTS[number % len(_CONSONANTS)])
            number //= len(_CONSONANTS)
            letters.append(_VOWELS[number % len(_VOWELS)])
            number //= len(_VOWELS)
        return "".join(letters) + f"x{self._seed}y{self._words}"
