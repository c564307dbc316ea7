//! The generated pages in the tree are what the code gives.

#[test]
fn generated_pages_match_the_code() {
    let mut stale = Vec::new();
    for page in &xtask::PAGES {
        let generated = (page.generate)().expect("the page is generated");
        let written = std::fs::read_to_string(xtask::root().join(page.path)).unwrap_or_default();
        if generated != written {
            stale.push(page.path);
        }
    }
    assert!(stale.is_empty(), "run `{}`: {} are not what the code gives", xtask::COMMAND, stale.join(", "));
}
