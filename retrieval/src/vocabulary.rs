//! The vocabulary of a namespace: the terms that a text mentions, under any of their surface forms.
//!
//! A form matches whole words. Case and accents are ignored, and a run of white space equals one space. If several
//! forms match at the same position, the longest counts. Word boundaries are Unicode's (UAX #29), so a form may contain
//! punctuation (`C++`), and scripts without spaces work too.

use std::ops::Range;

use cuebase_language::tokenize::fold;
use unicode_segmentation::UnicodeSegmentation;

use crate::surface_forms::SurfaceForms;

/// Most bytes of surface forms that are read for the synonyms of one query. Without this limit, a query that mentions a
/// term again and again would cost the product of its mentions and the term's aliases.
const SYNONYM_BYTES_MAX: usize = 64 << 10;

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
    /// The numbers of the terms with this surface form, ascending; up to 32 terms may share a form.
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
    forms: SurfaceForms,
}

impl Vocabulary {
    /// Creates a vocabulary. The time is linear in the length of all forms.
    pub fn new(terms: Vec<Term>) -> Self {
        let mut forms = SurfaceForms::default();
        for (number, term) in terms.iter().enumerate() {
            for surface in std::iter::once(&term.term).chain(&term.aliases) {
                forms.add(segments(surface).into_iter().map(|(_, text)| text).collect(), number);
            }
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

    /// Returns the mentions of terms in a text, ascending and disjoint. The time is linear in the length of the text,
    /// however many forms begin with the same words.
    pub fn mentions(&self, text: &str) -> Vec<Mention> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let segments = segments(text);
        let numbers: Vec<Option<usize>> = segments.iter().map(|(_, text)| self.forms.number(text)).collect();
        let mut mentions = Vec::new();
        let mut first = 0;
        while first < segments.len() {
            let Some(form) = self.forms.longest(&numbers[first..]) else {
                first += 1;
                continue;
            };
            let end = first + form.segments;
            let (first_range, last_range) = (&segments[first].0, &segments[end - 1].0);
            mentions.push(Mention { range: first_range.start..last_range.end, terms: form.terms.to_vec() });
            first = end;
        }
        mentions
    }

    /// Returns the other surface forms of mentioned terms, for [`Query::synonyms`](crate::Query::synonyms). Stops at
    /// 64 KiB of forms: later mentions have no synonyms then.
    pub fn synonyms(&self, text: &str, mentions: &[Mention]) -> Vec<Synonyms> {
        let mut all = Vec::new();
        let mut bytes = 0;
        for mention in mentions {
            let written = surface_key(&text[mention.range.clone()]);
            let mut forms = Vec::new();
            for form in self.forms_of(mention) {
                bytes += form.len();
                if bytes > SYNONYM_BYTES_MAX {
                    break;
                }
                if surface_key(form) != written {
                    forms.push(form.clone());
                }
            }
            if !forms.is_empty() {
                all.push(Synonyms { range: mention.range.clone(), forms });
            }
            if bytes > SYNONYM_BYTES_MAX {
                break;
            }
        }
        all
    }

    /// Returns all surface forms of the terms of a mention.
    fn forms_of(&self, mention: &Mention) -> impl Iterator<Item = &String> {
        let terms = mention.terms.iter().filter_map(move |number| self.term(*number));
        terms.flat_map(|term| std::iter::once(&term.term).chain(&term.aliases))
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
    use crate::surface_forms::{TERMS_PER_FORM_MAX, lookups};
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

    /// Returns a vocabulary whose terms and aliases all begin with the same words.
    fn same_beginning(terms: usize) -> Vocabulary {
        let mut all = Vec::new();
        for number in 0..terms {
            let aliases: Vec<String> = (0..20).map(|alias| format!("boat {number} porto {alias}")).collect();
            all.push(Term { term: format!("boat {number} porto"), aliases, ..Term::default() });
        }
        Vocabulary::new(all)
    }

    #[test]
    fn doubling_a_vocabulary_with_equal_first_words_doubles_the_lookups_of_its_creation() {
        lookups::take();
        let _ = same_beginning(200);
        let once = lookups::take();
        let _ = same_beginning(400);
        let twice = lookups::take();
        assert!(once >= 200 * 21, "{once} lookups");
        assert_eq!(twice, 2 * once);
    }

    #[test]
    fn the_lookups_of_a_query_do_not_grow_with_the_vocabulary() {
        let text = "is boat 7 porto 3 near boat 150 porto or boat 9999 or boat porto?";
        let mut counts = Vec::new();
        for terms in [200, 400, 800] {
            let vocabulary = same_beginning(terms);
            lookups::take();
            let found = mentioned(&vocabulary, text);
            counts.push(lookups::take());
            assert_eq!(found, [("boat 7 porto 3".to_owned(), vec![7]), ("boat 150 porto".to_owned(), vec![150])]);
        }
        assert_eq!(counts[0], counts[1]);
        assert_eq!(counts[1], counts[2]);
        // One lookup per segment for its number, and a walk of a few segments from each.
        assert!(counts[0] <= 8 * segments(text).len(), "{counts:?}");
    }

    #[test]
    fn a_query_that_repeats_a_form_of_many_terms_has_limited_synonyms() {
        let aliases: Vec<String> = (0..100).map(|alias| format!("alias {alias} {}", "x".repeat(100))).collect();
        let mut terms = vec![Term { term: "k8s".into(), aliases: vec!["kube".into()], ..Term::default() }];
        for number in 0..1000 {
            let aliases = std::iter::once("boat".to_owned()).chain(aliases.iter().cloned()).collect();
            terms.push(Term { term: format!("vessel {number}"), aliases, ..Term::default() });
        }
        let vocabulary = Vocabulary::new(terms);
        let text = format!("k8s {}", "boat ".repeat(1600));
        let mentions = vocabulary.mentions(&text);
        assert_eq!(mentions.len(), 1601);
        assert!(mentions.iter().all(|mention| mention.terms.len() <= TERMS_PER_FORM_MAX));
        let synonyms = vocabulary.synonyms(&text, &mentions);
        assert_eq!(synonyms[0].forms, ["kube"]);
        let bytes: usize = synonyms.iter().flat_map(|part| &part.forms).map(String::len).sum();
        assert!((SYNONYM_BYTES_MAX / 2..=SYNONYM_BYTES_MAX).contains(&bytes), "{bytes} bytes");
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
