//! A namespace's own words: which terms a text mentions, under any of their surface forms.
//!
//! A form matches whole words, case and accents aside, runs of white space being one space; where several forms begin
//! at one place, the longest counts. Word borders are Unicode's (UAX #29), so that a form may hold punctuation (`C++`)
//! and scripts without spaces work too.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::text::fold;

/// A term with what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The canonical form.
    pub term: String,
    /// The other surface forms.
    pub aliases: Vec<String>,
    /// What it means.
    pub definition: String,
}

/// A place in a text where a term is mentioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// Which terms have this surface form, by number, ascending; more than one where they share it.
    pub terms: Vec<usize>,
}

/// Other ways of writing a part of a query: a match of any one counts like a match of the part itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonyms {
    /// Bytes of the query's text.
    pub range: Range<usize>,
    /// The other surface forms.
    pub forms: Vec<String>,
}

/// The terms of a namespace. Never changes; a new one takes its place.
#[derive(Debug, Default)]
pub struct Vocabulary {
    terms: Vec<Term>,
    /// Forms by their first segment, those with most segments first.
    forms: HashMap<String, Vec<Form>>,
}

#[derive(Debug)]
struct Form {
    segments: Vec<String>,
    terms: Vec<usize>,
}

impl Vocabulary {
    /// A vocabulary of these terms.
    pub fn new(terms: Vec<Term>) -> Self {
        let mut forms: HashMap<String, Vec<Form>> = HashMap::new();
        for (number, term) in terms.iter().enumerate() {
            for surface in std::iter::once(&term.term).chain(&term.aliases) {
                let segments: Vec<String> = segments(surface).into_iter().map(|(_, text)| text).collect();
                let Some(first) = segments.first() else { continue };
                let held = forms.entry(first.clone()).or_default();
                match held.iter_mut().find(|form| form.segments == segments) {
                    Some(form) if form.terms.last() == Some(&number) => {}
                    Some(form) => form.terms.push(number),
                    None => held.push(Form { segments, terms: vec![number] }),
                }
            }
        }
        for held in forms.values_mut() {
            held.sort_by_key(|form| std::cmp::Reverse(form.segments.len()));
        }
        Self { terms, forms }
    }

    /// The term of a number that a [`Mention`] gave.
    pub fn term(&self, number: usize) -> Option<&Term> {
        self.terms.get(number)
    }

    /// Whether there is no term at all.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The terms that a text mentions, from left to right, never overlapping.
    pub fn mentions(&self, text: &str) -> Vec<Mention> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let segments = segments(text);
        let mut mentions = Vec::new();
        let mut at = 0;
        while let Some((range, first)) = segments.get(at) {
            let fits = |form: &&Form| {
                let here = segments.get(at..at + form.segments.len());
                here.is_some_and(|here| here.iter().map(|(_, text)| text).eq(&form.segments))
            };
            let Some(form) = self.forms.get(first).and_then(|held| held.iter().find(fits)) else {
                at += 1;
                continue;
            };
            let last = at + form.segments.len() - 1;
            let end = segments.get(last).map_or(range.end, |(range, _)| range.end);
            mentions.push(Mention { range: range.start..end, terms: form.terms.clone() });
            at = last + 1;
        }
        mentions
    }

    /// The same mentions as other ways of writing the text, for [`Query::synonyms`](crate::Query::synonyms).
    pub fn synonyms(&self, text: &str, mentions: &[Mention]) -> Vec<Synonyms> {
        let other = |mention: &Mention| {
            let written = surface_key(&text[mention.range.clone()]);
            let terms = mention.terms.iter().filter_map(|number| self.term(*number));
            let forms = terms.flat_map(|term| std::iter::once(&term.term).chain(&term.aliases));
            let forms = forms.filter(|form| surface_key(form) != written).cloned().collect();
            Synonyms { range: mention.range.clone(), forms }
        };
        mentions.iter().map(other).filter(|synonyms| !synonyms.forms.is_empty()).collect()
    }
}

/// A surface form as it is compared: case and accents aside, white space as single spaces.
pub fn surface_key(form: &str) -> String {
    segments(form).into_iter().map(|(_, text)| text).collect()
}

