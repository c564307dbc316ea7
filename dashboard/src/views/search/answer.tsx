// The answer to a query, with citations.

import { Empty, Loaded, Skeleton } from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";
import type { Filters } from "./params";

export function Answer({ namespace, q, filters }: { namespace: string; q: string; filters: Filters }) {
    const result = useRequest("post", "/v1/answer", { body: { namespace, q, ...filters } });
    if (result.error?.code === "no_answer") return <Empty title="No memory answers this." />;
    return (
        <section class="card" aria-live="polite">
            <h2>Answer</h2>
            <Loaded request={result} skeleton={<Skeleton lines={2} />}>
                {(found) => (
                    <>
                        <p class="answer" dir="auto">
                            {found.answer}
                        </p>
                        <p class="dim">by {found.model}</p>
                        <h3>Citations</h3>
                        <ol class="quotes">
                            {found.citations.map((citation) => (
                                <li key={citation.path + citation.quote}>
                                    <q dir="auto">{citation.quote}</q>{" "}
                                    <a href={link.memory(namespace, citation.path)}>{citation.path}</a>
                                </li>
                            ))}
                        </ol>
                    </>
                )}
            </Loaded>
        </section>
    );
}
