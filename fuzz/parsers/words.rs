//! Short texts with their own syntax: tags, times, time zones, paths, names, slugs and query strings.

use cuebase::api::query::QueryString;
use cuebase::api::retrieve;
use cuebase::memory::file_names::slug;
use cuebase::memory::request::zone;
use cuebase::memory::{tags, time};
use cuebase_storage::NamespaceName;
use cuebase_storage::memory_file::MemoryPath;
use jiff::tz::TimeZone;

pub(super) fn enter(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    // A normalized tag is valid and does not change again.
    if let Ok(normalized) = tags::check_all("tags", text.split(',').map(str::to_owned).collect()) {
        assert_eq!(tags::check_all("tags", normalized.clone()).ok(), Some(normalized));
    }
    let somewhere = zone(text.lines().next().unwrap_or_default()).unwrap_or(TimeZone::UTC);
    for line in text.lines() {
        if let Some(written) = time::parse(line, &somewhere) {
            let _ = (written.since_ms(&somewhere), written.until_ms(&somewhere));
            let moment = written.moment().expect("a parsed time can be stored");
            let printed = moment.at.to_string();
            assert!(time::parse(&printed, &TimeZone::UTC).is_some(), "{printed}");
        }
    }
    if let Ok(path) = text.parse::<MemoryPath>() {
        assert_eq!(path.as_str().parse::<MemoryPath>().ok().as_ref(), Some(&path));
        assert!(!path.as_str().split('/').any(|part| matches!(part, "" | "." | "..")), "{path:?}");
    }
    if NamespaceName::new(&text).is_some() {
        assert!(!text.contains(['/', '\\', '\0']) && text != "." && text != "..", "{text:?}");
    }
    let made = slug(&text, "memory");
    assert!(made.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{made:?}");
    assert_eq!(slug(&made, "memory"), made);
    let _ = retrieve::request(&QueryString::parse(&text));
}
