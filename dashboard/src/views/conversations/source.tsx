// An ingested conversation: its turns, what each became, and its deletion.

import { call } from "../../api";
import { Loaded, PageHeading, Skeleton, Tag, Tags, confirmAction, formatDay, toast, toastError } from "../../parts";
import { invalidate, useRequest } from "../../request";
import { href, navigate } from "../../router";
import { Reextract } from "./reextract";
import { Outcome, Turns, WriteSummary, useOutcomes } from "./turns";

export function SourcePage({ namespace, id }: { namespace: string; id: string }) {
    const request = useRequest("get", "/v1/sources/{id}", { path: { id }, query: { namespace } });
    const source = request.data;
    const outcomes = useOutcomes(id, source?.extracted);
    const title = source?.occurred_at ? `Conversation of ${formatDay(source.occurred_at)}` : "Conversation";
    const session = source?.session_id ?? "";
    return (
        <>
            <PageHeading title={title}>
                <Reextract namespace={namespace} session={session} />
                <button type="button" class="danger" onClick={() => void remove(namespace, id)}>
                    Delete
                </button>
            </PageHeading>
            <Loaded request={request} skeleton={<Skeleton lines={4} count={3} />}>
                {({ messages, tags = [] }) => (
                    <>
                        <p class="row">
                            <a href={href("conversations", namespace)}>All conversations</a>
                            {session && (
                                <a href={sessionAddress(namespace, session)}>
                                    <Tag>
                                        session <bdi>{session}</bdi>
                                    </Tag>
                                </a>
                            )}
                            <Tags values={tags} />
                            <code>{id}</code>
                        </p>
                        <Turns
                            turns={messages.map((message, index) => ({
                                key: String(index),
                                role: message.role,
                                name: message.name,
                                content: message.content,
                                at: message.occurred_at,
                                outcome: <Outcome namespace={namespace} outcomes={outcomes} index={index} />,
                            }))}
                        />
                        <WriteSummary namespace={namespace} outcomes={outcomes} />
                    </>
                )}
            </Loaded>
        </>
    );
}

export function sessionAddress(namespace: string, session: string): string {
    return href("conversations", namespace, "", new URLSearchParams({ session }));
}

async function remove(namespace: string, id: string): Promise<void> {
    const isConfirmed = await confirmAction({
        title: "Delete this conversation?",
        text: "Its messages are deleted and cannot be restored. Memories extracted from it stay.",
        action: "Delete",
    });
    if (!isConfirmed) return;
    const result = await call("delete", "/v1/sources/{id}", { path: { id }, query: { namespace } });
    if (!result.ok) return toastError(result.error.message);
    // The deleted conversation is left before its data is dropped, so that it is not requested again.
    navigate(href("conversations", namespace), true);
    invalidate();
    toast("The conversation is deleted");
}
