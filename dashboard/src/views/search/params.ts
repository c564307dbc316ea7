// The state of a search, which is the query of the address. Nothing else holds it, so Back and a copied address restore it.

import type { ResponseOf, Schemas } from "../../api";
import { splitBy } from "../../parts";

export type Hit = Schemas["Hit"];
export type Explanation = Schemas["Explanation"];
export type Retrieved = ResponseOf<"get", "/v1/retrieve">;

export const TIERS = ["facts", "incidents", "rules", "skills"] as const;
export const ADMISSIONS = ["all", "recall", "balanced", "strict"] as const;
/** The levels for a context, the default first. */
export const CONTEXT_ADMISSIONS = ["balanced", "all", "recall", "strict"] as const;
export const CURRENCY = ["first", "only", "any"] as const;
export const TIME_FIELDS = ["updated", "occurred", "created"] as const;

/** What a query shows: hits, an answer with the hits below it, or the context for a prompt. */
export const MODES = { hits: "Hits", answer: "Answer", context: "Context" } as const;
export type Mode = keyof typeof MODES;

/** Reads what a query shows. */
export function readMode(query: URLSearchParams): Mode {
  const mode = query.get("mode");
  return mode === "answer" || mode === "context" ? mode : "hits";
}

/** Filters of a search, as the API takes them. */
export type Filters = {
  tiers?: Schemas["Tier"][];
  paths?: string[];
  tags?: string[];
  tags_all?: string[];
  where?: string[];
  since?: string;
  until?: string;
  time_field?: (typeof TIME_FIELDS)[number];
  timezone?: Schemas["QueryZone"];
  as_of?: string;
  current?: (typeof CURRENCY)[number];
  admit?: (typeof ADMISSIONS)[number];
  min_score?: number;
  limit?: number;
};

/** Names of the parameters that are filters. */
export const FILTERS = [
  "tiers",
  "paths",
  "tags",
  "tags_all",
  "where",
  "since",
  "until",
  "time_field",
  "timezone",
  "as_of",
  "current",
  "admit",
  "min_score",
  "limit",
] as const satisfies readonly (keyof Filters)[];

const LISTS: readonly string[] = ["tiers", "paths", "tags", "tags_all", "where"];
const NUMBERS: readonly string[] = ["min_score", "limit"];
const TIMES: readonly string[] = ["since", "until", "as_of"];

/** Reads the filters from the query of the address. The server checks their values. */
export function readFilters(query: URLSearchParams): Filters {
  const filters: Record<string, unknown> = {};
  for (const name of FILTERS) {
    const text = query.get(name)?.trim();
    if (!text) continue;
    if (LISTS.includes(name)) filters[name] = splitBy(text, ",");
    else if (NUMBERS.includes(name) && !Number.isNaN(Number(text))) filters[name] = Number(text);
    else filters[name] = text;
  }
  // The days of dates begin in the reader's time zone.
  if (!filters["timezone"] && TIMES.some((name) => name in filters)) filters["timezone"] = localTimezone();
  return filters as Filters;
}

/** Returns whether the filters list memories without a query. The server requires one of these. */
export function canList(filters: Filters): boolean {
  const { tiers, paths, tags, tags_all, where, since, until } = filters;
  return [tiers, paths, tags, tags_all, where, since, until].some((value) => value !== undefined);
}

export function localTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}
