// The vocabulary of a namespace: terms with their aliases and definitions, which are taught, edited and forgotten.

import { useEffect, useState } from "preact/hooks";
import { call, checkWrite, type ResponseOf, type Schemas } from "../../api";
import { useCommands } from "../../frame/commands";
import { Card, Empty, Loaded, PageHeading, Table, Tags, createRemovals, type Column } from "../../parts";
import { useRequest } from "../../request";
import { setQuery } from "../../router";
import type { ViewProps } from "..";
import { TermDialog } from "./term-dialog";

type Term = Schemas["Term"];
type Listed = Extract<ResponseOf<"get", "/v1/vocab">, { terms: unknown }>;

const TERMS_MAX = 1000;
/** Longest wait for a change, so that the list shows it. */
const WAIT = "10s";

const removals = createRemovals();

export default function Vocabulary({ namespace, query }: ViewProps) {
    const like = query.get("like") ?? "";
    const request = useRequest("get", "/v1/vocab", { query: { namespace, like, limit: TERMS_MAX } });
    const [edited, setEdited] = useState<Term | "new" | null>(null);
    const terms = (request.data as Listed | undefined)?.terms;
    useEffect(() => {
        if (terms) removals.settle(terms.map((term) => keyOf(namespace, term.term)));
    }, [terms]);
    const create = () => setEdited("new");
    useCommands([{ id: "teach-term", title: "Teach a term", group: "Vocabulary", run: create }], []);

    function finish(term: string): void {
        setEdited(null);
        removals.keep(keyOf(namespace, term));
    }
    return (
        <>
            <PageHeading title="Vocabulary">
                <button type="button" class="primary" onClick={create}>
                    Teach a term
                </button>
            </PageHeading>
            <FindForm like={like} />
            <Loaded request={request}>
                {() => <Terms terms={terms ?? []} namespace={namespace} like={like} onEdit={setEdited} />}
            </Loaded>
            {edited && (
                <TermDialog
                    namespace={namespace}
                    term={edited === "new" ? null : edited}
                    onDone={finish}
                    onClose={() => setEdited(null)}
                />
            )}
        </>
    );
}

function FindForm({ like }: { like: string }) {
    const [text, setText] = useState(like);
    useEffect(() => setText(like), [like]);
    function submit(event: Event): void {
        event.preventDefault();
        setQuery({ like: text.trim() });
    }
    return (
        <form class="row" role="search" onSubmit={submit}>
            <input
                type="search"
                aria-label="Find a term"
                placeholder="Find a term"
                dir="auto"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
            />
            <button>Find</button>
        </form>
    );
}

function Terms(props: { terms: readonly Term[]; namespace: string; like: string; onEdit: (term: Term) => void }) {
    const { namespace, like, onEdit } = props;
    const shown = props.terms.filter((term) => !removals.has(keyOf(namespace, term.term)));
    if (shown.length === 0 && like) return <Empty title="No term like that." />;
    if (shown.length === 0) {
        return (
            <Empty title="No terms yet">
                <p>A term is found under any of its names, and its definition is returned with the hits.</p>
            </Empty>
        );
    }
    const columns: Column<Term>[] = [
        { title: "Term", cell: (term) => <strong dir="auto">{term.term}</strong> },
        { title: "Aliases", cell: (term) => <Tags values={term.aliases} /> },
        { title: "Definition", cell: (term) => <span dir="auto">{term.definition}</span> },
        {
            title: "Actions",
            cell: (term) => (
                <div class="row">
                    <button type="button" aria-label={`Edit ${term.term}`} onClick={() => onEdit(term)}>
                        Edit
                    </button>
                    <button
                        type="button"
                        class="danger"
                        aria-label={`Forget ${term.term}`}
                        onClick={() => forget(namespace, term.term)}
                    >
                        Forget
                    </button>
                </div>
            ),
        },
    ];
    return (
        <Card>
            <Table caption="Terms" columns={columns} rows={shown} rowKey={(term) => term.term} />
            {props.terms.length === TERMS_MAX && (
                <p class="dim">The first {TERMS_MAX} terms are shown. Find others by a part of their name.</p>
            )}
        </Card>
    );
}

function forget(namespace: string, term: string): void {
    const query = { namespace, term: [term], wait: WAIT };
    async function act() {
        return checkWrite(await call("delete", "/v1/vocab", { query }));
    }
    removals.remove(keyOf(namespace, term), `“${term}” is forgotten`, act);
}

function keyOf(namespace: string, term: string): string {
    return `${namespace} ${term}`;
}
