//! What is not worth a memory: greetings, thanks, reactions.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::statements::{telling_words, unspaced};

/// Words that carry no news on their own, folded.
const FILLER: &str = "hi hey hello hiya yo bye goodbye goodnight morning evening thanks thank thx cheers welcome please \
    sorry ok okay sure yes yeah yep yup nope nah wow whoa oh ah aw aww haha hahaha lol omg hmm hm um uh well so cool nice \
    great good awesome amazing fantastic wonderful lovely perfect excellent sweet super glad happy really totally \
    absolutely definitely exactly indeed right true agreed sounds sound gotcha course problem worries anytime later soon \
    talk chat catch see take care day luck best wishes congrats congratulations proud appreciate it's that's i'm you're \
    let's much lot too very just and but the you your that this have had has was were are for with how what doing going \
    been know mean think guess love like hope wait everything thing things stuff";

/// Whether a folded word is filler.
pub fn is_filler(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLER.split(' ').collect());
    WORDS.contains(word)
}

/// Whether a statement says nothing beyond courtesy. An answer to a question says something even in one word.
pub fn is_small_talk(statement: &str, answers: bool) -> bool {
    if statement.chars().any(|c| c.is_ascii_digit()) || statement.contains("```") {
        return false;
    }
    let telling = telling_words(statement);
    // Filler is known in English alone, so more than a greeting in another script is never courtesy.
    let dense = unspaced(statement) > 4 || statement.chars().filter(|c| !c.is_ascii()).count() > 12;
    !dense && telling < if answers { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courtesy_is_dropped_and_news_is_kept() {
        for talk in ["Hey!", "Thanks so much, that's great!", "Wow, congrats!", "See you later, take care", "👍", "Ok"]
        {
            assert!(is_small_talk(talk, false), "{talk}");
        }
        for news in [
            "I moved to Lisbon",
            "Thanks! My sister Ann is pregnant",
            "It costs 40 euros",
            "東京に引っ越しました。新しい仕事です",
            "我妹妹在学校学习中文",
        ] {
            assert!(!is_small_talk(news, false), "{news}");
        }
        assert!(!is_small_talk("Lisbon.", true));
        assert!(!is_small_talk("北京。", true));
        assert!(is_small_talk("Yes!", true));
    }
}
