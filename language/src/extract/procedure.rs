//! Detection of procedures: texts that describe step by step how something is done.
//!
//! Numbered lines alone are not enough, because assistants number recommendations too. An entry of such a list has a
//! heading ("**Lentil curry** over rice", "Dune: a desert planet") or begins like the name of a thing. A step is an
//! instruction.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Steps that make a procedure.
const STEPS_MIN: usize = 3;
/// Words of a heading before its colon or dash.
const HEADING_WORDS_MAX: usize = 6;

/// Verbs that steps begin with, to distinguish "**Preheat the oven**" from "**Lentil curry**".
const INSTRUCTIONS: &str = "add adjust aim allow answer apply arrange ask assemble assume attach avoid back bake be \
    beat begin boil book bring browse brush build buy calculate call capitalise capitalize change charge check \
    choose cite clean clear click clone close coat collect combine commit compare compile compute configure confirm \
    connect consider contact cook cool copy count cover create cut decide define delete deploy describe detach \
    determine dial disable discuss do dock document download drag drain draw drive drop dry eat edit empty enable \
    end enter evaluate explain export fill find finish fix flip fold follow format fry gather get give go grant \
    grate grease heat highlight hold identify import include inform insert inspect install invite join keep knead \
    label launch lay learn leave let lift list load lock log look loosen lower maintain make mark measure melt \
    mention merge mix monitor mount move name navigate note open order organise organize paint paste peel pick place \
    plan plug practice practise preheat prepare press print provide pull push put quote read recommend record reduce \
    refresh release remove rename repeat replace reply request research reset respond rest restart restore return \
    review rinse roll rotate run save say scan schedule scroll seal season select send serve set shake shape share \
    show shut sign simmer slice sort speak specify spread sprinkle squeeze stand start steam step stir stop store \
    strain submit suggest summarise summarize support switch tag tailor take talk tap taste tell test tie tighten \
    toss track transfer translate treat trim try turn type undo unplug unscrew update upload use validate verify \
    visit wait walk warm warn wash watch weigh whisk wipe work wrap write";

static VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| INSTRUCTIONS.split(' ').collect());

/// Words that begin the name of a thing, never a step.
const DETERMINERS: [&str; 15] =
    ["a", "all", "an", "both", "each", "her", "his", "my", "our", "some", "that", "the", "their", "this", "your"];

/// Whether a text lists steps: numbered lines that are mostly instructions, or "Step 1" and "Step 2".
pub fn is_procedure(text: &str) -> bool {
    let (mut steps, mut others) = (0, 0);
    for line in text.lines() {
        let Some(item) = numbered_item(line) else { continue };
        if is_step(item) {
            steps += 1;
        } else {
            others += 1;
        }
    }
    if steps + others >= STEPS_MIN && steps > others {
        return true;
    }
    let lower = text.to_lowercase();
    lower.contains("step 1") && lower.contains("step 2")
}

/// Returns the text after the number of a numbered line.
fn numbered_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - item.len();
    if !(1..=2).contains(&digits) {
        return None;
    }
    Some(item.strip_prefix(['.', ')'])?.trim_start())
}

/// Whether a text begins with one of the verbs of instructions.
pub fn is_instruction(text: &str) -> bool {
    VERBS.contains(first_word(text).as_str())
}

fn first_word(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or("").to_lowercase()
}

/// Whether an item of a list is an instruction.
fn is_step(item: &str) -> bool {
    let bare = item.trim_start_matches(['*', '_']);
    let first = first_word(bare);
    let is_headed = bare.len() < item.len() || has_heading(bare);
    VERBS.contains(first.as_str()) || !(is_headed || DETERMINERS.contains(&first.as_str()))
}

/// Whether an item has a few words before a colon or a dash.
fn has_heading(item: &str) -> bool {
    let ends = [": ", " - ", " \u{2013} ", " \u{2014} "];
    let Some(end) = ends.iter().filter_map(|mark| item.find(mark)).min() else { return false };
    item[..end].split_whitespace().count() <= HEADING_WORDS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_distinguished_from_recommendations() {
        for steps in [
            "To deploy:\n1. build\n2. push\n3. restart",
            "1) Mehl und Salz mischen.\n2) Kneten.\n3) Backen.",
            "1. **Preheat the oven**: 200 degrees.\n2. **Mix** flour and salt.\n3. **Bake**: half an hour.",
            "1. Open the terminal - any will do.\n2. The key must be in place.\n3. Run `make`.",
            "Step 1: warm the milk. Step 2: add the yeast.",
        ] {
            assert!(is_procedure(steps), "{steps}");
        }
        for list in [
            "In 2023. I moved.\n",
            "1. Build\n2. Push",
            "Dinners:\n1. **Chicken stir-fry** with rice.\n2. **Stuffed peppers**.\n3. **Lentil curry**.",
            "1. Dune: a desert planet.\n2. Foster - one summer.\n3. The Wall, in the Alps.",
            "1. both front bedrooms, 2,500;\n2. the roof;\n3. keep 900.",
        ] {
            assert!(!is_procedure(list), "{list}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "([0-9]{0,3}[.)]? ?\\PC{0,12}\n?){0,6}") {
            let _ = is_procedure(&text);
        }
    }
}
