//! One line about each figure of a report, by the figure's name.
//!
//! A name may have a prefix with a level of admission (`strict: …`) or a suffix with the part of what was measured
//! (`mrr, words alone`).

/// Figures by their whole name, or by the name before the suffix.
const FIGURES: &[(&str, &str)] = &[
    ("first", "Share of questions that the first hit answers."),
    ("mrr", "Mean of one divided by the rank of the first hit that answers, 0 beyond the first 24 hits."),
    ("auc", "Probability that a right hit has a higher score than a wrong one. 0.5 is chance."),
    ("ece", "Mean difference between scores and the share of right hits, in ten ranges of scores. 0 is best."),
    ("ece of the best hit", "The same of the first hits of questions with an answer. 0 is best."),
    ("auc of the best score", "Probability that a question with an answer has a higher best score than one without."),
    ("questions", "Number of questions with an answer."),
    ("words_per_hit", "Mean number of words of a hit."),
    ("best score, answerable", "Mean best score of questions with an answer."),
    ("best score, category 5", "Mean best score of questions with a false premise."),
    ("best score, about something else", "Mean best score of questions about another conversation."),
    ("best score with an answer", "Mean best score of questions with an answer."),
    ("best score without an answer", "Mean best score of questions that nothing answers."),
    ("questions without an answer", "Number of questions that nothing answers."),
    ("questions with an answer", "Number of questions with an answer."),
    ("nothing admitted without an answer", "Share of questions that nothing answers for which no hit is admitted."),
    ("evidence admitted with an answer", "Share of questions with an answer for which some evidence is admitted."),
    ("precision of what is admitted", "Mean share of right hits among those that are admitted."),
    ("parts with a memory admitted", "Share of the things that are asked for, for which a right hit is admitted."),
    ("queries split into their parts", "Share of queries that are split into as many parts as they have."),
    ("queries", "Number of queries."),
    ("questions about the present", "Number of questions about what holds now."),
    ("current value first", "Share of them whose first hit with a value has the one that holds."),
    ("current value in the first hit", "Share of them whose first hit has the value that holds."),
    ("former value shown as current", "Share of them with a hit that has a former value and is shown as current."),
    ("questions about the past", "Number of questions about what held at another time."),
    ("value of the past first", "Share of them whose first hit with a value has the one that held then."),
    ("statements that still hold", "Number of statements that hold to the end."),
    ("ended wrongly", "Share of them that are shown as ended."),
    ("questions that count for sessions", "Number of questions with a session that has the answer."),
    ("questions that count for turns", "Number of questions with a turn of the user that has the answer."),
    ("questions left out, without evidence", "Number of questions of which nothing says what answers them."),
];

/// Returns one line about a figure. Empty for an unknown one.
pub(super) fn explanation(name: &str) -> String {
    if let Some(text) = of_name(name) {
        return text;
    }
    if let Some((level, rest)) = name.split_once(": ")
        && let Some(text) = of_name(rest)
    {
        return format!("{text} Admission: {level}.");
    }
    if let Some((base, part)) = name.split_once(", ")
        && let Some(text) = of_name(base)
    {
        return match part {
            "words alone" => format!("{text} Hits in the order of the words alone."),
            "cues alone" => format!("{text} Hits in the order of the cues alone."),
            part => format!("{text} Questions of {part}."),
        };
    }
    String::new()
}

fn of_name(name: &str) -> Option<String> {
    for (known, text) in FIGURES {
        if *known == name {
            return Some((*text).to_owned());
        }
    }
    let (measure, limit) = name.split_once('@')?;
    if let Some(words) = limit.strip_suffix('w') {
        return Some(format!("Mean share of the evidence within the first {words} words of the hits."));
    }
    match measure {
        "recall" => Some(format!("Mean share of the evidence within the first {limit} hits.")),
        "ndcg" => Some(format!("Normalised discounted cumulative gain of the first {limit} hits.")),
        _ => of_unit(measure, limit),
    }
}

/// Explains a measure of LongMemEval.
fn of_unit(measure: &str, limit: &str) -> Option<String> {
    let (unit, measure) = measure.split_once(' ')?;
    match measure {
        "recall_any" => Some(format!("Share of questions with evidence in any of the first {limit} {unit}s.")),
        "recall_all" => Some(format!("Share of questions with all evidence within the first {limit} {unit}s.")),
        "ndcg_any" => {
            Some(format!("Normalised discounted gain of the first {limit} {unit}s, as LongMemEval defines it."))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{changes, longmemeval, measure, parts, questions};

    #[test]
    fn every_figure_is_explained() {
        let mut names = Vec::new();
        names.extend(measure::Figures::default().report());
        names.extend(questions::Figures::default().report());
        names.extend(longmemeval::Figures::default().report());
        names.extend(parts::Figures::default().report());
        for (name, value) in changes::Figures::default().report() {
            names.push((name.to_owned(), value));
        }
        names.push(("auc of the best score".to_owned(), 0.0));
        names.push(("session recall_any@5, multi-session".to_owned(), 0.0));
        for (name, _) in names {
            assert!(explanation(&name).ends_with('.'), "{name}");
        }
    }

    #[test]
    fn an_explanation_names_the_level_and_the_part() {
        for (name, expected) in [
            (
                "first, cues alone",
                "Share of questions that the first hit answers. Hits in the order of the cues alone.",
            ),
            (
                "mrr, category 1",
                "Mean of one divided by the rank of the first hit that answers, 0 beyond the first 24 hits. \
                Questions of category 1.",
            ),
            ("turn recall_all@5", "Share of questions with all evidence within the first 5 turns."),
            ("strict: queries", "Number of queries. Admission: strict."),
            ("unknown", ""),
        ] {
            assert_eq!(explanation(name), expected, "{name}");
        }
    }
}
