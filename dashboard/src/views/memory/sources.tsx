// The messages that a memory was extracted from, and the conversations that they are turns of.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ResponseOf, Schemas } from "../../api";
import { Dialog, Loaded, Skeleton, Time } from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";
import { SenderName } from "../activity/sender";

type Reference = Schemas["MessageReference"];
type Turn = ResponseOf<"get", "/v1/sources/{id}">["messages"][number];

/** Turns that are shown before and after a source. Others are added on request. */
const NEIGHBOURS = 20;

export function Sources({ namespace, sources }: { namespace: string; sources: readonly Reference[] }) {
    return (
        <ul class="sources">
            {sources.map((source) => (
                <li key={`${source.write} ${source.session_id} ${source.message}`}>
                    <Source namespace={namespace} source={source} />
                </li>
            ))}
        </ul>
    );
}

function Source({ namespace, source }: { namespace: string; source: Reference }) {
    const [isShown, setShown] = useState(false);
    const [isOpen, setOpen] = useState(false);
    return (
        <>
            <p>
                <bdi>{source.session_id ?? "no session"}</bdi>, message {source.message}
                {source.said_at && (
                    <span class="dim">
                        {" "}
                        said <Time at={source.said_at} />
                    </span>
                )}
            </p>
            {source.write ? (
                <div class="row">
                    <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
                        {isShown ? "Hide message" : "Show message"}
                    </button>
                    <button type="button" onClick={() => setOpen(true)}>
                        Open the conversation
                    </button>
                </div>
            ) : (
                <p class="dim">The conversation is not kept.</p>
            )}
            {isShown && source.write && <Quote namespace={namespace} write={source.write} message={source.message} />}
            {isOpen && source.write && (
                <Conversation
                    namespace={namespace}
                    source={source}
                    write={source.write}
                    onClose={() => setOpen(false)}
                />
            )}
        </>
    );
}

function useSource(namespace: string, write: string) {
    return useRequest("get", "/v1/sources/{id}", { path: { id: write }, query: { namespace } });
}

function Quote({ namespace, write, message }: { namespace: string; write: string; message: number }) {
    const request = useSource(namespace, write);
    return (
        <Loaded request={request} skeleton={<Skeleton lines={1} />}>
            {({ messages }) => {
                const turn = messages[message];
                if (!turn) return <p class="dim">The conversation has no message {message}.</p>;
                return (
                    <>
                        <blockquote dir="auto">
                            {speakerOf(turn)}: {textOf(turn)}
                        </blockquote>
                        <Sender write={write} />
                    </>
                );
            }}
        </Loaded>
    );
}

/** The sender of the write that brought a message. The server keeps writes for 14 days. */
function Sender({ write }: { write: string }) {
    const request = useRequest("get", "/v1/writes/{id}", { path: { id: write } });
    if (!request.data?.sender) return null;
    return (
        <p class="dim">
            Sender: <SenderName sender={request.data.sender} />
        </p>
    );
}

/** The conversation around a turn, which is marked and in view. */
function Conversation(props: { namespace: string; source: Reference; write: string; onClose: () => void }) {
    const { namespace, source, write, onClose } = props;
    const request = useSource(namespace, write);
    const session = source.session_id;
    // A session may be a conversation of its own, which has its own view.
    const own = useRequest(
        "get",
        "/v1/conversations/{id}",
        session && /^[0-9A-Za-z]+$/.test(session) ? { path: { id: session }, query: { namespace } } : null,
    );
    return (
        <Dialog title={`Conversation ${session ?? ""}`.trim()} class="wide" onClose={onClose}>
            <Loaded request={request} skeleton={<Skeleton lines={4} />}>
                {({ messages }) => <Turns messages={messages} chosen={source.message} />}
            </Loaded>
            <div class="row end">
                {own.data && session && <a href={link.conversation(namespace, session)}>Go to the conversation</a>}
                <button type="button" onClick={onClose}>
                    Close
                </button>
            </div>
        </Dialog>
    );
}

function Turns({ messages, chosen }: { messages: readonly Turn[]; chosen: number }) {
    const [from, setFrom] = useState(Math.max(0, chosen - NEIGHBOURS));
    const [until, setUntil] = useState(Math.min(messages.length, chosen + NEIGHBOURS + 1));
    const turn = useRef<HTMLLIElement>(null);
    useEffect(() => turn.current?.scrollIntoView({ block: "center" }), []);
    return (
        <>
            {from > 0 && (
                <button type="button" onClick={() => setFrom(Math.max(0, from - NEIGHBOURS))}>
                    Show earlier messages
                </button>
            )}
            <ol class="turns" start={from}>
                {messages.slice(from, until).map((message, offset) => {
                    const index = from + offset;
                    const isChosen = index === chosen;
                    return (
                        <li
                            key={index}
                            ref={isChosen ? turn : null}
                            class={isChosen ? "turn chosen" : "turn"}
                            aria-current={isChosen ? "true" : undefined}
                        >
                            <strong>
                                <bdi>{speakerOf(message)}</bdi>
                            </strong>
                            <p dir="auto">{textOf(message)}</p>
                        </li>
                    );
                })}
            </ol>
            {until < messages.length && (
                <button type="button" onClick={() => setUntil(Math.min(messages.length, until + NEIGHBOURS))}>
                    Show later messages
                </button>
            )}
        </>
    );
}

function speakerOf(turn: Turn): string {
    return turn.name ?? turn.role;
}

function textOf({ content }: Turn): string {
    if (typeof content === "string") return content;
    const texts: string[] = [];
    for (const part of content as readonly { text?: string }[]) if (part.text) texts.push(part.text);
    return texts.join("\n");
}
