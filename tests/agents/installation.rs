//! `cuebase install` and `cuebase uninstall` with the files of each agent.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Person, parse, read, text_of, with_input};

/// A file of an agent.
struct AgentFile {
    agent: &'static str,
    scope: &'static str,
    /// The path in the home folder or in the project.
    path: &'static str,
    /// The object that holds the servers.
    table: &'static str,
}

const JSON_FILES: [AgentFile; 11] = [
    AgentFile { agent: "claude-code", scope: "user", path: ".claude.json", table: "mcpServers" },
    AgentFile { agent: "claude-code", scope: "project", path: ".mcp.json", table: "mcpServers" },
    AgentFile { agent: "cursor", scope: "user", path: ".cursor/mcp.json", table: "mcpServers" },
    AgentFile { agent: "cursor", scope: "project", path: ".cursor/mcp.json", table: "mcpServers" },
    AgentFile { agent: "vscode", scope: "user", path: ".config/Code/User/mcp.json", table: "servers" },
    AgentFile { agent: "vscode", scope: "project", path: ".vscode/mcp.json", table: "servers" },
    AgentFile { agent: "windsurf", scope: "user", path: ".codeium/windsurf/mcp_config.json", table: "mcpServers" },
    AgentFile { agent: "gemini-cli", scope: "user", path: ".gemini/settings.json", table: "mcpServers" },
    AgentFile { agent: "gemini-cli", scope: "project", path: ".gemini/settings.json", table: "mcpServers" },
    AgentFile { agent: "opencode", scope: "user", path: ".config/opencode/opencode.json", table: "mcp" },
    AgentFile { agent: "opencode", scope: "project", path: "opencode.json", table: "mcp" },
];

impl AgentFile {
    fn path(&self, person: &Person) -> PathBuf {
        let folder = if self.scope == "user" { person.home() } else { person.project() };
        folder.join(self.path)
    }

    /// Returns a file with settings and a server of the person.
    fn others(&self) -> String {
        let table = format!("    \"{}\": {{", self.table);
        let lines = [
            "{",
            "    // mine",
            "    \"zebra\": true,",
            table.as_str(),
            "        \"other\": {\"command\": \"x\", \"b\": 1, \"a\": 2}",
            "    },",
            "    \"apple\": [1,2]",
            "}",
            "",
        ];
        lines.join("\n")
    }
}

/// Runs `install` or `uninstall`, which must succeed, and returns what it printed.
fn succeed(person: &Person, arguments: &[&str]) -> String {
    let output = person.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text_of(&output.stderr));
    text_of(&output.stdout)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn each_agent_gets_its_server_and_keeps_everything_else() {
    let person = Person::with_data();
    for file in &JSON_FILES {
        let (path, others) = (file.path(&person), file.others());
        let what = format!("{} {}", file.agent, file.scope);
        let install = ["install", file.agent, "--scope", file.scope];
        write(&path, &others);

        let shown = succeed(&person, &[&install[..], &["--dry-run"]].concat());
        assert!(shown.contains(&format!("--- {}", path.display())) && shown.contains("+++ "), "{what}: {shown}");
        assert!(shown.contains("\n+        \"cuebase\": {") && !shown.contains("\n-    // mine"), "{what}: {shown}");
        let refused = person.run(&install);
        let error = text_of(&refused.stderr);
        assert!(refused.status.code() == Some(1) && error.contains("--yes"), "{what}: {error}");
        assert_eq!(text_of(&refused.stdout).lines().next(), shown.lines().next(), "{what}: the diff comes first");
        assert_eq!(read(&path), others, "{what}: nothing is written without consent");

        succeed(&person, &[&install[..], &["--yes"]].concat());
        let installed = read(&path);
        let settings = parse(&installed);
        let mut expected = parse(&others);
        expected[file.table]["cuebase"] = settings[file.table]["cuebase"].clone();
        assert_eq!(settings, expected, "{what}");
        assert!(
            installed.contains("    // mine\n    \"zebra\": true,") && installed.contains("\"b\": 1, \"a\": 2"),
            "{what}"
        );
        let again = succeed(&person, &[&install[..], &["--yes"]].concat());
        assert!(again.contains("Nothing to change") && read(&path) == installed, "{what}: {again}");

        succeed(&person, &["uninstall", file.agent, "--scope", file.scope, "--yes"]);
        assert_eq!(read(&path), others, "{what}: every byte is back");
        let again = succeed(&person, &["uninstall", file.agent, "--scope", file.scope]);
        assert!(again.contains("Nothing to change"), "{what}: {again}");
    }
}

#[test]
fn a_file_that_did_not_exist_is_private_and_is_removed_again() {
    let person = Person::with_data();
    for file in &JSON_FILES {
        let path = file.path(&person);
        let what = format!("{} {}", file.agent, file.scope);
        succeed(&person, &["install", file.agent, "--scope", file.scope, "--yes"]);
        let entry = &parse(&read(&path))[file.table]["cuebase"];
        assert!(entry["command"].is_string() || entry["command"].is_array(), "{what}: {entry}");
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{what}");
        succeed(&person, &["uninstall", file.agent, "--scope", file.scope, "--yes"]);
        assert!(!path.exists(), "{what}");
    }
    assert!(!person.home().join(".claude/settings.json").exists());
}

