//! What a file is, by its media type and the ending of its name.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::DocumentError;

/// Endings of source code, with the name that a code block has for the language.
const LANGUAGES: [(&str, &str); 62] = [
    ("bash", "bash"),
    ("bat", "bat"),
    ("c", "c"),
    ("cc", "cpp"),
    ("clj", "clojure"),
    ("cpp", "cpp"),
    ("cs", "csharp"),
    ("css", "css"),
    ("cu", "cuda"),
    ("dart", "dart"),
    ("erl", "erlang"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("fs", "fsharp"),
    ("go", "go"),
    ("graphql", "graphql"),
    ("groovy", "groovy"),
    ("h", "c"),
    ("hpp", "cpp"),
    ("hs", "haskell"),
    ("java", "java"),
    ("jl", "julia"),
    ("js", "javascript"),
    ("json", "json"),
    ("jsx", "jsx"),
    ("kt", "kotlin"),
    ("lua", "lua"),
    ("m", "objectivec"),
    ("mjs", "javascript"),
    ("ml", "ocaml"),
    ("nix", "nix"),
    ("php", "php"),
    ("pl", "perl"),
    ("proto", "protobuf"),
    ("ps1", "powershell"),
    ("py", "python"),
    ("r", "r"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("scala", "scala"),
    ("scss", "scss"),
    ("sh", "bash"),
    ("sol", "solidity"),
    ("sql", "sql"),
    ("svelte", "svelte"),
    ("swift", "swift"),
    ("tcl", "tcl"),
    ("tf", "hcl"),
    ("toml", "toml"),
    ("ts", "typescript"),
    ("tsx", "tsx"),
    ("v", "verilog"),
    ("vb", "vbnet"),
    ("vhd", "vhdl"),
    ("vue", "vue"),
    ("xml", "xml"),
    ("xsl", "xml"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("zig", "zig"),
    ("zsh", "bash"),
    ("elm", "elm"),
];
const DOCX: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DocumentKind {
    /// Portable Document Format.
    Pdf,
    /// A document of Word since 2007.
    Docx,
    /// A web page.
    Html,
    /// Markdown, by CommonMark.
    Markdown,
    /// Text in paragraphs.
    PlainText,
    /// A file of a program.
    SourceCode {
        /// Name of the language as a code block has it.
        language: Cow<'static, str>,
    },
}

impl DocumentKind {
    /// Returns the kind of a file. The media type decides, unless it is unspecific or plain text.
    ///
    /// # Errors
    ///
    /// [`DocumentError::UnknownKind`] if neither is known.
    pub fn of(media_type: &str, file_name: Option<&str>) -> Result<Self, DocumentError> {
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let by_name = file_name.and_then(Self::of_name);
        match media_type.as_str() {
            "application/pdf" => Ok(Self::Pdf),
            DOCX => Ok(Self::Docx),
            "text/html" | "application/xhtml+xml" => Ok(Self::Html),
            "text/markdown" | "text/x-markdown" => Ok(Self::Markdown),
            // Any text, such as source code, is sent as plain text.
            "text/plain" => Ok(by_name.unwrap_or(Self::PlainText)),
            // Also types that say nothing about the content, such as that which curl sends by default.
            _ => match by_name {
                Some(kind) => Ok(kind),
                None if media_type.starts_with("text/") => Ok(Self::PlainText),
                None => Err(DocumentError::UnknownKind),
            },
        }
    }

    /// Returns the kind that the ending of a name says. `None` if it says nothing.
    pub fn of_name(file_name: &str) -> Option<Self> {
        let (stem, ending) = file_name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        let ending = ending.to_ascii_lowercase();
        match ending.as_str() {
            "pdf" => return Some(Self::Pdf),
            "docx" => return Some(Self::Docx),
            "html" | "htm" | "xhtml" => return Some(Self::Html),
            "md" | "markdown" | "mdx" => return Some(Self::Markdown),
            "txt" | "text" | "log" | "rst" | "adoc" | "org" | "tex" | "csv" | "tsv" => return Some(Self::PlainText),
            _ => {}
        }
        for (known, language) in LANGUAGES {
            if known == ending {
                return Some(Self::SourceCode { language: Cow::Borrowed(language) });
            }
        }
        None
    }

    /// Returns the name of the kind in errors.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Pdf => "PDF",
            Self::Docx => "DOCX",
            Self::Html => "HTML",
            Self::Markdown => "Markdown",
            Self::PlainText => "plain text",
            Self::SourceCode { .. } => "source code",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_media_type_decides_unless_it_is_unspecific() {
        let kind = |media_type: &str, name: &str| DocumentKind::of(media_type, Some(name)).expect(name);
        let rust = DocumentKind::SourceCode { language: "rust".into() };
        for (media_type, name, expected) in [
            ("application/pdf", "a.txt", DocumentKind::Pdf),
            ("TEXT/HTML; charset=utf-8", "a", DocumentKind::Html),
            ("text/plain", "notes", DocumentKind::PlainText),
            ("text/plain", "main.rs", rust.clone()),
            ("application/x-www-form-urlencoded", "Report.DOCX", DocumentKind::Docx),
            ("application/octet-stream", "a.b.md", DocumentKind::Markdown),
            ("", "main.rs", rust),
            ("text/x-unknown", "a.unknown", DocumentKind::PlainText),
        ] {
            assert_eq!(kind(media_type, name), expected, "{media_type} {name}");
        }
        for (media_type, name) in [("", None), ("image/png", Some("a.png")), ("", Some(".md")), ("", Some("Makefile"))]
        {
            assert!(DocumentKind::of(media_type, name).is_err(), "{media_type} {name:?}");
        }
    }
}
