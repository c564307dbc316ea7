//! Tasks of development: `cargo xtask --help`.

use anyhow::Context;
use clap::Parser;

/// Tasks of development
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Write the generated pages of docs/reference and the error codes of the clients
    Docs,
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Docs => write_docs(),
    }
}

fn write_docs() -> anyhow::Result<()> {
    for page in &xtask::PAGES {
        let path = xtask::root().join(page.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let text = (page.generate)()?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
