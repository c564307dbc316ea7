// A managed conversation: a tree of messages, of which one branch is shown at a time, with what each message became.

import { useEffect, useState } from "preact/hooks";
import { call, type Result, type Schemas } from "../../api";
import {
    Dialog,
    Empty,
    Field,
    Loaded,
    PageHeading,
    Skeleton,
    confirmAction,
    toast,
    toastError,
    type FieldProps,
} from "../../parts";
import { invalidate, useRequest, type RequestState } from "../../request";
import { href, navigate, setQuery } from "../../router";
import { loadOutcomes, type Outcomes } from "./outcomes";
import { Reextract } from "./reextract";
import { Outcome, Turns, textOf } from "./turns";

/** Writes of a conversation whose outcomes are loaded. */
const WRITES_MAX = 40;

type KeptMessage = Schemas["KeptMessage"];

/** Where a message was ingested: the index in the outcomes of a write. */
interface Ingested {
    outcomes: Outcomes;
    index: number;
}

export function Managed({ namespace, id, branch }: { namespace: string; id: string; branch: string | null }) {
    const query = branch ? { branch } : {};
    const request = useRequest("get", "/v1/conversations/{id}", { path: { id }, query });
    const branches = useRequest("get", "/v1/conversations/{id}/branches", { path: { id } });
    const [isNaming, setNaming] = useState(false);
    const shown = request.data;
    return (
        <>
            <PageHeading title={shown ? shown.title || "Untitled" : "Conversation"}>
                <button type="button" disabled={!shown} onClick={() => setNaming(true)}>
                    Title
                </button>
                <Reextract namespace={namespace} session={id} />
                <button type="button" class="danger" onClick={() => void remove(namespace, id)}>
                    Delete
                </button>
            </PageHeading>
            {isNaming && shown && <TitleDialog id={id} title={shown.title} onClose={() => setNaming(false)} />}
            <Loaded request={request} skeleton={<Skeleton lines={4} count={3} />}>
                {(conversation) => (
                    <>
                        <p class="row">
                            <a href={href("conversations", namespace)}>All conversations</a>
                            <code>{id}</code>
                        </p>
                        <BranchChoice id={id} shown={conversation.branch} branches={branches} />
                        <Messages
                            namespace={namespace}
                            id={id}
                            messages={conversation.messages}
                            isActive={isActive(branches, conversation.branch)}
                        />
                    </>
                )}
            </Loaded>
        </>
    );
}

type Branches = RequestState<{ branches: Schemas["Branch"][] }>;

function isActive(branches: Branches, name: string): boolean {
    return branches.data?.branches.find((each) => each.name === name)?.active ?? false;
}

function BranchChoice({ id, shown, branches }: { id: string; shown: string; branches: Branches }) {
    async function activate(): Promise<void> {
        await change(call("patch", "/v1/conversations/{id}", { path: { id }, body: { branch: shown } }));
    }
    return (
        <Loaded request={branches} skeleton={<Skeleton lines={1} />}>
            {({ branches: all }) => (
                <div class="row">
                    <select
                        aria-label="Branch"
                        value={shown}
                        onChange={(event) => setQuery({ branch: event.currentTarget.value })}
                    >
                        {all.map((each) => (
                            <option key={each.name} value={each.name}>
                                {each.name} ({each.messages}){each.active ? ", active" : ""}
                            </option>
                        ))}
                    </select>
                    {!isActive(branches, shown) && (
                        <button type="button" onClick={() => void activate()}>
                            Make active
                        </button>
                    )}
                </div>
            )}
        </Loaded>
    );
}

function Messages(props: { namespace: string; id: string; messages: readonly KeptMessage[]; isActive: boolean }) {
    const { namespace, id, messages, isActive: isRewindable } = props;
    const ingested = useIngested(namespace, id, messages);
    if (messages.length === 0) return <Empty title="No messages yet" />;
    const turns = messages.map((message) => {
        const found = ingested?.get(message.id);
        const outcome = !ingested ? (
            <span class="dim">Loading its memories…</span>
        ) : found ? (
            <Outcome namespace={namespace} outcomes={found.outcomes} index={found.index} />
        ) : (
            <span class="dim">Not known: no kept write has this text.</span>
        );
        return {
            key: message.id,
            role: message.role,
            name: message.name,
            content: message.content,
            at: message.created_at,
            isEdited: message.edited_at !== null,
            outcome,
            actions: isRewindable && (
                <button type="button" onClick={() => void rewind(id, message.id)}>
                    Rewind to here
                </button>
            ),
        };
    });
    return <Turns turns={turns} />;
}

