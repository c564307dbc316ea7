//! The identity of a repository's remote.

/// Ports that a URL may leave out.
const DEFAULT_PORTS: [&str; 4] = ["22", "80", "443", "9418"];

/// Returns host and path of the remote `origin` in a configuration of git, or of the first remote: the same text for each
/// way to write its URL. `None` without a remote, and for a remote that is a relative path.
pub(super) fn identity(config: &str) -> Option<String> {
    identity_of(&remote_url(config)?)
}

/// Returns the URL of the remote `origin` in a configuration, or of the first remote.
fn remote_url(config: &str) -> Option<String> {
    let mut first = None;
    let mut remote = None;
    for line in config.lines() {
        let line = line.trim();
        if line.starts_with('[') {
            remote = remote_name(line);
            continue;
        }
        let (Some(name), Some((key, value))) = (remote, line.split_once('=')) else { continue };
        if !key.trim().eq_ignore_ascii_case("url") {
            continue;
        }
        let url = value.trim().trim_matches('"').to_owned();
        if name == "origin" {
            return Some(url);
        }
        first = first.or(Some(url));
    }
    first
}

/// Returns the name in the header of a remote's section, such as `[remote "origin"]`.
fn remote_name(header: &str) -> Option<&str> {
    let inside = header.strip_prefix("[remote")?.trim_start().strip_prefix('"')?;
    inside.split('"').next()
}

/// Returns host and path of a URL in lower case, without user, default port, `.git` and slashes at the end.
fn identity_of(url: &str) -> Option<String> {
    let (authority, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        None => match url.split_once(':') {
            // `user@host:path`, the short form of ssh.
            Some((host, path)) if !host.contains('/') => (host, path),
            _ if url.starts_with('/') => ("", url),
            _ => return None,
        },
    };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((name, port)) if DEFAULT_PORTS.contains(&port) => name,
        _ => host,
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    if path.is_empty() { None } else { Some(format!("{host}/{path}").to_lowercase()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_url_has_the_same_identity() {
        for url in [
            "git@github.com:acme/widget.git",
            "ssh://git@github.com/acme/widget.git",
            "ssh://git@github.com:22/acme/widget",
            "https://github.com/acme/widget",
            "https://github.com/Acme/Widget.git/",
            "https://ada:secret@github.com:443/acme/widget.git",
            "git://github.com:9418/acme/widget",
        ] {
            assert_eq!(identity_of(url).as_deref(), Some("github.com/acme/widget"), "{url}");
        }
        assert_eq!(identity_of("http://localhost:3000/a/b").as_deref(), Some("localhost:3000/a/b"));
        assert_eq!(identity_of("/srv/git/widget.git").as_deref(), Some("/srv/git/widget"));
        for url in ["../widget", "widget", "https://github.com/", ""] {
            assert_eq!(identity_of(url), None, "{url}");
        }
    }

    #[test]
    fn origin_comes_before_other_remotes() {
        let config = "[remote \"fork\"]\n  url = https://h/fork/x\n[remote \"origin\"]\n  URL = \"https://h/acme/x\"\n";
        assert_eq!(remote_url(config).as_deref(), Some("https://h/acme/x"));
        let config = "[branch \"main\"]\n  remote = fork\n[remote \"fork\"]\n  url = https://h/fork/x\n";
        assert_eq!(remote_url(config).as_deref(), Some("https://h/fork/x"));
        assert_eq!(remote_url("[core]\n\turl = no remote\n"), None);
    }
}
