//! The error codes as constants of the Python and TypeScript clients.

use cuebase::error_codes::ErrorCode;

use super::COMMAND;

/// Returns the module of the Python client.
///
/// # Errors
///
/// None today; the signature is that of every page.
pub fn python() -> anyhow::Result<String> {
    let mut module = format!(
        "\"\"\"Error codes of the service, to compare with `CuebaseError.code`.\n\n\
         Generated from the code of the service: `{COMMAND}`.\n\"\"\"\n\n\
         from typing import Final\n\n"
    );
    for code in ErrorCode::ALL {
        let name = code.as_str().to_uppercase();
        module.push_str(&format!("{name}: Final = \"{code}\"\n\"\"\"{}\"\"\"\n", code.meaning()));
    }
    Ok(module)
}

/// Returns the module of the TypeScript client.
///
/// # Errors
///
/// None today; the signature is that of every page.
pub fn typescript() -> anyhow::Result<String> {
    let mut module = format!(
        "/** Error codes of the service. Generated from its code: `{COMMAND}`. */\n\n\
         /** The error codes, to compare with the `code` of a `CuebaseError`. */\n\
         export const ErrorCode = {{\n"
    );
    for code in ErrorCode::ALL {
        module.push_str(&format!("  /** {} */\n  {code:?}: \"{code}\",\n", code.meaning()));
    }
    module.push_str(
        "} as const;\n\n\
         /** An error code of the service. A newer service may have others. */\n\
         export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];\n",
    );
    Ok(module)
}
