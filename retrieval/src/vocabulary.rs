//! The vocabulary of a namespace: the terms that a text mentions, under any of their surface forms.
//!
//! A form matches whole words. Case and accents are ignored, and a run of white space equals one space. If several
//! forms match at the same position, the longest counts. Word boundaries are Unicode's (UAX #29), so a form may contain
//! punctuation (`C++`), and scripts without spaces work too.

use std::collections::HashMap;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::text::fold;

/// A term and its definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// The canonical form.
    pub term: String,
    /// The other surface forms.
    pub aliases: Vec<String>,
    /// The definition.
    pub definition: String,
}

/// A mention of a term in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The byte range of the text.
    pub range: Range<usize>,
    /// The numbers of the terms with this surface form, ascending; several terms may share a form.
    pub terms: Vec<usize>,
}

/// Other wordings of a part of a query. A match of any wording counts as a match of the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonyms {
    /// The byte range of the query's text.
    pub range: Range<usize>,
    /// The other surface forms.
    pub forms: Vec<String>,
}

/// The terms of a namespace. Immutable: a changed vocabulary is a new one.
#[derive(Debug, Default)]
pub struct Vocabulary {
    terms: Vec<Term>,
    /// The forms by their first segment, those with the most segments first.
    forms: HashMap<String, Vec<SurfaceForm>>,
}

#[derive(Debug)]
struct SurfaceForm {
    /// The folded segments.
    segments: Vec<String>,
    /// The numbers of the terms with this form, ascending.
    terms: Vec<usize>,
}

impl Vocabulary {
    /// Creates a vocabulary.
    pub fn new(terms: Vec<Term>) -> Self {
        let mut forms: HashMap<String, Vec<SurfaceForm>> = HashMap::new();
        for (number, term) in terms.iter().enumerate() {
            for surface in std::iter::once(&term.term).chain(&term.aliases) {
                let segments: Vec<String> = segments(surface).into_iter().map(|(_, text)| text).collect();
                let Some(first) = segments.first() else { continue };
                let same_first = forms.entry(first.clone()).or_default();
                match same_first.iter_mut().find(|form| form.segments == segments) {
                    Some(form) if form.terms.last() == Some(&number) => {}
                    Some(form) => form.terms.push(number),
                    None => same_first.push(SurfaceForm { segments, terms: vec![number] }),
                }
            }
        }
        for same_first in forms.values_mut() {
            same_first.sort_by_key(|form| std::cmp::Reverse(form.segments.len()));
        }
        Self { terms, forms }
    }

    /// Returns a term by the number in a [`Mention`].
    pub fn term(&self, number: usize) -> Option<&Term> {
        self.terms.get(number)
    }

    /// Whether the vocabulary has no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the mentions of terms in a text, ascending and disjoint.
    pub fn mentions(&self, text: &str) -> Vec<Mention> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let segments = segments(text);
        let mut mentions = Vec::new();
        let mut rest = segments.as_slice();
        while let [(first, _), after_first @ ..] = rest {
            let Some(form) = self.longest_form(rest) else {
                rest = after_first;
                continue;
            };
            let (mentioned, after) = rest.split_at(form.segments.len());
            let end = mentioned.last().map_or(first.end, |(last, _)| last.end);
            mentions.push(Mention { range: first.start..end, terms: form.terms.clone() });
            rest = after;
        }
        mentions
    }

    /// Returns the longest form with which these segments begin.
    fn longest_form(&self, segments: &[Segment]) -> Option<&SurfaceForm> {
        let (_, first) = segments.first()?;
        self.forms.get(first)?.iter().find(|form| form.begins(segments))
    }

    /// Returns the other surface forms of mentioned terms, for [`Query::synonyms`](crate::Query::synonyms).
    pub fn synonyms(&self, text: &str, mentions: &[Mention]) -> Vec<Synonyms> {
        let mut all = Vec::new();
        for mention in mentions {
            let written = surface_key(&text[mention.range.clone()]);
            let mut forms = Vec::new();
            for number in &mention.terms {
                let Some(term) = self.term(*number) else { continue };
                let surfaces = std::iter::once(&term.term).chain(&term.aliases);
                forms.extend(surfaces.filter(|form| surface_key(form) != written).cloned());
            }
            if !forms.is_empty() {
                all.push(Synonyms { range: mention.range.clone(), forms });
            }
        }
        all
    }
}

impl SurfaceForm {
    /// Whether these segments begin with the form.
    fn begins(&self, segments: &[Segment]) -> bool {
        let Some(start) = segments.get(..self.segments.len()) else { return false };
        start.iter().map(|(_, text)| text).eq(&self.segments)
    }
}

/// Folds a surface form to the key by which forms are compared: without case and accents, with single spaces.
pub fn surface_key(form: &str) -> String {
    segments(form).into_iter().map(|(_, text)| text).collect()
}

/// A byte range of a text and its folded content: a word, the characters between two words, or one space.
type Segment = (Range<usize>, String);

/// Splits a text into segments. Leading and trailing white space is removed, and other white space becomes one space.
fn segments(text: &str) -> Vec<Segment> {
    let mut found: Vec<Segment> = Vec::new();
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
    fn the_longest_form_of_whole_words_counts_whatever_its_case_and_accents() {
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
            // A combining mark without its letter is not a word.
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
