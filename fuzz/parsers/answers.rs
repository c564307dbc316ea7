//! The search for JSON in the output of a model. No text may break the search, and the found object has the requested
//! field.

use cuebase::model::hosted::chat::{elements_of_cut, object_with};

pub(super) fn enter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(object) = object_with(&text, "operations") {
        assert!(object.get("operations").is_some());
    }
    let _ = elements_of_cut(&text, "operations");
}
