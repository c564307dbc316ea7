// A hit: the memory as rendered markdown with its matched words, and on request the parts of its score and its facts.

import { useState } from "preact/hooks";
import {
    Bar,
    Day,
    FactHistory,
    Loaded,
    Markdown,
    MarkedText,
    Skeleton,
    Tag,
    Tags,
    Time,
    splitTitle,
} from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";
import type { Hit } from "./params";
import { Waterfall } from "./waterfall";

/** Characters beyond which a memory is folded. */
const FOLD_CHARACTERS = 700;

export function HitCard(props: { hit: Hit; rank: number; namespace: string; isScored: boolean }) {
    const { hit, rank, namespace, isScored } = props;
    const { title, body } = splitTitle(hit.content, hit.path);
    const words = (hit.explanation?.terms ?? []).map((match) => match.term);
    return (
        <article class="card hit" aria-label={`Hit ${rank}: ${title}`}>
            <header>
                <h2 dir="auto">
                    <a href={link.memory(namespace, hit.path)}>
                        <MarkedText text={title} words={words} />
                    </a>
                </h2>
                {isScored && (
                    <div class="score">
                        <Bar share={hit.score} label={`score ${hit.score.toFixed(2)}`} />
                        <strong>{hit.score.toFixed(2)}</strong>
                    </div>
                )}
            </header>
            <Body text={body} hit={hit} namespace={namespace} words={words} />
            <Facts hit={hit} namespace={namespace} />
            <div class="disclosures">
                {hit.explanation && (
                    <details>
                        <summary>Why this score?</summary>
                        <Waterfall score={hit.score} explanation={hit.explanation} namespace={namespace} />
                    </details>
                )}
                <History namespace={namespace} path={hit.path} />
            </div>
        </article>
    );
}

/** The content. A long memory is folded, so that the hits below it stay in view. */
function Body(props: { text: string; hit: Hit; namespace: string; words: readonly string[] }) {
    const { text, hit, namespace, words } = props;
    const isLong = text.length > FOLD_CHARACTERS;
    const [isFolded, setFolded] = useState(isLong);
    // Only what is shown is rendered.
    const shown = isFolded ? `${text.slice(0, FOLD_CHARACTERS)}…` : text;
    return (
        <>
            <Markdown text={shown} namespace={namespace} path={hit.path} words={words} />
            {isLong && (
                <button type="button" class="fold" aria-expanded={!isFolded} onClick={() => setFolded(!isFolded)}>
                    {isFolded ? "Show all" : "Show less"}
                </button>
            )}
        </>
    );
}

/** The path, times, tags, and how the memory was found. */
function Facts({ hit, namespace }: { hit: Hit; namespace: string }) {
    return (
        <p class="facts-line dim">
            {!hit.current && <Tag tone="warn">no longer holds</Tag>}
            <Tags values={hit.tags} />
            {hit.occurred_at && (
                <span>
                    happened <Day at={hit.occurred_at} />
                </span>
            )}
            <span>
                changed <Time at={hit.updated_at} />
            </span>
            {hit.matched.length > 0 && <span>found by {hit.matched.join(", ")}</span>}
            {hit.via && (
                <span>
                    related to <a href={link.memory(namespace, hit.via)}>{hit.via}</a>
                </span>
            )}
            {hit.also.length > 0 && <span>also said in {hit.also.length} more</span>}
            <code>{hit.path}</code>
        </p>
    );
}

/** The values over time of the facts that the memory claims, loaded when they are opened. */
function History({ namespace, path }: { namespace: string; path: string }) {
    const [isOpen, setOpen] = useState(false);
    const result = useRequest("get", "/v1/timeline", isOpen ? { query: { namespace, path } } : null);
    return (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>History of its facts</summary>
            {isOpen && (
                <Loaded request={result} skeleton={<Skeleton lines={2} />}>
                    {({ timelines }) => (
                        <>
                            {timelines.length === 0 && (
                                <p class="dim">This memory claims no fact that has a history.</p>
                            )}
                            <FactHistory namespace={namespace} path={path} timelines={timelines} />
                        </>
                    )}
                </Loaded>
            )}
        </details>
    );
}