/** Finds the write of each message. The writes of a managed conversation have its id as their session. */
function useIngested(
    namespace: string,
    id: string,
    messages: readonly KeptMessage[],
): ReadonlyMap<string, Ingested> | null {
    const [ingested, setIngested] = useState<ReadonlyMap<string, Ingested> | null>(null);
    const key = messages.map((message) => `${message.id} ${message.edited_at}`).join("\n");
    useEffect(() => {
        const abort = new AbortController();
        void findIngested(namespace, id, messages, abort.signal).then((found) => {
            if (!abort.signal.aborted) setIngested(found);
        });
        return () => abort.abort();
        // The key stands for the messages.
    }, [namespace, id, key]);
    return ingested;
}

/** A kept message does not name its write, so role, name and text identify it. */
async function findIngested(
    namespace: string,
    id: string,
    messages: readonly KeptMessage[],
    signal: AbortSignal,
): Promise<Map<string, Ingested>> {
    const found = new Map<string, Ingested>();
    const query = { namespace, session_id: id, limit: WRITES_MAX };
    const listed = await call("get", "/v1/sources", { query }, signal);
    if (!listed.ok) {
        if (listed.error.code !== "aborted") toastError(listed.error.message);
        return found;
    }
    // Oldest first, in the order of the messages.
    for (const { id: write } of [...listed.value.sources].reverse()) {
        const source = await call("get", "/v1/sources/{id}", { path: { id: write }, query: { namespace } }, signal);
        if (!source.ok) continue;
        const outcomes = await loadOutcomes(write, source.value.extracted, signal);
        source.value.messages.forEach((message, index) => {
            const wanted = identityOf(message);
            const own = messages.find((each) => !found.has(each.id) && identityOf(each) === wanted);
            if (own) found.set(own.id, { outcomes, index });
        });
    }
    return found;
}

/** Sources have the text parts of a message joined, so texts are compared without white space. */
function identityOf(message: { role: string; name?: string; content: Schemas["Content"] }): string {
    return [message.role, message.name ?? "", textOf(message.content).replace(/\s+/g, "")].join("\n");
}

function TitleDialog({ id, title, onClose }: { id: string; title: string; onClose: () => void }) {
    const [text, setText] = useState(title);
    async function save(event: SubmitEvent): Promise<void> {
        event.preventDefault();
        const body = { title: text };
        if (await change(call("patch", "/v1/conversations/{id}", { path: { id }, body }))) onClose();
    }
    return (
        <Dialog title="Title of the conversation" onClose={onClose}>
            <form class="stack" onSubmit={(event) => void save(event)}>
                <Field label="Title">
                    {(field: FieldProps) => (
                        <input
                            {...field}
                            dir="auto"
                            autoFocus
                            value={text}
                            onInput={(event) => setText(event.currentTarget.value)}
                        />
                    )}
                </Field>
                <div class="row end">
                    <button type="button" onClick={onClose}>
                        Cancel
                    </button>
                    <button class="primary">Save</button>
                </div>
            </form>
        </Dialog>
    );
}

async function rewind(id: string, to: string): Promise<void> {
    const isConfirmed = await confirmAction({
        title: "Rewind to this message?",
        text: "Later messages stay on a separate branch.",
        action: "Rewind",
    });
    if (isConfirmed) await change(call("post", "/v1/conversations/{id}/rewind", { path: { id }, body: { to } }));
}

async function remove(namespace: string, id: string): Promise<void> {
    const isConfirmed = await confirmAction({
        title: "Delete this conversation?",
        text: "Its messages are deleted and cannot be restored. Memories extracted from it stay.",
        action: "Delete",
    });
    if (!isConfirmed) return;
    const result = await call("delete", "/v1/conversations/{id}", { path: { id } });
    if (!result.ok) return toastError(result.error.message);
    // The deleted conversation is left before its data is dropped, so that it is not requested again.
    navigate(href("conversations", namespace), true);
    invalidate();
    toast("The conversation is deleted");
}

/** Reloads the data after a change, or shows its error. Returns whether the change succeeded. */
async function change(request: Promise<Result<unknown>>): Promise<boolean> {
    const result = await request;
    if (result.ok) invalidate();
    else toastError(result.error.message);
    return result.ok;
}
