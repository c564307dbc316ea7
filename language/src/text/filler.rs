//! Filler words, which say nothing on their own. They do not count as content words, and file names leave them out. A
//! text that consists of them is still kept unless it is small talk (see [`super::small_talk`]).

use std::collections::HashSet;
use std::sync::LazyLock;

/// The words in folded form (see [`crate::tokenize::fold`]).
const FILLER: &str = "hi hey hello hiya yo bye goodbye goodnight morning evening thanks thank thx cheers welcome please \
    sorry ok okay sure yes yeah yep yup nope nah wow whoa oh ah aw aww haha hahaha lol omg hmm hm um uh well so cool nice \
    great good awesome amazing fantastic wonderful lovely perfect excellent sweet super glad happy really totally \
    absolutely definitely exactly indeed right true agreed sounds sound gotcha course problem worries anytime later soon \
    talk chat catch see take care day luck best wishes congrats congratulations proud appreciate it's that's i'm you're \
    let's much lot too very just and but the you your that this have had has was were are for with how what doing going \
    been know mean think guess love like hope wait everything thing things stuff";

/// Returns whether a folded word is a filler word.
pub fn is_filler(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| FILLER.split(' ').collect());
    WORDS.contains(word)
}
