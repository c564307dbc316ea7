//! Closed lists of words by which clauses and questions are read, English unless they say otherwise. A low line stands
//! for a space.

use std::sync::LazyLock;

use ahash::AHashSet;

/// A closed list of words.
pub(super) struct WordList(LazyLock<AHashSet<String>>);

impl WordList {
    const fn new(read: fn() -> AHashSet<String>) -> Self {
        Self(LazyLock::new(read))
    }

    /// Whether the list has a word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// Declares lists from their words.
macro_rules! word_lists {
    ($($(#[$documentation:meta])* $name:ident = $words:literal;)*) => {$(
        $(#[$documentation])*
        pub(super) static $name: WordList = WordList::new(|| read($words));
    )*};
}

fn read(words: &str) -> AHashSet<String> {
    words.split_whitespace().map(|word| word.replace('_', " ")).collect()
}

word_lists! {
    /// Words that may stand between a subject and its verb and change what the verb says.
    AUXILIARIES = "am is are was were be been being have has had having do does did not never no longer will going to used \
        stopped quit got get gets getting gotten gave given keep keeps";

    /// Adverbs that change nothing about who does what.
    ADVERBS = "now currently just recently still also actually finally officially already only really mostly mainly \
        presently nowadays lately basically soon newly permanently fully even always then both all happily \
        apparently technically full-time part-time fulltime remotely again today literally totally eventually \
        suddenly temporarily right pretty quietly directly back quickly formally ended up";

    /// Words that make a statement a wish, a plan, a condition or a guess.
    HYPOTHETICAL = "if unless would could might may maybe perhaps should wish wishes wishing hope hopes hoping want wants \
        wanted considering consider considered imagine pretend pretending almost nearly dream dreams dreamed \
        dreamt dreaming nightmare hypothetically suppose supposing whether joking joked kidding tempted thinking wonder \
        wondering planned planning debating rather unlikely";

    /// Verbs by which somebody else's words are reported.
    REPORTING = "said says say saying told tells thinks think thought claims claimed heard asked asks read rumor rumour \
        rumors wrote suggested recommends recommended guess assumes";

    /// Persons who are named by their relation to somebody.
    RELATIONS = "mom mum mother dad father sister brother wife husband partner girlfriend boyfriend fiance fiancee son \
        daughter kid child aunt uncle cousin niece nephew grandma grandmother grandpa grandfather friend \
        roommate flatmate housemate neighbor neighbour boss manager colleague coworker co-worker teammate \
        landlord landlady ex buddy mate bestie stepmom stepdad stepsister stepbrother twin twins sister-in-law \
        brother-in-law mother-in-law father-in-law in-laws parents assistant therapist dog cat son-in-law \
        daughter-in-law granddaughter grandson";

    /// Relations that a person has to several others.
    MANY_RELATIONS = "brother sister son daughter kid child aunt uncle cousin niece nephew grandma grandmother grandpa \
        grandfather friend neighbor neighbour colleague coworker co-worker teammate ex buddy mate twin twins stepsister \
        stepbrother sister-in-law brother-in-law granddaughter grandson dog cat roommate flatmate housemate";

    /// Those of them who are seldom only one, so that it is not known who is meant.
    UNNAMED_RELATIONS = "friend neighbor neighbour colleague coworker co-worker teammate buddy mate classmate customer \
        client guy";

    /// How people call their own relatives.
    OWN_PARENTS = "mom mum dad mother father grandma grandpa granny";

    /// Words at which a value ends.
    VALUE_ENDS = "and but because since so after before when while which who where that until till now currently nowadays \
        these last next this yesterday today tomorrow tonight ago instead anymore any too again as for with from \
        though although if then or starting effective by thanks thank lol haha btw honestly actually already \
        over about to than rather once during recently finally permanently early earlier full-time part-time \
        right";

    /// Words that begin a value without being part of it.
    VALUE_STARTS = "a an the my our just only about now still also around roughly currently";

    /// Professions, by their last words.
    ROLES = "accountant actor administrator advisor analyst apprentice architect artist assistant associate baker \
        barista bartender biologist builder buyer carpenter cashier ceo cfo chef chemist coach coder consultant \
        cook coordinator cto counselor dentist designer developer dev director doctor driver economist editor \
        electrician engineer farmer firefighter florist foreman freelancer gardener hairdresser head instructor \
        intern investigator janitor journalist judge lawyer lead lecturer librarian machinist manager marketer \
        mechanic medic midwife musician nanny nurse officer operator painter paramedic pharmacist photographer \
        physicist physiotherapist pilot plumber postdoc principal producer professor programmer psychologist \
        realtor receptionist recruiter researcher scientist secretary supervisor surgeon teacher technician \
        therapist tutor writer tester agent captain clerk sergeant trainee waiter waitress vet veterinarian translator owner treasurer interpreter caretaker guard \
        butcher roofer mason janitor steward stewardess conductor curator ranger courier planner specialist strategist \
        representative rep trader broker banker investigator detective paralegal optician dietitian nutritionist stylist \
        barber tailor welder fitter joiner decorator surveyor geologist historian archivist statistician auditor actuary \
        underwriter copywriter illustrator animator dancer singer drummer guitarist violinist referee lifeguard";

    /// Sports and other activities that people do.
    SPORTS = "badminton ballet baseball basketball bouldering boxing chess climbing cricket cycling dancing darts diving \
        fencing fishing football golf gymnastics handball hiking hockey jogging judo jujitsu karate kayaking knitting \
        pilates pottery rowing rugby running sailing sewing skating skiing snowboarding soccer squash surfing swimming \
        tennis triathlon volleyball polo weightlifting wrestling yoga crossfit painting drawing photography gardening \
        beekeeping archery aikido taekwondo spinning bowling guitar piano violin cello drums flute trumpet saxophone \
        accordion ukulele harp clarinet banjo";

    /// Subjects of study.
    SUBJECTS = "accounting anthropology archaeology architecture art arts astronomy biology botany business chemistry classics \
        computing dentistry design drama economics education engineering english film finance french geography geology \
        german history informatics journalism law linguistics literature marketing math mathematics maths mechanics \
        medicine music nursing pharmacy philosophy physics politics psychology sociology spanish statistics theology \
        science sciences studies";

    /// Animals that people keep.
    PETS = "dog dogs puppy cat cats kitten kittens hamster hamsters rabbit rabbits parrot budgie budgies canary goldfish \
        fish turtle tortoise snake gecko lizard horse pony ferret chinchilla rat rats mouse mice parakeet cockatiel hen \
        hens chickens goat goats sheep pig bees duck ducks guinea retriever labrador poodle beagle terrier dachshund \
        tabby bulldog spaniel collie";

    /// Words that end like professions and are none.
    NO_PROFESSIONS = "member beginner winner lover believer stranger disaster monster father mother sister brother daughter \
        number matter customer subscriber bigger smaller better another leftover newcomer outsider insider loser sleeper \
        vegetarian pescatarian flexitarian christian italian canadian australian brazilian norwegian indian russian minor \
        major sponsor neighbor visitor supporter follower reader listener viewer commuter whatever however remember \
        december november october september summer winter dinner corner theater center counter answer order power paper \
        color flavor humor";

    /// Places of work without a name.
    WORKPLACES = "bakery bank bar bookshop bookstore brewery cafe call-center center centre cinema clinic college \
        company council court dealership embassy factory farm firm florist foundation garage garden-center gallery gym \
        hospital hotel kindergarten lab laboratory library mill ministry museum newspaper ngo nursery observatory office \
        pharmacy practice prison publisher pub restaurant salon school shelter shipyard shop startup store studio \
        supermarket theater theatre university vet warehouse winery workshop zoo";

    /// Words in names of plans.
    PLANS = "plan tier subscription package free basic pro premium business enterprise team starter plus standard family \
        student individual personal professional ultimate lite gold silver bronze platinum hobby growth scale max annual \
        monthly yearly trial";

    /// Things that happen on a date.
    EVENTS = "launch release rollout submission kickoff standup meeting call sync review demo retro workshop \
        training interview wedding party trip flight appointment exam delivery migration audit go-live handover";

    /// Words in names of schools.
    SCHOOLS = "saint st school primary elementary secondary academy college university uni institute kindergarten preschool nursery \
        high middle grammar polytechnic";

    /// Ways of eating.
    DIETS = "vegan vegetarian pescatarian pescetarian keto paleo carnivore omnivore flexitarian gluten-free \
        dairy-free plant-based low-carb halal kosher meat sugar-free lactose-free mediterranean fodmap raw whole30 fish";

    /// Makes and kinds of cars.
    CARS = "audi bmw byd chevrolet chevy citroen civic corolla corsa cupra dacia fiat fiesta focus ford golf honda \
        hyundai ioniq jaguar jeep kia kona leaf lexus mazda mercedes mini mustang nissan octavia opel passat \
        peugeot polestar polo porsche prius renault rivian rover saab seat skoda smart subaru suv suzuki tesla \
        toyota truck van volkswagen volvo vw yaris outback twingo clio berlingo puma hatchback estate camper pickup coupe convertible wagon minivan sedan scooter motorbike motorcycle";

    /// States of a piece of work or a thing.
    STATUSES = "done blocked live deployed down paused cancelled canceled approved delayed finished complete completed \
        shipped closed open reopened pending stuck merged released signed rejected failing failed passing green \
        red yellow ready postponed scrapped archived deprecated retired active inactive offline online broken \
        fixed resolved unresolved won lost dead overdue frozen unblocked healthy degraded stable unstable \
        launched in-progress in_progress in_review in_testing in_production in_staging in_beta on_hold on_track \
        at_risk behind_schedule under_review";

    /// Nouns whose value a general statement may name with any word.
    SLOTS = "name number password passcode code pin size address gym doctor dentist bank landlord favorite favourite \
        color colour hometown nickname username handle birthday anniversary salary rent budget weight height \
        goal alarm bedtime routine shift schedule record best pb time day host hostname database url domain \
        branch room desk floor office location venue meeting standup destination provider editor language \
        framework limit timeout region headcount";

    /// Adjectives before a noun that mean another attribute than the noun alone.
    NOT_PRESENT = "old former previous first next future ideal dream ex other second past original last";

    /// Days and parts of times by which a value names a time.
    TIMES = "monday tuesday wednesday thursday friday saturday sunday january february march april may june july \
        august september october november december noon midnight morning evening tomorrow week month q1 q2 q3 q4";

    /// Words by which the person who asks refers to themselves.
    FIRST_PERSON = "i me my mine we us our ours i'm ich mir mich mein meine meinen meiner meinem wir unser unsere \
        unserem mi mis yo nuestro nuestra nuestros je j'ai ai mon ma mes notre nos eu meu minha meus minhas \
        nosso nossa io mio mia miei mie nostro nostra vivo trabajo tengo conduzco habite travaille moro \
        trabalho tenho lavoro abito ho wohne arbeite";

    /// Words that begin questions about how something is.
    STATE_QUESTIONS = "what what's which who who's whose where where's how when";

    /// Words that begin such questions in other languages, folded. Their verbs are not examined.
    FOREIGN_QUESTIONS = "wo wer was welche welcher welches welchen wie wann donde que cual quien cuantos cuantas cuando \
        cuanto ou quel quelle qui combien quand onde qual quem quantos quantas quando dove quale chi quanto \
        quante quanti";

    /// Verbs of questions about the present.
    PRESENT_VERBS = "is are am does do has have what's who's where's runs owns works lives uses";

    /// Words that ask for one value.
    STATE_WORDS = "live lives living work works working employed drive drives old version port owner owns deadline due \
        plan cost costs price current currently now these wohnt lebt arbeitet vive trabaja habite travaille \
        mora trabalha abita lavora";

    /// Words of questions whether something still is so, folded.
    STILL = "still anymore noch todavia sigue sigo siguen encore toujours ainda continua ancora";

    /// Verbs of frames that say too little to ask for an attribute.
    GENERIC_VERBS = "am is are been have has had having got get gets getting go goes went going gone do does doing come \
        comes came coming take takes took taking taken make made put keep keeps kept keeping start starts \
        started starting begin begins beginning switch switches switched switching move moves moved moving \
        run runs running use uses using open opens opening stop stops stopped stopping turn turns turned \
        turning become becomes became becoming gave giving given quit quits quitting leave leaves left \
        leaving join joins joined joining sell sells sold selling buy buys bought buying";

    /// Articles and prepositions of several languages, folded: "mot de passe" and "mot passe" are one attribute.
    FUNCTION_WORDS = "de del della dello des du do da di dos das la le les el los las il lo gli i der die dem den em no na \
        nos nas unser unsere mein meine mi mon ma mio mia meu minha";
}
