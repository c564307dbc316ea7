// The sign-in page: a one-time link, an API key, or the external issuer.

import { useEffect, useRef, useState } from "preact/hooks";
import { CopyButton, Field } from "../parts";
import { endReason, session } from "../session";
import { findIssuer, signInWith, startIssuer, type Issuer } from "./proof";

const COMMAND = "cuebase token --link";

export function SignIn({ problem, onDone }: { problem: string | null; onDone: () => void }) {
    const [text, setText] = useState("");
    const [error, setError] = useState<string | null>(problem ?? endReason.value);
    const [isBusy, setBusy] = useState(false);
    const [issuer, setIssuer] = useState<Issuer | null>(null);
    const field = useRef<HTMLInputElement>(null);

    useEffect(() => {
        document.title = "Sign in · Cuebase";
        field.current?.focus();
        void findIssuer().then(setIssuer);
    }, []);
    useEffect(() => setError(problem ?? endReason.value), [problem, endReason.value]);

    async function submit(event: Event): Promise<void> {
        event.preventDefault();
        if (isBusy) return;
        setBusy(true);
        const result = await signInWith(text.trim());
        setBusy(false);
        if (result.ok) onDone();
        else setError(result.error.message);
    }

    return (
        <main id="main" class="gate" tabIndex={-1}>
            <img src="./icon.svg" alt="" width="44" height="44" />
            <h1>Cuebase</h1>
            <p class="dim">Run this on the server's machine. It prints a link that signs you in:</p>
            <div class="command">
                <code>{COMMAND}</code>
                <CopyButton text={COMMAND} />
            </div>
            {issuer && !issuer.unreachable && (
                <button class="primary" onClick={() => void startIssuer(issuer)}>
                    Sign in with {new URL(issuer.issuer).host}
                </button>
            )}
            {issuer?.unreachable && <p class="dim">The configured external issuer cannot be reached right now.</p>}
            <form class="stack" onSubmit={(event) => void submit(event)}>
                <Field
                    label="Or paste the link, its code, or an API key"
                    hint="The dashboard forgets an API key after 12 hours."
                >
                    {(props) => (
                        <input
                            {...props}
                            ref={field}
                            type="password"
                            autocomplete="off"
                            spellcheck={false}
                            required
                            value={text}
                            onInput={(event) => setText(event.currentTarget.value)}
                        />
                    )}
                </Field>
                {error && (
                    <p class="bad" role="alert">
                        {error}
                    </p>
                )}
                <button class="primary">Sign in</button>
                {session.value && (
                    <button type="button" onClick={onDone}>
                        Continue as {session.value.account}
                    </button>
                )}
            </form>
        </main>
    );
}
