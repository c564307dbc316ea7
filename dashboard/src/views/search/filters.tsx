// The filters of a search. Each change goes to the address at once.

import { createContext } from "preact";
import { useContext, useState } from "preact/hooks";
import { Field, splitBy, type FieldProps } from "../../parts";
import { setQuery as setAddress } from "../../router";
import {
    ADMISSIONS,
    CONTEXT_ADMISSIONS,
    CURRENCY,
    FILTERS,
    TIERS,
    TIME_FIELDS,
    localTimezone,
    readMode,
} from "./params";

type Name = (typeof FILTERS)[number];

/** The function that changes the filters. A comparison has a second set of filters under other names. */
export const FilterTarget = createContext<(changes: Record<string, string | null>) => void>(setAddress);

export function FilterForm({ query }: { query: URLSearchParams }) {
    const setQuery = useContext(FilterTarget);
    const used = FILTERS.filter((name) => query.get(name));
    const [isOpen, setOpen] = useState(used.length > 0);
    const text = (name: Name, label: string, hint: string) => (
        <TextFilter query={query} name={name} label={label} hint={hint} />
    );
    const date = (name: Name, label: string, hint: string) => (
        <TextFilter query={query} name={name} label={label} hint={hint} type="date" />
    );
    return (
        <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>Filters{used.length > 0 && <span class="tag accent">{used.length}</span>}</summary>
            <div class="stack">
                <TierFilter query={query} />
                <div class="fields">
                    {text("paths", "Directories", "comma-separated, such as facts/noor")}
                    {text("tags", "Any of these tags", "comma-separated")}
                    {text("tags_all", "All of these tags", "comma-separated")}
                    {text("where", "Metadata", "such as team:blue, priority>=3")}
                    {date("since", "Since", "first day")}
                    {date("until", "Until", "last day, inclusive")}
                    <ChoiceFilter
                        query={query}
                        name="time_field"
                        label="Time field"
                        values={TIME_FIELDS}
                        hint="what the days mean"
                    />
                    {date("as_of", "As of", "what was known and held on that day")}
                    <ChoiceFilter
                        query={query}
                        name="admit"
                        label="Admission"
                        values={readMode(query) === "context" ? CONTEXT_ADMISSIONS : ADMISSIONS}
                        hint="how strict scores admit hits"
                    />
                    <ChoiceFilter
                        query={query}
                        name="current"
                        label="Superseded"
                        values={CURRENCY}
                        hint="first: behind successors"
                    />
                    {text("timezone", "Time zone", `of the days; yours is ${localTimezone()}`)}
                    <TextFilter
                        query={query}
                        name="min_score"
                        label="Minimum score"
                        hint="0 to 1"
                        type="number"
                        min="0"
                        max="1"
                        step="0.05"
                    />
                    <TextFilter
                        query={query}
                        name="limit"
                        label="Maximum hits"
                        hint="1 to 200, default 24"
                        type="number"
                        min="1"
                        max="200"
                        step="1"
                    />
                </div>
                {used.length > 0 && (
                    <div class="row">
                        <button
                            type="button"
                            onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])))}
                        >
                            Clear the filters
                        </button>
                    </div>
                )}
            </div>
        </details>
    );
}

function TierFilter({ query }: { query: URLSearchParams }) {
    const setQuery = useContext(FilterTarget);
    const chosen = splitBy(query.get("tiers") ?? "", ",");
    function toggle(tier: string, isChosen: boolean): void {
        const next = TIERS.filter((each) => (each === tier ? isChosen : chosen.includes(each)));
        setQuery({ tiers: next.join(",") });
    }
    return (
        <fieldset class="row">
            <legend>Tiers</legend>
            {TIERS.map((tier) => (
                <label key={tier} class="check">
                    <input
                        type="checkbox"
                        checked={chosen.includes(tier)}
                        onChange={(event) => toggle(tier, event.currentTarget.checked)}
                    />
                    {tier}
                </label>
            ))}
        </fieldset>
    );
}

interface FilterProps {
    query: URLSearchParams;
    name: Name;
    label: string;
    hint: string;
}

function TextFilter(
    props: FilterProps & { type?: "text" | "date" | "number"; min?: string; max?: string; step?: string },
) {
    const { query, name, label, hint, type = "text", min, max, step } = props;
    const setQuery = useContext(FilterTarget);
    function apply(input: HTMLInputElement): void {
        if (input.checkValidity()) setQuery({ [name]: input.value.trim() });
        else input.reportValidity();
    }
    const bounds = { ...(min && { min }), ...(max && { max }), ...(step && { step }) };
    return (
        <Field label={label} hint={hint}>
            {(field: FieldProps) => (
                <input
                    {...field}
                    {...bounds}
                    // The types of the attributes differ by the type of the input; those used here have all of them.
                    type={type as "text"}
                    autocomplete="off"
                    value={query.get(name) ?? ""}
                    onChange={(event) => apply(event.currentTarget)}
                />
            )}
        </Field>
    );
}

function ChoiceFilter({ query, name, label, hint, values }: FilterProps & { values: readonly [string, ...string[]] }) {
    const setQuery = useContext(FilterTarget);
    const chosen = query.get(name) ?? values[0];
    return (
        <Field label={label} hint={hint}>
            {(field: FieldProps) => (
                <select
                    {...field}
                    value={chosen}
                    onChange={({ currentTarget: { value } }) =>
                        setQuery({ [name]: value === values[0] ? null : value })
                    }
                >
                    {values.map((value) => (
                        <option key={value} value={value}>
                            {value}
                        </option>
                    ))}
                </select>
            )}
        </Field>
    );
}
