// What a score was made from: a bar for the log-odds of each part, which begins where the one before it ends.

import { link } from "../../router";
import type { Explanation } from "./params";

const BASE = "without evidence";

interface Step {
    name: string;
    logOdds: number;
    from: number;
    to: number;
}

export function Waterfall(props: { score: number; explanation: Explanation; namespace: string }) {
    const { score, explanation, namespace } = props;
    const { steps, sum, lowest, range } = stack(explanation);
    const percent = (value: number) => `${((value / range) * 100).toFixed(2)}%`;
    const { arms, cue, terms, relation } = explanation;
    return (
        <div class="waterfall">
            {arms.length > 0 && (
                <p class="dim">
                    Found by {arms.map(({ arm, rank }) => (rank ? `${arm} (rank ${rank})` : arm)).join(", ")}.
                </p>
            )}
            {terms.length > 0 && (
                <p class="dim">Words: {terms.map((each) => `${each.term} ${each.bm25.toFixed(1)}`).join(" · ")}</p>
            )}
            {cue?.text && (
                <p class="dim">
                    Nearest cue: <q dir="auto">{cue.text}</q> (cosine {cue.cosine.toFixed(2)})
                </p>
            )}
            {relation && (
                <p class="dim">
                    Reached by “{relation.kind}” from{" "}
                    <a href={link.memory(namespace, relation.from)}>{relation.from}</a>
                </p>
            )}
            <ol>
                {steps.map(({ name, logOdds, from, to }) => (
                    <li key={name}>
                        <span>{name}</span>
                        <span class="steps" aria-hidden="true">
                            <span
                                class={logOdds < 0 ? "lowers" : "raises"}
                                style={{
                                    marginInlineStart: percent(Math.min(from, to) - lowest),
                                    inlineSize: percent(Math.abs(to - from)),
                                }}
                            />
                        </span>
                        <span class="number">{signed(logOdds)}</span>
                    </li>
                ))}
            </ol>
            <p class="dim">
                Log-odds {sum.toFixed(2)}, which is a probability of {score.toFixed(2)}.
            </p>
        </div>
    );
}

/** Stacks the parts in their order. Parts without an effect are left out. */
function stack({ base_log_odds, contributions }: Explanation) {
    const steps: Step[] = [];
    let sum = 0;
    for (const { feature, log_odds } of [{ feature: BASE, log_odds: base_log_odds }, ...contributions]) {
        if (log_odds === 0) continue;
        steps.push({ name: feature.replaceAll("_", " "), logOdds: log_odds, from: sum, to: sum + log_odds });
        sum += log_odds;
    }
    const ends = steps.flatMap((step) => [step.from, step.to]);
    const lowest = Math.min(0, ...ends);
    return { steps, sum, lowest, range: Math.max(0, ...ends) - lowest || 1 };
}

function signed(value: number): string {
    return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}
