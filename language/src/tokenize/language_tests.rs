//! In each language, a question and a memory have other forms of the same words. They meet at the words' terms.

use proptest::prelude::*;

use super::forms::TERM_BYTES_MAX;
use super::{Place, content_terms, for_each_term, may_be_english};

/// Returns the terms that two texts share, in the order of the first, without repetitions.
fn shared(question: &str, memory: &str) -> Vec<String> {
    let known = content_terms(memory);
    let mut shared = Vec::new();
    for term in content_terms(question) {
        if known.contains(&term) && !shared.contains(&term) {
            shared.push(term);
        }
    }
    shared
}

/// Returns the forms of the words of a text, each form's terms joined by "+".
fn forms(text: &str) -> Vec<Vec<String>> {
    let mut words: Vec<Vec<String>> = Vec::new();
    for_each_term(text, |term| {
        if term.place == Place::Word {
            words.push(Vec::new());
        }
        let word = words.last_mut().expect("a text begins with a word");
        match term.place {
            Place::Word | Place::Form => word.push(term.text.to_owned()),
            Place::Part => {
                let form = word.last_mut().expect("a part follows a form");
                form.push('+');
                form.push_str(term.text);
            }
        }
    });
    words
}

#[test]
fn an_arabic_word_is_found_without_its_article_conjunction_and_pronoun() {
    // "Where is the library?", "and in our libraries", "she moved to the national library".
    assert_eq!(shared("أين المكتبة؟", "انتقلت إلى مكتبة وطنية"), ["مكتب"]);
    assert_eq!(shared("مكتباتنا والمدرسة", "المدرسة القديمة"), ["مدرس"]);
    assert_eq!(shared("مدينة", "تعيش بمدينة صغيرة"), ["مدين"]);
}

#[test]
fn arabic_spellings_and_digits_are_one() {
    assert_eq!(content_terms("أحمد"), content_terms("احمد"));
    assert_eq!(content_terms("مُحَمَّد"), content_terms("محمـــد"));
    assert_eq!(content_terms("مستشفى\u{200f}"), content_terms("مستشفي"));
    assert_eq!(content_terms("سنة ١٩٩٠").last(), content_terms("1990").last());
}

#[test]
fn a_chinese_word_is_found_by_its_characters_where_it_is_split_differently() {
    // "study", "studied Chinese", and a compound that begins with a word of the question.
    assert_eq!(forms("学习"), [["学习", "学+习"]]);
    assert!(shared("我喜欢学习中文", "他在学习").contains(&"学习".to_owned()));
    assert!(shared("防守", "防守队员").contains(&"守".to_owned()));
    assert!(content_terms("我的是什么").is_empty());
}

#[test]
fn a_japanese_word_is_found_without_the_particles_around_it() {
    // "Where does grandmother live?", "Grandmother lives in Kyoto".
    assert!(shared("祖母はどこに住んでいますか", "祖母は京都に住んでいる").starts_with(&["祖母".to_owned()]));
    assert_eq!(content_terms("サーバー"), content_terms("サーバ"));
    assert_eq!(content_terms("ﾃﾞｰﾀ"), content_terms("データ"));
}

#[test]
fn a_korean_word_is_found_without_its_particle_and_within_a_compound() {
    // "at the hospital", "the hospital"; "database", "database design".
    assert_eq!(shared("병원은", "병원에서"), ["병원"]);
    assert_eq!(shared("집을", "집에"), ["집"]);
    assert!(shared("데이터베이스를", "데이터베이스설계").contains(&"데이".to_owned()));
    // The last syllable of "apple" looks like a particle, but would not follow a vowel.
    assert_eq!(forms("사과"), [["사과"]]);
}

#[test]
fn thai_words_are_found_without_spaces_between_them() {
    // "the cat drinks milk", "What does the cat drink?".
    assert_eq!(content_terms("แมวดื่มนม"), ["แมว", "ดื่ม", "นม"]);
    assert_eq!(shared("แมวดื่มอะไร", "แมวดื่มนม"), ["แมว", "ดื่ม"]);
}

#[test]
fn a_hindi_plural_meets_its_singular() {
    // "books", "book"; "girls read", "which girl".
    assert_eq!(shared("किताबें कहाँ हैं", "मेरी किताब मेज पर है"), ["किताब"]);
    assert_eq!(shared("लड़कियों ने पढ़ा", "लड़की कौन है").len(), 1);
    assert_eq!(content_terms("किताब कताब").len(), 2);
}

#[test]
fn a_turkish_word_is_found_without_its_endings_and_in_either_case_of_i() {
    // "Where are Ali's books?", "the book came from Istanbul".
    assert!(shared("Ali'nin kitapları nerede?", "Kitap İstanbul'dan geldi").contains(&"kitap".to_owned()));
    assert_eq!(shared("ISPARTA", "ısparta"), ["isparta"]);
    assert_eq!(shared("İzmir", "izmir"), ["izmir"]);
}

#[test]
fn a_russian_word_is_found_in_another_case() {
    // "in which city?", "the blue house in the city of Kazan".
    assert_eq!(shared("В каком городе дома?", "Синий дом в городе"), ["город", "дом"]);
    assert_eq!(content_terms("Синий"), content_terms("синего"));
    assert_eq!(content_terms("ёлка"), content_terms("елки"));
}

#[test]
fn a_greek_word_is_found_in_another_number_and_with_another_accent() {
    // "Where are the books?", "the book"; "of the hospital".
    assert_eq!(shared("Πού είναι τα βιβλία;", "Το βιβλίο είναι εδώ").len(), 1);
    assert_eq!(content_terms("νοσοκομείου"), content_terms("ΝΟΣΟΚΟΜΕΙΟ"));
}

