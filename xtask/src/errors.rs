//! `docs/reference/errors.md`: every error code of the API.

use cuebase::error_codes::ErrorCode;

/// Returns the page.
///
/// # Errors
///
/// None today; the signature is that of every page.
pub fn page() -> anyhow::Result<String> {
    let mut page = super::heading(
        "Error codes",
        "What each error code of the API means and what to do. An error response is \
         `{\"error\": {\"code\": …, \"message\": …}}`; `GET /v1/retrieve` responds with `{\"error\": code, \"namespace\": …, \
         \"message\": …}`. Branch on the code, not on the message. `401`, `403` from the gateway and `503` above the limit \
         of concurrent requests carry `{\"message\": …}` alone.",
    );
    page.push_str("| code | status | meaning |\n| --- | --- | --- |\n");
    for code in ErrorCode::ALL {
        let meaning = super::cell(code.meaning());
        page.push_str(&format!("| `{code}` | {} | {meaning} |\n", code.status().as_u16()));
    }
    Ok(page)
}
