//! What a model said, searched for its JSON: no text may break the search, and what is found must be what was asked for.

#![no_main]

use cuebase::model::hosted::chat::{elements_of_cut, object_with};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(object) = object_with(text, "operations") {
        assert!(object.get("operations").is_some());
    }
    let _ = elements_of_cut(text, "operations");
});