#[test]
fn codex_gets_a_marked_section() {
    let person = Person::with_data();
    let mine = "model = \"x\" # mine\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    for (scope, path) in [("user", person.home()), ("project", person.project())] {
        let path = path.join(".codex/config.toml");
        write(&path, mine);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("changes the mode");
        succeed(&person, &["install", "codex", "--scope", scope, "--yes"]);
        let installed = read(&path);
        assert!(
            installed.starts_with(mine) && installed.contains("\n[mcp_servers.cuebase]\ncommand = "),
            "{installed}"
        );
        assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o644, "the mode stays");
        let table: toml::Table = installed.parse().expect("TOML");
        let arguments = table["mcp_servers"]["cuebase"]["args"].as_array().expect("a list");
        assert_eq!(arguments[0].as_str(), Some("mcp"));
        assert!(succeed(&person, &["install", "codex", "--scope", scope]).contains("Nothing to change"));

        // Another program adds something, so the former bytes are not what is wanted.
        std::fs::write(&path, format!("{installed}\n[later]\na = 1\n")).expect("writes");
        succeed(&person, &["uninstall", "codex", "--scope", scope, "--yes"]);
        assert_eq!(read(&path), format!("{mine}\n[later]\na = 1\n"));
    }
    let path = person.home().join(".codex/config.toml");
    write(&path, "[mcp_servers.cuebase]\ncommand = \"mine\"\n");
    let refused = person.run(&["install", "codex", "--yes"]);
    let error = text_of(&refused.stderr);
    assert!(!refused.status.success() && error.contains("config.toml") && error.contains("did not write"), "{error}");
}

#[test]
fn claude_code_gets_hooks_next_to_those_of_the_person() {
    let person = Person::with_data();
    let path = person.home().join(".claude/settings.json");
    let lines = [
        "{",
        "  \"model\": \"opus\",",
        "  \"hooks\": {",
        "    \"Stop\": [",
        "      {\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}",
        "    ]",
        "  }",
        "}",
        "",
    ];
    let mine = lines.join("\n");
    write(&path, &mine);
    let shown = succeed(&person, &["install", "claude-code", "--yes"]);
    assert!(shown.contains("--- /dev/null") && shown.contains(".claude.json"), "the servers are a new file: {shown}");
    let settings = parse(&read(&path));
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"] {
        let entries = settings["hooks"][event].as_array().expect("a list");
        let command = entries.last().expect("an entry")["hooks"][0]["command"].as_str().expect("a command");
        assert!(command.contains(" hook ") && command.ends_with("|| true"), "{event}: {command}");
    }
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    assert_eq!(settings["model"], "opus");

    // The tools alone: the hooks go, the server stays.
    succeed(&person, &["install", "claude-code", "--no-hooks", "--yes"]);
    assert_eq!(read(&path), mine);
    assert!(parse(&read(&person.home().join(".claude.json")))["mcpServers"]["cuebase"].is_object());
    succeed(&person, &["install", "claude-code", "--yes"]);
    let changed = read(&path).replace("\"opus\"", "\"sonnet\"");
    std::fs::write(&path, &changed).expect("writes");
    succeed(&person, &["uninstall", "claude-code", "--yes"]);
    assert_eq!(read(&path), mine.replace("\"opus\"", "\"sonnet\""), "a later change of the person stays");
}

#[test]
fn the_entry_of_claude_code_starts_the_tools_and_its_hooks_run() {
    let person = Person::with_data();
    succeed(&person, &["install", "claude-code", "--yes"]);
    let entry = parse(&read(&person.home().join(".claude.json")))["mcpServers"]["cuebase"].clone();
    let mut server = Command::new(entry["command"].as_str().expect("a command"));
    for argument in entry["args"].as_array().expect("a list") {
        server.arg(argument.as_str().expect("a text"));
    }
    server.env_clear().env("HOME", person.home()).current_dir(person.project());
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let answered = with_input(&mut server, format!("{initialize}\n").as_bytes());
    let answer: Value = serde_json::from_slice(&answered.stdout).expect("one response");
    assert!(answer["result"]["serverInfo"].is_object(), "{answer} {}", text_of(&answered.stderr));

    let settings = parse(&read(&person.home().join(".claude/settings.json")));
    let command = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"].as_str().expect("a command");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env_clear().env("HOME", person.home()).current_dir(person.project());
    shell.env("CUEBASE_HOOK_TIMEOUT_MS", "60000");
    let input = json!({"session_id": "s", "cwd": person.project(), "prompt": "Which port?"});
    let ended = with_input(&mut shell, input.to_string().as_bytes());
    assert!(ended.status.success() && ended.stdout.is_empty(), "{}", text_of(&ended.stderr));
    assert!(person.log().contains("user-prompt: no server runs"), "{}", person.log());
}

