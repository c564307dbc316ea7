// The profile of a subject: current facts, their history, a comparison with an earlier day, memories, and the graph.

import { useEffect, useState } from "preact/hooks";
import type { ApiError, Schemas } from "../../api";
import {
    Card,
    CopyAsCode,
    Disclosure,
    Empty,
    ErrorState,
    Field,
    Gradual,
    Loaded,
    PageHeading,
    Period,
    Skeleton,
    Table,
    Tag,
    formatDay,
    type FieldProps,
} from "../../parts";
import { useRequest } from "../../request";
import { href, link, setQuery } from "../../router";
import { loadAbout, type AboutMemory } from "./about";
import { EntityGraph } from "./graph";
import { subjectNode } from "./graph-data";

type Claim = Schemas["ProfileClaim"];

/** Values of an attribute that are shown at a time. A response has up to 1,000 claims. */
const VALUES_STEP = 20;
/** Memories that are shown at a time. */
const MEMORIES_STEP = 50;

export function Profile({ namespace, subject, query }: { namespace: string; subject: string; query: URLSearchParams }) {
    const asOf = query.get("as_of") ?? "";
    const profile = useRequest("get", "/v1/profile", { query: { namespace, subject } });
    return (
        <>
            <PageHeading title={profile.data?.subject || subject}>
                <CopyAsCode request={codeOf(namespace, subject, asOf)} />
                <a class="button" href={href("people", namespace)}>
                    All people and things
                </a>
            </PageHeading>
            <Loaded request={profile} skeleton={<Skeleton lines={5} count={2} />}>
                {({ subject: folded, claims }) => (
                    <>
                        <AsOf asOf={asOf} />
                        {asOf && <Comparison namespace={namespace} subject={folded} asOf={asOf} now={claims} />}
                        <Facts namespace={namespace} claims={claims} />
                        <Memories namespace={namespace} subject={folded} claims={claims} />
                        <Card title="Graph">
                            <EntityGraph namespace={namespace} centre={subjectNode(folded)} />
                        </Card>
                    </>
                )}
            </Loaded>
        </>
    );
}

function AsOf({ asOf }: { asOf: string }) {
    return (
        <form class="row" onSubmit={(event) => event.preventDefault()}>
            <Field label="Compare with" hint="what was known and held on that day">
                {(field: FieldProps) => (
                    <input
                        {...field}
                        type="date"
                        value={asOf}
                        onChange={(event) => setQuery({ as_of: event.currentTarget.value })}
                    />
                )}
            </Field>
        </form>
    );
}

/** The facts of an earlier day next to those of now. */
function Comparison(props: { namespace: string; subject: string; asOf: string; now: readonly Claim[] }) {
    const { namespace, subject, asOf, now } = props;
    // The day begins in the reader's time zone. The type lists examples of zones only.
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone as Schemas["QueryZone"];
    const then = useRequest("get", "/v1/profile", { query: { namespace, subject, as_of: asOf, timezone } });
    return (
        <Card title={`Facts on ${formatDay(asOf)} and now`}>
            <Loaded request={then} skeleton={<Skeleton lines={3} />}>
                {({ claims }) => {
                    const before = currentValues(claims);
                    const after = currentValues(now);
                    const attributes = [...new Set([...before.keys(), ...after.keys()])].sort();
                    if (attributes.length === 0) return <Empty title="No facts on that day, and none now" />;
                    const cell = (values: ReadonlyMap<string, string>) => (attribute: string) =>
                        values.has(attribute) ? <bdi>{values.get(attribute)}</bdi> : <span class="dim">unknown</span>;
                    return (
                        <Table
                            caption={`Facts on ${formatDay(asOf)} and now`}
                            rows={attributes}
                            rowKey={String}
                            columns={[
                                { title: "Attribute", cell: (attribute) => <bdi>{attribute}</bdi> },
                                { title: formatDay(asOf), cell: cell(before) },
                                { title: "Now", cell: cell(after) },
                                {
                                    title: "Changed",
                                    cell: (attribute) =>
                                        before.get(attribute) !== after.get(attribute) && (
                                            <Tag tone="warn">changed</Tag>
                                        ),
                                },
                            ]}
                        />
                    );
                }}
            </Loaded>
        </Card>
    );
}

/** Returns the current values of each attribute, joined. */
function currentValues(claims: readonly Claim[]): Map<string, string> {
    const values = new Map<string, string>();
    for (const { attribute, value, current } of claims) {
        if (!current) continue;
        const known = values.get(attribute);
        values.set(attribute, known ? `${known}, ${value}` : value);
    }
    return values;
}

