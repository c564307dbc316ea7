//! Whether a text says how something is done, step by step.
//!
//! Numbers alone do not say so: assistants number what they recommend as well. An entry of such a list has a heading
//! ("**Lentil curry** over rice", "Dune: a desert planet") or begins like the name of a thing; a step tells what to do.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Steps that make a procedure.
const STEPS_MIN: usize = 3;
/// A heading has at most so many words before its colon or dash.
const HEADING_WORDS_MAX: usize = 6;

/// Verbs that steps begin with, for telling "**Preheat the oven**" from "**Lentil curry**".
const INSTRUCTIONS: &str = "add adjust aim allow apply arrange ask assemble attach avoid back bake be beat begin boil \
    book bring browse brush build buy calculate call change charge check choose clean clear click clone close coat collect \
    combine commit compare compile compute configure confirm connect consider contact cook cool copy count cover create \
    cut decide define delete deploy describe detach determine dial disable discuss do dock download drag drain draw drive \
    drop dry edit empty enable enter evaluate export fill find finish fix flip fold follow fry gather get give go grant \
    grate grease heat hold identify import inform insert inspect install invite join keep knead label launch lay learn \
    leave let lift list load lock log look loosen lower make mark measure melt merge mix monitor mount move name navigate \
    note open order organise organize paint paste peel pick place plan plug practice practise prepare preheat press print \
    pull push put read record reduce refresh release remove rename repeat replace request research reset rest restart \
    restore return review rinse roll rotate run save scan schedule scroll season seal select send serve set shake shape \
    share shut sign simmer slice sort spread sprinkle squeeze stand start steam step stir stop store strain submit switch \
    tag take talk tap taste tell test tie tighten toss track transfer trim try turn type undo unplug unscrew update \
    upload use visit wait walk warm wash watch weigh whisk wipe work wrap write";

static VERBS: LazyLock<HashSet<&str>> = LazyLock::new(|| INSTRUCTIONS.split(' ').collect());

/// Words that open the name of a thing, never a step.
const DETERMINERS: [&str; 15] =
    ["a", "all", "an", "both", "each", "her", "his", "my", "our", "some", "that", "the", "their", "this", "your"];

/// Whether a text lists steps: numbered lines most of which tell what to do, or "Step 1" and "Step 2".
pub fn is_procedure(text: &str) -> bool {
    let (steps, others): (Vec<&str>, Vec<&str>) = text.lines().filter_map(numbered).partition(|item| is_step(item));
    if steps.len() + others.len() >= STEPS_MIN && steps.len() > others.len() {
        return true;
    }
    let lower = text.to_lowercase();
    lower.contains("step 1") && lower.contains("step 2")
}

/// What stands on a line behind its number.
fn numbered(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let item = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - item.len();
    item.strip_prefix(['.', ')']).filter(|_| (1..=2).contains(&digits)).map(str::trim_start)
}

/// Whether a text begins with a verb that steps begin with.
pub fn is_instruction(text: &str) -> bool {
    VERBS.contains(first_word(text).as_str())
}

fn first_word(text: &str) -> String {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or_default().to_lowercase()
}

/// Whether an item of a list tells what to do.
fn is_step(item: &str) -> bool {
    let bare = item.trim_start_matches(['*', '_']);
    let first = first_word(bare);
    let headed = bare.len() < item.len() || has_heading(bare);
    VERBS.contains(first.as_str()) || !(headed || DETERMINERS.contains(&first.as_str()))
}

/// Whether a few words stand before a colon or a dash.
fn has_heading(item: &str) -> bool {
    let ends = [": ", " - ", " \u{2013} ", " \u{2014} "];
    let end = ends.iter().filter_map(|mark| item.find(mark)).min();
    end.is_some_and(|end| item[..end].split_whitespace().count() <= HEADING_WORDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_told_from_what_is_recommended() {
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
        fn any_text_is_judged(text in "([0-9]{0,3}[.)]? ?\\PC{0,12}\n?){0,6}") {
            let _ = is_procedure(&text);
        }
    }
}
