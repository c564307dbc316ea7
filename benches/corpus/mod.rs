//! Generated conversations to measure on, drawn with a fixed seed: people talk about the subjects of their lives.
//!
//! The text is clustered as real text is. A conversation stays on one of [`TOPICS`]. A topic's words are drawn by rank,
//! so that few are common and many are rare. Names, places, months and numbers occur in all conversations.

/// The topics: nouns, then verbs in the past tense.
const TOPICS: [(&str, &str); 24] = [
    (
        "sail mast harbour tide anchor regatta hull compass buoy rope keel galley lighthouse ferry",
        "sailed moored steered repaired varnished",
    ),
    (
        "violin bow concert rehearsal sonata quartet string encore rosin score conductor audience duet cello",
        "practised performed tuned recorded rehearsed",
    ),
    (
        "dough oven sourdough flour crust recipe yeast bakery loaf butter pastry cinnamon kitchen whisk",
        "baked kneaded tasted burned mixed",
    ),
    (
        "marathon sprint trainer knee finish coach stretch track mile pace blister medal hill sweat",
        "ran finished trained limped raced",
    ),
    (
        "tomato seedling greenhouse compost pruning orchard weed shovel tulip fertiliser hedge bean slug lawn",
        "planted watered harvested trimmed dug",
    ),
    (
        "server deployment database outage latency backup release bug container cluster log migration cache index",
        "deployed restarted debugged upgraded reverted",
    ),
    (
        "passport visa airport hostel luggage itinerary train museum souvenir border ticket embassy island hike",
        "booked packed visited missed explored",
    ),
    (
        "puppy leash vet kennel bark treat shelter collar walk vaccine fur whistle basket tail",
        "adopted walked groomed trained fed",
    ),
    (
        "canvas brush easel watercolour gallery portrait charcoal sketch palette frame sunset mural clay glaze",
        "painted sketched exhibited framed sold",
    ),
    (
        "mortgage budget savings invoice tax pension loan receipt insurance salary deposit rent refund audit",
        "paid saved transferred filed negotiated",
    ),
    (
        "telescope nebula eclipse comet planet lens tripod galaxy meteor observatory moon orbit aurora filter",
        "observed photographed tracked measured aligned",
    ),
    (
        "novel chapter publisher library poem editor draft bookshop plot essay character author manuscript review",
        "read wrote finished borrowed edited",
    ),
    (
        "guitar amplifier chord drummer festival stage lyrics album vinyl studio bassist tour microphone melody",
        "played composed joined mixed toured",
    ),
    (
        "therapy anxiety sleep meditation counsellor journal panic habit breathing retreat diagnosis support mood rest",
        "talked noticed cried rested tried",
    ),
    (
        "bicycle chain saddle brake helmet gear puncture trail pedal wheel mechanic bell pump basket",
        "cycled fixed oiled crashed bought",
    ),
    (
        "wedding bride bouquet invitation venue toast ring cake guest dance vow photographer aunt cousin",
        "married invited danced celebrated planned",
    ),
    (
        "hospital surgeon allergy prescription x-ray nurse fever bandage appointment clinic vaccine pharmacy wrist cough",
        "recovered examined prescribed scheduled fainted",
    ),
    (
        "chess opening gambit tournament rook clock opponent puzzle endgame club rating bishop draw trophy",
        "won lost studied resigned castled",
    ),
    (
        "camera shutter tripod darkroom exposure landscape wildlife album flash negative model lightroom heron fog",
        "photographed developed printed cropped captured",
    ),
    (
        "school teacher exam homework classroom semester scholarship lecture thesis campus tutor grade diploma seminar",
        "passed failed studied taught graduated",
    ),
    (
        "apartment landlord lease neighbour plumber boiler balcony elevator paint carpet attic basement key window",
        "moved rented painted repaired cleaned",
    ),
    (
        "robot sensor battery circuit motor solder drone code printer firmware wire antenna chip prototype",
        "built soldered programmed tested broke",
    ),
    (
        "coffee espresso roaster grinder bean filter mug barista aroma milk kettle cup cafe tasting",
        "brewed ordered roasted spilled tasted",
    ),
    (
        "election council petition volunteer charity fundraiser donation protest mayor meeting vote campaign shelter speech",
        "organised donated voted marched collected",
    ),
];
const PEOPLE: &str = "Amara Bastian Chiara Dmitri Elif Farid Greta Hiro Ines Jonas Katja Liam Mei Nadia Olek Priya Quentin \
    Rosa Samir Tove Umar Vera Wanda Xavier Yusuf Zofia Anton Bea Cyril Dora Emil Freya";
const SURNAMES: &str = "Abbott Brandt Castillo Dupont Eriksen Farrow Gallo Haddad Ivanov Jensen Kowalski Lindqvist Moreau \
    Nakamura Okafor Petrov Quinn Rossi Schmidt Tanaka";
