//! The mem0 server that `cuebase import` fetches memories from: its URL, its users, and the namespace of each.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use cuebase_storage::NamespaceName;

use super::environment::environment_variable;
use super::progress::Bar;
use crate::maintenance::import::mem0_server::{KEY_VARIABLE, Mem0Server, UserMemories};

/// A user of a mem0 server, as the command line names it.
#[derive(Clone, Debug)]
pub(super) struct UserOption {
    user: String,
    /// The namespace for the memories of the user; `None` for that of the command.
    namespace: Option<NamespaceName>,
}

/// Memories that were fetched, and where they belong.
pub(super) struct FetchedMemories {
    /// The server and the user, for messages.
    pub(super) source: String,
    pub(super) namespace: NamespaceName,
    pub(super) memories: UserMemories,
}

/// Parses `USER` or `USER=NAMESPACE`. A user ID may have an equals sign, so only what follows the last one can be a
/// namespace.
pub(super) fn parse_user(text: &str) -> Result<UserOption, String> {
    let (mut user, mut namespace) = (text, None);
    if let Some((before, after)) = text.rsplit_once('=')
        && let Some(name) = NamespaceName::new(after)
    {
        user = before;
        namespace = Some(name);
    }
    let user = user.trim();
    if user.is_empty() {
        return Err("must be a user ID of mem0, or USER=NAMESPACE".to_owned());
    }
    Ok(UserOption { user: user.to_owned(), namespace })
}

/// Returns the URL of a source that is not a path.
pub(super) fn url(source: &Path) -> Option<&str> {
    let text = source.to_str()?;
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    if is_url { Some(text) } else { None }
}

/// Fetches the memories of users from the server at a URL. Users without a namespace of their own get the default.
///
/// # Errors
///
/// When no user is named, when two users would share a namespace, and when the memories of a user cannot be fetched.
pub(super) fn fetch(url: &str, users: &[UserOption], default: &NamespaceName) -> anyhow::Result<Vec<FetchedMemories>> {
    let key = environment_variable(KEY_VARIABLE).unwrap_or_default();
    // The URL may hold a password, so nothing before this check repeats it.
    let server = Mem0Server::new(url, &key)?;
    ensure!(!users.is_empty(), "{url}: name the users whose memories are imported, such as --user alice");
    check_namespaces(users, default)?;
    let bar = Bar::new()?;
    let mut fetched = Vec::new();
    for UserOption { user, namespace } in users {
        let source = format!("{url} (user {user})");
        let memories = server.fetch(user, &|progress| bar.show(progress)).with_context(|| source.clone())?;
        let namespace = namespace.as_ref().unwrap_or(default).clone();
        fetched.push(FetchedMemories { source, namespace, memories });
    }
    Ok(fetched)
}

/// Checks that no two users share a namespace, which would show each of them what the other one said.
fn check_namespaces(users: &[UserOption], default: &NamespaceName) -> anyhow::Result<()> {
    for (position, option) in users.iter().enumerate() {
        let namespace = option.namespace.as_ref().unwrap_or(default);
        for earlier in users.iter().take(position) {
            if earlier.namespace.as_ref().unwrap_or(default) == namespace {
                bail!(
                    "the users {:?} and {:?} would be mixed in the namespace {namespace}: name a namespace for each, such \
                     as --user {}=NAMESPACE",
                    earlier.user,
                    option.user,
                    option.user
                );
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_follows_the_last_equals_sign() {
        for (text, user, namespace) in [
            ("alice", "alice", None),
            ("alice=notes", "alice", Some("notes")),
            ("team=a=notes", "team=a", Some("notes")),
            // The user ID ends with the padding of base64.
            ("YWxpY2U=", "YWxpY2U=", None),
            (" alice ", "alice", None),
        ] {
            let option = parse_user(text).expect(text);
            assert_eq!((option.user.as_str(), option.namespace), (user, namespace.and_then(NamespaceName::new)));
        }
        assert!(parse_user(" ").is_err());
        assert!(parse_user("=notes").is_err());
    }

    #[test]
    fn only_http_urls_are_servers() {
        assert_eq!(url(Path::new("http://localhost:8888")), Some("http://localhost:8888"));
        assert_eq!(url(Path::new("https.json")), None);
    }
}
