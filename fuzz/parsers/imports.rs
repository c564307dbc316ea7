//! Exports of other products, notes, and rules for agents, each imported as a dry run by every reader of such files. An
//! import is accepted or refused as invalid, a dry run changes nothing, and the detected format gives the same report as
//! its name.
//!
//! Bundles are inputs of `history`, memory files of `memory_file`, and documents of `documents`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use cuebase::app::App;
use cuebase::config::{Config, setting};
use cuebase::error_codes::ErrorCode;
use cuebase::maintenance::import::format::Format;
use cuebase::maintenance::import::{ImportReport, Options, import};
use cuebase_storage::git::is_bundle;
use cuebase_storage::{AccountId, NamespaceName};

/// Formats of a single file.
const FILE_FORMATS: [Format; 6] =
    [Format::Jsonl, Format::Chatgpt, Format::Claude, Format::Mem0, Format::Zep, Format::Hindsight];
/// The file that is imported in each of them.
const EXPORT: &str = "export.json";
/// A folder of notes, with the note that the input becomes and one that it can link to.
const NOTES: &str = "notes";
const NOTE: &str = "notes/Ida.md";
const OTHER_NOTE: &str = "notes/Places/Oban.md";
/// The folder of a project, with the rules of Claude Code and of Cursor.
const PROJECT: &str = "project";
const CLAUDE_RULES: &str = "project/CLAUDE.md";
const CURSOR_RULES: &str = "project/.cursor/rules/api.mdc";

pub(super) fn enter(bytes: &[u8]) {
    thread_local! {
        static IMPORTER: Importer = Importer::new();
    }
    IMPORTER.with(|importer| importer.import_all(bytes));
}

/// An open data directory, next to the files that are imported into it.
struct Importer {
    app: Arc<App>,
    account: AccountId,
    namespace: NamespaceName,
    folder: tempfile::TempDir,
}

impl Importer {
    fn new() -> Self {
        let folder = super::scratch();
        let data = folder.path().join("data").display().to_string();
        let table = "table".to_owned();
        let options = BTreeMap::from([(setting::general::data.key, data), (setting::model::builtin.key, table)]);
        let config = Config::resolve(&options, |_| None, None).expect("settings");
        let importer = Self {
            app: App::open(&config).expect("opens"),
            account: AccountId::default(),
            namespace: NamespaceName::new("brought").expect("a valid name"),
            folder,
        };
        importer.write(OTHER_NOTE, b"# Oban\n\nThe boat lies there.\n");
        importer
    }

    fn import_all(&self, bytes: &[u8]) {
        self.write(EXPORT, bytes);
        // The export may be detected as a bundle, which this entry point does not read.
        let detected = if is_bundle(&self.path(EXPORT)) { None } else { self.try_import(EXPORT, None) };
        for format in FILE_FORMATS {
            let report = self.try_import(EXPORT, Some(format));
            if let Some(detected) = &detected
                && detected.format == format.name()
            {
                assert_eq!(report.as_ref(), Some(detected));
            }
        }
        self.write(NOTE, bytes);
        self.try_import(NOTES, Some(Format::Notes));
        self.try_import(NOTES, Some(Format::Letta));
        self.write(CLAUDE_RULES, bytes);
        self.write(CURSOR_RULES, bytes);
        self.try_import(PROJECT, Some(Format::Rules));
        let namespace = self.app.inspector.namespace(&self.account, &self.namespace).expect("reads");
        assert!(namespace.is_none(), "a dry run made a namespace");
    }

    /// Imports a file or folder as a dry run. Returns `None` if it is refused.
    fn try_import(&self, name: &str, format: Option<Format>) -> Option<ImportReport> {
        let options = Options { format, dry_run: true, again: false };
        match import(&self.app, &self.account, &self.namespace, &self.path(name), options, &|_| {}) {
            Ok(report) => Some(report),
            Err(error) => {
                assert_eq!(error.response_code(), ErrorCode::InvalidImport, "{format:?}: {error}");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
        fs::write(path, bytes).expect("writes");
    }
}