#[test]
fn a_hebrew_word_is_found_without_the_particles_before_it() {
    // "in the park", "the meetings", "a meeting"; "and the house", "house".
    assert!(shared("הפארק", "בפארק").contains(&"פארק".to_owned()));
    assert!(shared("פגישה", "הפגישות").contains(&"פגיש".to_owned()));
    assert!(shared("בית", "והבית").contains(&"בית".to_owned()));
    assert_eq!(content_terms("שלום"), content_terms("שָׁלוֹם"));
}

#[test]
fn a_german_question_meets_a_memory_in_another_form_of_the_word() {
    assert!(shared("Wann wurden die Häuser gebaut?", "Das Haus wurde 1890 gebaut.").contains(&"haus".to_owned()));
    assert!(shared("Wann wurden die Brücken gebaut?", "Die Brücke ist von 1890.").contains(&"bruck".to_owned()));
    assert_eq!(shared("Straße", "Strasse").len(), 1);
}

#[test]
fn a_question_meets_a_memory_that_is_too_short_to_show_its_language() {
    // "gebaut" alone does not tell German.
    assert!(shared("Wann wurde das Haus gebaut?", "Haus gebaut 1890").contains(&"gebaut".to_owned()));
    assert!(shared("¿Dónde viven mis abuelos?", "abuelos: Sevilla").contains(&"abuelo".to_owned()));
}

#[test]
fn a_spanish_verb_and_a_plural_meet_their_other_forms() {
    assert!(
        shared("¿Dónde vive mi abuela?", "Las abuelas viven en el pueblo de mi madre").contains(&"abuel".to_owned())
    );
}

#[test]
fn a_french_noun_is_found_without_its_elided_article() {
    let terms = shared("Où est la bibliothèque de l'université ?", "Mon université est à Lyon, elle y travaille");
    assert_eq!(terms, ["univers"]);
}

#[test]
fn a_vietnamese_syllable_is_found_with_and_without_its_tone() {
    assert_eq!(forms("Bà ngoại sống ở Huế"), [["ba", "bà"], ["ngoai", "ngoại"], ["song", "sống"], ["hue", "huế"]]);
    assert_eq!(shared("pho", "Mẹ nấu phở rất ngon"), ["pho"]);
}

#[test]
fn function_words_of_another_language_stay_in_english_text() {
    assert_eq!(content_terms("The soldiers die in war"), ["soldier", "die", "war"]);
    assert_eq!(
        content_terms("Die Soldaten hatten keine Angst vor dem Fluss").first().map(String::as_str),
        Some("soldaten")
    );
    assert_eq!(content_terms("A man had a hat on"), ["man", "hat"]);
}

#[test]
fn english_words_have_one_form() {
    let text = "She bought two tickets for the opera because her sister's birthday was on Friday.";
    assert!(forms(text).iter().all(|word| word.len() == 1), "{:?}", forms(text));
}

#[test]
fn a_name_in_code_is_found_as_a_whole_and_by_its_parts() {
    for name in ["parseJson", "ParseJson", "parse_json", "parse.json"] {
        assert_eq!(forms(name), [["parsejson", "pars+json"]], "{name}");
    }
    assert_eq!(forms("utf8"), [["utf8", "utf+8"]]);
    assert_eq!(shared("1.2.3", "since v1.2.3"), ["1.2.3"]);
    assert_eq!(forms("parse-json"), [vec!["pars", "parsejson"], vec!["json"]]);
    assert_eq!(forms("toString"), [["tostr", "string"]]);
}

#[test]
fn a_compound_with_a_hyphen_is_found_as_one_word() {
    assert!(shared("email", "Her e-mail address").contains(&"email".to_owned()));
    assert_eq!(forms("a state-of-the-art kiln").concat(), ["state", "art", "kiln"]);
}

#[test]
fn an_amount_is_found_however_it_is_written() {
    assert_eq!(content_terms("1,000"), content_terms("1000"));
    assert_eq!(content_terms("١٬٠٠٠"), content_terms("1000"));
    assert_eq!(shared("$3.5", "It costs $3.50"), ["3.5"]);
    assert_eq!(shared("1.000 Euro", "1000").len(), 1);
    assert!(shared("version 1.1", "version 1.10").iter().all(|term| term == "version"));
}

proptest! {
    #[test]
    fn any_text_has_the_same_terms_each_time(text in "\\PC{0,40}( (die|und|le|à|és|và|ı|의|في)){0,3}") {
        let terms = content_terms(&text);
        prop_assert_eq!(&terms, &content_terms(&text));
        for term in &terms {
            prop_assert!(!term.is_empty() && term.len() <= TERM_BYTES_MAX, "{}", term);
        }
        let mut places = Vec::new();
        for_each_term(&text, |term| places.push(term.place));
        prop_assert!(places.first().is_none_or(|place| *place == Place::Word));
    }
}

#[test]
fn a_question_in_another_language_or_script_is_not_english() {
    for text in ["Where does Ana live?", "retry_count default", "", "4711", "wifi password?"] {
        assert!(may_be_english(text), "{text}");
    }
    for text in [
        "Wo wohnt die Schwester von Ana?",
        "Où habite la sœur d'Ana ?",
        "¿Dónde vive la hermana de Ana?",
        "Где живёт Анна?",
        "安娜住在哪里？",
    ] {
        assert!(!may_be_english(text), "{text}");
    }
}