function Facts({ namespace, claims }: { namespace: string; claims: readonly Claim[] }) {
    const groups = new Map<string, Claim[]>();
    for (const claim of claims) {
        const group = groups.get(claim.attribute);
        if (group) group.push(claim);
        else groups.set(claim.attribute, [claim]);
    }
    if (groups.size === 0) {
        return (
            <Empty title="No facts about this name">
                <p>Memories that name it are listed below.</p>
            </Empty>
        );
    }
    return (
        <Card title="Facts">
            <dl class="claims">
                {[...groups].map(([attribute, values]) => (
                    <div key={attribute}>
                        <dt dir="auto">{attribute}</dt>
                        <dd>
                            <Values namespace={namespace} values={values} />
                        </dd>
                    </div>
                ))}
            </dl>
        </Card>
    );
}

/** The current values of an attribute; the former ones are folded. */
function Values({ namespace, values }: { namespace: string; values: readonly Claim[] }) {
    const current = values.filter((claim) => claim.current);
    const former = values.filter((claim) => !claim.current);
    return (
        <>
            {current.length === 0 && <span class="dim">no current value</span>}
            <Gradual items={current} step={VALUES_STEP} noun="values">
                {(shown) => (
                    <ul class="bare current">
                        {shown.map((claim) => (
                            <Value key={`${claim.value} ${claim.path}`} namespace={namespace} claim={claim} />
                        ))}
                    </ul>
                )}
            </Gradual>
            {former.length > 0 && (
                <Disclosure summary={`History (${former.length} former ${former.length === 1 ? "value" : "values"})`}>
                    {() => (
                        <Gradual items={former} step={VALUES_STEP} noun="values">
                            {(shown) => (
                                <ol class="timeline">
                                    {shown.map((claim, index) => (
                                        <Value key={index} namespace={namespace} claim={claim} />
                                    ))}
                                </ol>
                            )}
                        </Gradual>
                    )}
                </Disclosure>
            )}
        </>
    );
}

function Value({ namespace, claim }: { namespace: string; claim: Claim }) {
    return (
        <li>
            <a href={link.memory(namespace, claim.path)} dir="auto">
                {claim.value}
            </a>{" "}
            <span class="dim">
                <Period from={claim.valid_from} until={claim.valid_until} />
            </span>
        </li>
    );
}

function Memories(props: { namespace: string; subject: string; claims: readonly Claim[] }) {
    const { namespace, subject, claims } = props;
    const [found, setFound] = useState<AboutMemory[] | ApiError | null>(null);
    const [attempt, setAttempt] = useState(0);
    useEffect(() => {
        const abort = new AbortController();
        void loadAbout(namespace, subject, claims, abort.signal).then((result) => {
            if (!abort.signal.aborted) setFound(result.ok ? result.value : result.error);
        });
        return () => abort.abort();
    }, [namespace, subject, claims, attempt]);

    if (!found) return <Skeleton lines={4} />;
    if (!Array.isArray(found)) return <ErrorState error={found} onRetry={() => setAttempt(attempt + 1)} />;
    return (
        <Card title="Memories">
            {found.length === 0 && <p class="dim">No memory names it.</p>}
            <Gradual items={found} step={MEMORIES_STEP} noun="memories">
                {(shown) => (
                    <ul class="bare about">
                        {shown.map((memory) => (
                            <AboutEntry key={memory.path} namespace={namespace} memory={memory} />
                        ))}
                    </ul>
                )}
            </Gradual>
        </Card>
    );
}

function AboutEntry({ namespace, memory }: { namespace: string; memory: AboutMemory }) {
    return (
        <li>
            <a href={link.memory(namespace, memory.path)} dir="auto">
                {memory.title}
            </a>{" "}
            <Tag>{memory.tier}</Tag>{" "}
            <span class="dim" dir="auto">
                {memory.attributes.length > 0 ? memory.attributes.join(", ") : "names it"}
            </span>{" "}
            {!memory.isCurrent && <Tag tone="warn">no longer holds</Tag>}
        </li>
    );
}

function codeOf(namespace: string, subject: string, asOf: string) {
    const options = { namespace, subject, ...(asOf && { as_of: asOf }) };
    const client = { method: "profile", positional: [], options };
    return { method: "get" as const, path: "/v1/profile", query: options, client };
}
