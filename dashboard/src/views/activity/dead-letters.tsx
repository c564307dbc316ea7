// Dead letters: writes that failed permanently. They are retried, one or all, or dropped after a confirmation.

import { useState } from "preact/hooks";
import { call, type ApiError, type Schemas } from "../../api";
import { Card, Table, Time, confirmAction, formatNumber, toast, toastError, type Column } from "../../parts";
import { session } from "../../session";
import type { Queue } from "./index";
import { WriteLink } from "./write-details";

type DeadLetter = Schemas["DeadLetter"];

/** Dead letters in a page while all are retried. */
const PAGE_SIZE = 1000;

export function DeadLetters({ queue, reload }: { queue: Queue; reload: () => void }) {
    const [busy, setBusy] = useState<string | null>(null);
    const letters = queue.dead_letters;
    if (letters.length === 0 && !busy) return null;
    // The server lets only sessions change dead letters.
    const canChange = session.value?.kind === "jwt";

    async function retry(letter: DeadLetter): Promise<void> {
        setBusy(letter.id);
        const error = await retryLetter(letter.id);
        setBusy(null);
        if (error) toastError(error.message);
        else toast("Back in the queue");
        reload();
    }
    async function drop(letter: DeadLetter): Promise<void> {
        const text = "The content of the write is lost permanently.";
        if (!(await confirmAction({ title: "Drop this write?", text, action: "Drop" }))) return;
        const result = await call("delete", "/v1/dead-letters/{id}", { path: { id: letter.id } });
        if (result.ok) toast("Dropped");
        else toastError(result.error.message);
        reload();
    }
    async function retryAll(): Promise<void> {
        setBusy("Retrying …");
        const { retried, error } = await retryLetters((count) => setBusy(`Retried ${formatNumber(count)} …`));
        setBusy(null);
        if (error) toastError(`${formatNumber(retried)} are back in the queue, then: ${error.message}`);
        else toast(`${formatNumber(retried)} ${retried === 1 ? "write is" : "writes are"} back in the queue`);
        reload();
    }

    const actions: Column<DeadLetter> = {
        title: "Actions",
        cell: (letter) => (
            <div class="row nowrap">
                <button
                    type="button"
                    aria-label={`Retry ${letter.id}`}
                    disabled={busy !== null}
                    onClick={() => void retry(letter)}
                >
                    Retry
                </button>
                <button
                    type="button"
                    class="danger"
                    aria-label={`Drop ${letter.id}`}
                    disabled={busy !== null}
                    onClick={() => void drop(letter)}
                >
                    Drop
                </button>
            </div>
        ),
    };
    return (
        <Card title="Dead letters">
            <div class="row">
                <p class="dim">
                    These writes failed permanently and wait here until they are retried or dropped.
                    {queue.next && ` The oldest ${formatNumber(letters.length)} are shown.`}
                    {!canChange && " Sign in with a link to retry or drop them."}
                </p>
                {canChange && (
                    <button type="button" disabled={busy !== null} onClick={() => void retryAll()}>
                        {busy?.startsWith("Retr") ? busy : "Retry all"}
                    </button>
                )}
            </div>
            <Table
                caption="Dead letters"
                columns={canChange ? [...COLUMNS, actions] : COLUMNS}
                rows={letters}
                rowKey={(letter) => letter.id}
            />
        </Card>
    );
}

const COLUMNS: readonly Column<DeadLetter>[] = [
    { title: "Write", cell: (letter) => <WriteLink id={letter.id} /> },
    { title: "Namespace", cell: (letter) => letter.namespace },
    { title: "Accepted", cell: (letter) => <Time at={letter.accepted_at} /> },
    { title: "Failed", cell: (letter) => <Time at={letter.died_at} /> },
    { title: "Attempts", isNumber: true, cell: (letter) => formatNumber(letter.failures) },
    { title: "Reason", cell: (letter) => <span dir="auto">{letter.reason}</span> },
];

/** Puts one dead letter back into the queue. Returns the error of a failure. */
async function retryLetter(id: string): Promise<ApiError | null> {
    const result = await call("post", "/v1/dead-letters/{id}/retry", { path: { id } });
    return result.ok ? null : result.error;
}

/** Retries all dead letters, of all pages. One that is gone already is skipped. Stops at the first other error. */
async function retryLetters(onProgress: (count: number) => void): Promise<{ retried: number; error: ApiError | null }> {
    let retried = 0;
    let after: string | undefined;
    for (;;) {
        const query = after === undefined ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, after };
        const page = await call("get", "/v1/queue", { query });
        if (!page.ok) return { retried, error: page.error };
        for (const letter of page.value.dead_letters) {
            const error = await retryLetter(letter.id);
            if (error && error.status !== 404) return { retried, error };
            if (!error) retried += 1;
            onProgress(retried);
        }
        after = page.value.next;
        if (after === undefined) return { retried, error: null };
    }
}