const PLACES: &str = "Lisbon Oslo Kyoto Porto Leeds Tallinn Lima Ghent Quito Bergen Hanoi Turin Nairobi Perth Salem Galway \
    Zagreb Boston Lyon Malmo Denver Cork Bilbao Krakow";
const MONTHS: &str = "January February March April May June July August September October November December";
const FEELINGS: &str = "proud tired nervous relieved excited lonely curious grateful annoyed calm hopeful stubborn";

/// A generator of text. It has its own random numbers (xorshift), so that every run generates the same corpus.
pub(crate) struct Corpus {
    state: u64,
    topics: Vec<(Vec<&'static str>, Vec<&'static str>)>,
    people: Vec<&'static str>,
    surnames: Vec<&'static str>,
    places: Vec<&'static str>,
    months: Vec<&'static str>,
    feelings: Vec<&'static str>,
}

impl Corpus {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            topics: TOPICS.iter().map(|(things, acts)| (words(things), words(acts))).collect(),
            people: words(PEOPLE),
            surnames: words(SURNAMES),
            places: words(PLACES),
            months: words(MONTHS),
            feelings: words(FEELINGS),
        }
    }

    /// Returns a random number below the limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 11) % limit as u64) as usize
    }

    /// Returns one of the words; the first are drawn far more often than the last.
    fn ranked(&mut self, words: &[&'static str]) -> &'static str {
        let limit = 1 + self.below(words.len());
        words[self.below(limit)]
    }

    fn person(&mut self) -> String {
        let (people, surnames) = (self.people.clone(), self.surnames.clone());
        format!("{} {}", self.ranked(&people), self.ranked(&surnames))
    }

    /// Returns a noun of a topic; one in eight is followed by a rare identifier.
    fn thing(&mut self, topic: usize) -> String {
        let things = self.topics[topic].0.clone();
        let thing = self.ranked(&things);
        if self.below(8) == 0 { format!("{thing} {}{}", &thing[..2], self.below(5000)) } else { thing.to_owned() }
    }

    fn sentence(&mut self, topic: usize) -> String {
        let acts = self.topics[topic].1.clone();
        let (places, months, feelings) = (self.places.clone(), self.months.clone(), self.feelings.clone());
        let (act, person) = (self.ranked(&acts), self.person());
        let (place, month, feeling) = (self.ranked(&places), self.ranked(&months), self.ranked(&feelings));
        let (one, other, number) = (self.thing(topic), self.thing(topic), 2 + self.below(90));
        match self.below(10) {
            0 => format!("Last {month} I {act} the {one} in {place} with {person}, and it left me {feeling}."),
            1 => format!("{person} {act} the old {one} because the {other} was {number} years old."),
            2 => format!("My sister {act} near the {one} when we stayed in {place}, she was so {feeling}."),
            3 => format!("The {one} cost {number} euros, but {person} gave me the {other} for nothing."),
            4 => format!("We {act} for {number} hours before the {one} and the {other} were ready."),
            5 => format!("I keep the {one} beside the {other} since {month}, and {person} borrows it on weekends."),
            6 => format!("{person} told me that the {one} from {place} is better than any {other}."),
            7 => format!("I felt {feeling} after I {act} my first {one} at the {place} {other} in {month}."),
            8 => format!("Do not touch the {one} until {person} has checked the {other}."),
            _ => format!("On {month} {} we {act} a {one} and a {other} in {place}.", 1 + number % 28),
        }
    }

    /// Returns the messages of a conversation between two people about one topic, each with its speaker.
    pub(crate) fn conversation(&mut self, messages: usize) -> Vec<(String, String)> {
        let topic = self.below(TOPICS.len());
        let speakers = [self.person(), self.person()];
        let mut conversation = Vec::with_capacity(messages);
        for n in 0..messages {
            let text = match self.below(10) {
                0 => {
                    let (thing, acts) = (self.thing(topic), self.topics[topic].1.clone());
                    format!("What happened to the {thing} that you {} last year?", self.ranked(&acts))
                }
                1..=3 => format!("{} {}", self.sentence(topic), self.sentence(topic)),
                _ => self.sentence(topic),
            };
            conversation.push((speakers[n % 2].clone(), text));
        }
        conversation
    }

    /// Returns a question about something that is probably in the corpus.
    pub(crate) fn question(&mut self) -> String {
        let topic = self.below(TOPICS.len());
        let acts = self.topics[topic].1.clone();
        let places = self.places.clone();
        let (act, person, place) = (self.ranked(&acts), self.person(), self.ranked(&places));
        let (one, other) = (self.thing(topic), self.thing(topic));
        match self.below(5) {
            0 => format!("When was the {one} {act} in {place}?"),
            1 => format!("What did {person} say about the {one} and the {other}?"),
            2 => format!("Who {act} the {one} near {place} with {person}?"),
            3 => format!("How much did the {one} cost?"),
            _ => format!("Why did {person} keep the {one} beside the {other}?"),
        }
    }
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().collect()
}
