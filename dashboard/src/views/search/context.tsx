// The context for a prompt: the text exactly as an agent gets it, its size, and the memories that it is made from.

import {
    CopyButton,
    Empty,
    Field,
    Loaded,
    Skeleton,
    formatNumber,
    type CodeRequest,
    type FieldProps,
} from "../../parts";
import { useRequest } from "../../request";
import { link, setQuery } from "../../router";
import type { ResponseOf } from "../../api";
import type { Filters } from "./params";

/** Bounds and default of the most tokens of a context. */
const BUDGET_MAX = 32_000;
const BUDGET_DEFAULT = 1500;

type Found = ResponseOf<"get", "/v1/context">;

/** Reads the most tokens of the context from the address. */
export function readBudget(query: URLSearchParams): number {
    const budget = Number.parseInt(query.get("max_tokens") ?? "", 10);
    return budget >= 1 && budget <= BUDGET_MAX ? budget : BUDGET_DEFAULT;
}

interface ContextProps {
    namespace: string;
    q: string;
    filters: Filters;
    budget: number;
}

export function Context({ namespace, q, filters, budget }: ContextProps) {
    const query = { namespace: [namespace], q, ...filters, max_tokens: budget };
    const result = useRequest("get", "/v1/context", { query });
    return (
        <section class="card" aria-label="Context" aria-live="polite">
            <h2>Context for this prompt</h2>
            <p class="dim">
                An agent gets exactly this text from <code>GET /v1/context</code>, with the same prompt and filters. The
                tool <code>memory_context</code> returns it, too.
            </p>
            <Budget budget={budget} />
            <Loaded request={result} skeleton={<Skeleton lines={6} />}>
                {(found) => <Text found={found} namespace={namespace} budget={budget} />}
            </Loaded>
        </section>
    );
}

function Budget({ budget }: { budget: number }) {
    function apply(input: HTMLInputElement): void {
        if (!input.reportValidity()) return;
        setQuery({ max_tokens: Number(input.value) === BUDGET_DEFAULT ? null : input.value });
    }
    return (
        <div class="row">
            <Field
                label="Most tokens"
                hint={`1 to ${formatNumber(BUDGET_MAX)}, default ${formatNumber(BUDGET_DEFAULT)}`}
            >
                {(field: FieldProps) => (
                    <input
                        {...field}
                        type="number"
                        min="1"
                        max={BUDGET_MAX}
                        step="1"
                        required
                        value={budget}
                        onChange={(event) => apply(event.currentTarget)}
                    />
                )}
            </Field>
        </div>
    );
}

function Text({ found, namespace, budget }: { found: Found; namespace: string; budget: number }) {
    if (!found.text) {
        return (
            <Empty title="The context is empty">
                <p>No memory is relevant enough, so the agent gets nothing. Look at the hits, or ask why not.</p>
                <button type="button" onClick={() => setQuery({ mode: null })}>
                    Show the hits
                </button>
            </Empty>
        );
    }
    return (
        <>
            <div class="row">
                <p role="status">
                    {formatNumber(found.tokens)} of {formatNumber(budget)} tokens
                </p>
                <CopyButton text={found.text} label="Copy the context" />
            </div>
            <pre class="context-text" tabIndex={0} dir="auto" aria-label="Text of the context">
                {found.text}
            </pre>
            <h3>Made from</h3>
            <ol>
                {found.citations.map(({ path, section, score }) => (
                    <li key={path}>
                        <a href={link.memory(namespace, path)}>{path}</a>
                        {section && (
                            <>
                                , section <bdi>{section}</bdi>
                            </>
                        )}{" "}
                        <span class="dim">score {score.toFixed(2)}</span>
                    </li>
                ))}
            </ol>
        </>
    );
}

/** Returns the request of the context, to be copied as code. */
export function contextCode(namespace: string, q: string, filters: Filters, budget: number): CodeRequest {
    const options = { namespace, ...filters, max_tokens: budget };
    return {
        method: "get",
        path: "/v1/context",
        query: { q, ...options },
        client: { method: "context", positional: [q], options },
    };
}