/// Words and what stands between them, folded; outer white space left out, inner made one space.
fn segments(text: &str) -> Vec<(Range<usize>, String)> {
    let mut found: Vec<(Range<usize>, String)> = Vec::new();
    for (start, segment) in text.split_word_bound_indices() {
        let range = start..start + segment.len();
        if segment.chars().all(char::is_whitespace) {
            match found.last_mut() {
                Some((last, text)) if text == " " => last.end = range.end,
                Some(_) => found.push((range, " ".into())),
                None => {}
            }
        } else {
            let folded = fold(segment);
            if !folded.is_empty() {
                found.push((range, folded));
            }
        }
    }
    if found.last().is_some_and(|(_, text)| text == " ") {
        found.pop();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn term(term: &str, aliases: &[&str]) -> Term {
        Term { term: term.into(), aliases: aliases.iter().map(|&a| a.into()).collect(), definition: String::new() }
    }

    fn mentioned(vocabulary: &Vocabulary, text: &str) -> Vec<(String, Vec<usize>)> {
        let mentions = vocabulary.mentions(text).into_iter();
        mentions.map(|mention| (text[mention.range].to_owned(), mention.terms)).collect()
    }

    #[test]
    fn the_longest_whole_words_count_whatever_their_case_and_accents() {
        let vocabulary = Vocabulary::new(vec![
            term("Kubernetes", &["k8s", "kube"]),
            term("kube proxy", &["KP"]),
            term("Zoë's café", &[]),
            term("C++", &["KP"]),
            term("東京", &[]),
        ]);
        assert_eq!(mentioned(&vocabulary, "our K8S cluster"), [("K8S".to_owned(), vec![0])]);
        assert_eq!(
            mentioned(&vocabulary, "the kube  proxy of kube"),
            [("kube  proxy".to_owned(), vec![1]), ("kube".to_owned(), vec![0])]
        );
        assert_eq!(mentioned(&vocabulary, "at ZOE'S CAFE?"), [("ZOE'S CAFE".to_owned(), vec![2])]);
        assert_eq!(mentioned(&vocabulary, "c++ (kp)"), [("c++".to_owned(), vec![3]), ("kp".to_owned(), vec![1, 3])]);
        assert_eq!(mentioned(&vocabulary, "東京はどこ"), [("東京".to_owned(), vec![4])]);
        for none in ["kubernetesque", "mykube", "k8sx", "", "  "] {
            assert!(mentioned(&vocabulary, none).is_empty(), "{none}");
        }
    }

    #[test]
    fn synonyms_are_the_other_forms() {
        let vocabulary = Vocabulary::new(vec![term("Kubernetes", &["k8s", "kube"])]);
        let text = "which K8s?";
        let synonyms = vocabulary.synonyms(text, &vocabulary.mentions(text));
        assert_eq!(synonyms, [Synonyms { range: 6..9, forms: vec!["Kubernetes".into(), "kube".into()] }]);
    }

    proptest! {
        #[test]
        fn a_form_is_found_wherever_it_stands_alone(form in "\\PC{1,12}", before in "[a-z ]{0,8}", after in "[a-z ]{0,8}") {
            let vocabulary = Vocabulary::new(vec![term(&form, &[])]);
            let text = format!("{before} \u{2022} {} \u{2022} {after}", form.to_uppercase());
            let found = vocabulary.mentions(&text);
            for mention in &found {
                prop_assert!(text.is_char_boundary(mention.range.start) && text.is_char_boundary(mention.range.end));
            }
            // A mark without its letter stands alone nowhere.
            let plain = |c: char| c.is_alphanumeric() && !unicode_normalization::char::is_combining_mark(c);
            if surface_key(&form) == surface_key(&form.to_uppercase()) && form.chars().all(plain) {
                prop_assert!(!found.is_empty());
            }
        }

        #[test]
        fn any_text_is_read(forms in proptest::collection::vec("\\PC{0,6}", 0..6), text in "\\PC{0,60}") {
            let vocabulary = Vocabulary::new(forms.iter().map(|form| term(form, &[])).collect());
            let mentions = vocabulary.mentions(&text);
            prop_assert!(mentions.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
            let _ = vocabulary.synonyms(&text, &mentions);
        }
    }
}
