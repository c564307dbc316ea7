// The page: the sign-in page, or the frame with the current view.

import { useEffect, useState } from "preact/hooks";
import { accountState, loadAccount } from "./account";
import type { Result } from "./api";
import { Frame } from "./frame/frame";
import { DialogHost, Toasts } from "./parts";
import { invalidate } from "./request";
import { session } from "./session";
import { arriveLater } from "./sign-in/proof";
import { SignIn } from "./sign-in/sign-in";

/** `arrival` is the search for a session and the sign-in with the proof in the address; it has no result without one. */
export function App({ arrival }: { arrival: Promise<Result<null> | null> }) {
    const [isArriving, setArriving] = useState(true);
    const [problem, setProblem] = useState<string | null>(null);
    const credential = session.value?.credential;

    useEffect(() => {
        function settle(result: Result<null> | null): void {
            setArriving(false);
            setProblem(!result || result.ok ? null : result.error.message);
        }
        void arrival.then(settle);
        return arriveLater((later) => {
            setArriving(true);
            void later.then(settle);
        });
    }, []);

    useEffect(() => {
        // Nothing of the last account may be shown to the next one.
        invalidate();
        accountState.value = "loading";
        if (credential) void loadAccount();
    }, [credential]);

    return (
        <>
            {/* A link that does not sign in is reported, even if another session is open. */}
            {session.value && !problem ? (
                <Frame />
            ) : isArriving ? null : (
                <SignIn problem={problem} onDone={() => setProblem(null)} />
            )}
            <DialogHost />
            <Toasts />
        </>
    );
}
