//! Variables of the environment.

/// Returns the value of a variable, if it is set and UTF-8.
pub(super) fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