#[test]
fn the_plugin_has_the_hooks_of_an_installation() {
    let person = Person::with_data();
    succeed(&person, &["install", "claude-code", "--scope", "project", "--yes"]);
    let installed = read(&person.project().join(".claude/settings.json"));
    let data = format!(" --data {}", person.data.display());
    assert!(installed.contains(&data), "{installed}");
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("plugins/claude-code");
    let hooks = parse(&read(&plugin.join("hooks/hooks.json")));
    assert_eq!(parse(&installed.replace(&data, ""))["hooks"], hooks["hooks"]);
    let server = parse(&read(&plugin.join(".mcp.json")))["mcpServers"]["cuebase"].clone();
    let written = read(&person.project().join(".mcp.json"));
    let mut expected = parse(&written)["mcpServers"]["cuebase"].clone();
    expected["args"] = json!(["mcp", "--project"]);
    assert_eq!(server, expected);
    let manifest = parse(&read(&plugin.join(".claude-plugin/plugin.json")));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_server_at_a_url_gets_no_key_into_a_file() {
    let person = Person::new();
    let references = [
        ("claude-code", ".claude.json", "${CUEBASE_KEY}"),
        ("cursor", ".cursor/mcp.json", "${env:CUEBASE_KEY}"),
        ("vscode", ".config/Code/User/mcp.json", "${env:CUEBASE_KEY}"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "${env:CUEBASE_KEY}"),
        ("gemini-cli", ".gemini/settings.json", "\"$CUEBASE_KEY\""),
        ("opencode", ".config/opencode/opencode.json", "{env:CUEBASE_KEY}"),
        ("codex", ".codex/config.toml", "env_vars = [\"CUEBASE_KEY\"]"),
    ];
    for (agent, path, reference) in references {
        let url = ["install", agent, "--yes", "--url", "https://memory.example"];
        let output = person.command(&url).env("CUEBASE_KEY", "svc_live_secret").output().expect("the binary runs");
        assert!(output.status.success(), "{agent}: {}", text_of(&output.stderr));
        let printed = text_of(&output.stdout);
        let installed = read(&person.home().join(path));
        assert!(installed.contains(reference) && installed.contains("https://memory.example"), "{agent}: {installed}");
        assert!(!installed.contains("svc_live_secret") && !printed.contains("svc_live_secret"), "{agent}: {printed}");
        assert!(printed.contains("CUEBASE_KEY") && !printed.contains("--data"), "{agent}: {printed}");

        let file = [&url[..], &["--key-file", "key"]].concat();
        let printed = succeed(&person, &file);
        let installed = read(&person.home().join(path));
        let key_file = person.project().join("key").display().to_string();
        assert!(installed.contains(&key_file) && !installed.contains("CUEBASE_KEY"), "{agent}: {installed} {printed}");
    }
}

#[test]
fn a_file_that_cannot_be_changed_is_named_with_the_line() {
    let person = Person::with_data();
    for (agent, path, text, says) in [
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\"a\" 1}\n}\n", "line 2"),
        ("cursor", ".cursor/mcp.json", "{\n\n  \"mcpServers\": []\n}\n", "line 3"),
        ("cursor", ".cursor/mcp.json", "[]\n", "expected an object"),
        ("codex", ".codex/config.toml", "a = 1\nb = \n", "line 2"),
        ("claude-code", ".claude/settings.json", "{\n  \"hooks\": {\"Stop\": 1}\n}\n", "line 2"),
    ] {
        let path = person.home().join(path);
        write(&path, text);
        let refused = person.run(&["install", agent, "--yes"]);
        let error = text_of(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{text}: {error}");
        assert!(error.contains(&path.display().to_string()) && error.contains(says), "{text}: {error}");
        assert_eq!(read(&path), text);
        assert!(!person.home().join(".claude.json").exists(), "no other file of the agent is written");
    }
    let refused = person.run(&["install", "windsurf", "--scope", "project"]);
    assert!(text_of(&refused.stderr).contains("--scope user"), "{}", text_of(&refused.stderr));
    let missing = Person::new().run(&["install", "cursor", "--yes"]);
    assert!(text_of(&missing.stderr).contains("no data directory"), "{}", text_of(&missing.stderr));
    let wrong = person.run(&["install", "cursor", "--yes", "--url", "memory.example"]);
    assert!(text_of(&wrong.stderr).contains("http://"), "{}", text_of(&wrong.stderr));
}

#[test]
fn a_link_to_a_file_stays_a_link() {
    let person = Person::with_data();
    let (link, target) = (person.home().join(".cursor/mcp.json"), person.home().join("dotfiles/cursor.json"));
    write(&target, "{\"mcpServers\": {}}");
    std::fs::create_dir_all(link.parent().expect("a folder")).expect("creates");
    std::os::unix::fs::symlink(&target, &link).expect("links");
    succeed(&person, &["install", "cursor", "--yes"]);
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(parse(&read(&target))["mcpServers"]["cuebase"].is_object());
    succeed(&person, &["uninstall", "cursor", "--yes"]);
    assert_eq!(read(&target), "{\"mcpServers\": {}}");
}
