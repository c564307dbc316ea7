// The sender of a write: an API key with its name, or a person with a session of the dashboard.

import { href } from "../../router";
import type { Write } from "./poll";

type Sender = NonNullable<Write["sender"]>;

/** The sender of a write. It is unknown for writes of the server itself, and if the dashboard has no session. */
export function SenderName({ sender }: { sender: Sender | null | undefined }) {
    if (!sender) return <span class="dim">not known</span>;
    if (sender.kind === "session") {
        return sender.email ? <bdi>{sender.email}</bdi> : <span>a session of the dashboard</span>;
    }
    return (
        <>
            key{" "}
            <a href={href("keys", null)} title={sender.key}>
                <bdi>{sender.name || sender.key}</bdi>
            </a>
        </>
    );
}
