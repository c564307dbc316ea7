//! Field names by which other products separate users. Cuebase uses namespaces for that.

/// Field names by which other products separate users.
const USER_NAMES: [&str; 7] =
    ["user_id", "agent_id", "run_id", "app_id", "group_id", "container_tag", "container_tags"];

/// Returns whether other products separate users by this name, in any spelling.
pub fn separates_users(name: &str) -> bool {
    USER_NAMES.iter().any(|user_name| same_letters(name, user_name))
}

/// Returns whether two names are the same except for case, `_` and `-`, as `userId` and `user_id` are.
pub fn same_letters(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase())
}
