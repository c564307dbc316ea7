// The search page without a query: what to ask, and links to the answers of other frequent questions.

import { Empty } from "../../parts";
import { href } from "../../router";

const DAY_MS = 86_400_000;
/** Days of "this week", with today. */
const WEEK_DAYS = 7;
/** Most memories that are listed. */
const LISTED_MAX = 200;

export function Start({ namespace }: { namespace: string }) {
    const activity = (tab: string) => href("activity", namespace, "", new URLSearchParams({ tab }));
    return (
        <Empty title="What should come to mind?">
            <p>Ask in plain words, such as “What is Noor allergic to?”, or open the filters to list memories.</p>
            <nav aria-label="Frequent questions">
                <ul class="bare questions">
                    <li>
                        <a href={changedAddress(namespace, new Date())}>What changed this week?</a>
                    </li>
                    <li>
                        <a href={href("people", namespace)}>What is known about a person or a thing?</a>
                    </li>
                    <li>
                        <a href={activity("writes")}>Who wrote, and what failed?</a>
                    </li>
                    <li>
                        <a href={activity("performance")}>Is it slow?</a>
                    </li>
                    <li>
                        <a href={activity("quality")}>Do the queries find something?</a>
                    </li>
                </ul>
            </nav>
        </Empty>
    );
}

/** Returns the address of the list of memories that changed in the last seven local days. */
function changedAddress(namespace: string, now: Date): string {
    const first = new Date(now.getTime() - (WEEK_DAYS - 1) * DAY_MS);
    const two = (value: number) => String(value).padStart(2, "0");
    const since = `${first.getFullYear()}-${two(first.getMonth() + 1)}-${two(first.getDate())}`;
    return href("search", namespace, "", new URLSearchParams({ since, current: "any", limit: String(LISTED_MAX) }));
}
