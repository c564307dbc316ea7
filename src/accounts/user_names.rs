//! Names by which other products separate users. Here a namespace does that.

/// Names by which other products separate users.
const USER_NAMES: [&str; 7] =
    ["user_id", "agent_id", "run_id", "app_id", "group_id", "container_tag", "container_tags"];

/// Whether other products separate users by this name, in any spelling.
pub fn separates_users(name: &str) -> bool {
    USER_NAMES.iter().any(|user_name| same_letters(name, user_name))
}

/// Whether two names differ in nothing but case, `_` and `-`: `userId` is `user_id`.
pub fn same_letters(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

fn letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !matches!(byte, b'_' | b'-')).map(|byte| byte.to_ascii_lowercase())
}
