// The command that extracts memories again. The API has no route for it, so it is shown to be copied.

import { useState } from "preact/hooks";
import { Dialog, Snippet } from "../../parts";
import { session as signedIn } from "../../session";

/** The account that the command uses without an option. */
const DEFAULT_ACCOUNT = "default";

/** A button that shows the command for a session, or for all sessions of a namespace. */
export function Reextract({ namespace, session }: { namespace: string; session: string }) {
    const [isOpen, setOpen] = useState(false);
    return (
        <>
            <button type="button" onClick={() => setOpen(true)}>
                Extract again
            </button>
            {isOpen && (
                <Dialog title="Extract again" class="wide" onClose={() => setOpen(false)}>
                    <p>
                        Run this on the server's machine, in the folder with its data directory. It extracts the
                        memories of {session ? "this session" : "all sessions of this namespace"} again with the current
                        models. Edited memories stay as they are.
                    </p>
                    <Snippet title="Command" code={commandOf(namespace, session)} />
                    <div class="row end">
                        <button type="button" onClick={() => setOpen(false)}>
                            Close
                        </button>
                    </div>
                </Dialog>
            )}
        </>
    );
}

function commandOf(namespace: string, session: string): string {
    const parts = ["cuebase reextract"];
    const account = signedIn.value?.account;
    if (account && account !== DEFAULT_ACCOUNT) parts.push("--account", quoteShell(account));
    parts.push("--namespace", quoteShell(namespace));
    // With `=`, a session that begins with a dash is not read as an option.
    if (session) parts.push(`--session=${quoteShell(session)}`);
    return parts.join(" ");
}

/** Quotes a word for a shell if it has characters with a meaning there. */
function quoteShell(text: string): string {
    return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
