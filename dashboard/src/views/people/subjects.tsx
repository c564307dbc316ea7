// The list of subjects, with a filter and the start of a graph.

import { useEffect, useState } from "preact/hooks";
import { Card, Empty, Loaded, PageHeading, Skeleton } from "../../parts";
import { useRequest } from "../../request";
import { link, navigate, setQuery } from "../../router";
import { OtherStarts } from "./graph-find";

/** Subjects in one response of `GET /v1/profile`. */
const SUBJECTS_MAX = 200;

export function Subjects({ namespace, query }: { namespace: string; query: URLSearchParams }) {
    const profile = useRequest("get", "/v1/profile", { query: { namespace } });
    const filter = query.get("find") ?? "";
    return (
        <>
            <PageHeading title="People and things" />
            <Find namespace={namespace} filter={filter} />
            <Loaded request={profile} skeleton={<Skeleton lines={6} />}>
                {({ subject, claims, subjects }) => {
                    const all = claims.length > 0 ? [subject, ...subjects] : subjects;
                    return <List namespace={namespace} subjects={all} filter={filter} />;
                }}
            </Loaded>
            {filter && (
                <Card title="Graphs around memories">
                    <OtherStarts namespace={namespace} q={filter} />
                </Card>
            )}
        </>
    );
}

/** Filters the list, and searches the memories for a start of the graph. */
function Find({ namespace, filter }: { namespace: string; filter: string }) {
    const [text, setText] = useState(filter);
    useEffect(() => setText(filter), [filter]);
    function submit(event: SubmitEvent): void {
        event.preventDefault();
        const isProfile = (event.submitter as HTMLButtonElement | null)?.value === "profile";
        if (isProfile && text.trim()) navigate(link.subject(namespace, text.trim()));
        else setQuery({ find: text.trim() });
    }
    return (
        <form class="card people-find" role="search" onSubmit={submit}>
            <div class="row">
                <input
                    type="search"
                    aria-label="Name"
                    placeholder="Name of a person or thing"
                    autocomplete="off"
                    dir="auto"
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                />
                <button class="primary">Find</button>
                <button value="profile">Open profile</button>
            </div>
        </form>
    );
}

function List({ namespace, subjects, filter }: { namespace: string; subjects: string[]; filter: string }) {
    if (subjects.length === 0) {
        return (
            <Empty title="No people or things yet">
                <p>They appear when memories claim facts, such as “I live in Oslo”.</p>
            </Empty>
        );
    }
    const shown = subjects.filter((subject) => subject.includes(filter.toLowerCase()));
    return (
        <section class="card" aria-label="Subjects">
            <p class="dim" role="status">
                {shown.length === 1 ? "1 subject" : `${shown.length} subjects`}
                {subjects.length >= SUBJECTS_MAX && " of those with the most facts. Open others by their name."}
            </p>
            <ul class="subjects">
                {shown.map((subject) => (
                    <li key={subject}>
                        <a href={link.subject(namespace, subject)}>
                            <span class="initial" aria-hidden="true">
                                {[...subject][0]?.toUpperCase()}
                            </span>
                            <span dir="auto">{subject}</span>
                        </a>
                    </li>
                ))}
            </ul>
        </section>
    );
}
