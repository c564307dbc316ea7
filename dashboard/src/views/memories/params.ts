// The state of the list, which is the query of the address: filters, order and page. The path after the view's name is a
// directory, which the list is limited to.

import type { Schemas } from "../../api";
import { splitBy } from "../../parts";

export const TIERS = ["facts", "incidents", "rules", "skills"] as const;
export const TIME_FIELDS = ["updated", "occurred", "created"] as const;
export type TimeField = (typeof TIME_FIELDS)[number];

/** What a time field means, as a verb that follows "memories by the day they …". */
export const TIME_NAMES: Record<TimeField, string> = {
  updated: "changed",
  occurred: "happened",
  created: "were first written",
};

export const ORDERS = ["newest", "oldest", "title"] as const;
export type Order = (typeof ORDERS)[number];

/** Directory of the tier `facts` that has one directory for each document. */
export const DOCUMENTS = "facts/documents";

/** Parameters of the address that are filters. */
export const FILTERS = ["tiers", "topic", "document", "month", "tags", "current", "day"] as const;

/** The hint of the field for cues. */
export const CUES_HINT = "questions that should find this memory, one per line";

/** Filters of a listing, as the API takes them. */
export interface ListingFilters {
  tiers?: Schemas["Tier"][];
  paths?: string[];
  tags?: string[];
  since?: string;
  until?: string;
  time_field: TimeField;
  timezone?: Schemas["QueryZone"];
  current: "only" | "any";
}

export interface ListState {
  directory: string;
  tiers: Schemas["Tier"][];
  topic: string;
  document: string;
  /** A month such as `2026-05`; empty without a filter. */
  month: string;
  /** A day such as `2026-05-20`; empty without a filter. */
  day: string;
  tags: string[];
  isCurrentOnly: boolean;
  field: TimeField;
  order: Order;
  /** The page of the list, from 1. */
  page: number;
  isTimeline: boolean;
}

/** Reads the state from the address. Values that are not valid are ignored, as in an address that someone edited. */
export function readState(directory: string, query: URLSearchParams): ListState {
  const text = (name: string) => query.get(name)?.trim() ?? "";
  const month = text("month");
  const day = text("day");
  return {
    directory,
    tiers: TIERS.filter((tier) => splitBy(text("tiers"), ",").includes(tier)),
    topic: text("topic"),
    document: text("document"),
    month: /^\d{4}-(0[1-9]|1[0-2])$/.test(month) ? month : "",
    day: isDay(day) ? day : "",
    tags: splitBy(text("tags"), ","),
    isCurrentOnly: text("current") === "only",
    field: TIME_FIELDS.find((field) => field === text("by")) ?? "updated",
    order: ORDERS.find((order) => order === text("order")) ?? "newest",
    page: Math.max(1, Number.parseInt(text("page"), 10) || 1),
    isTimeline: text("timeline") === "1",
  };
}

/** Returns the filters of the listing. `topics` says in which tiers the topic exists. */
export function filtersOf(state: ListState, topics: readonly Schemas["Topic"][]): ListingFilters {
  const { tiers, tags, month, day, field } = state;
  const filters: ListingFilters = { time_field: field, current: state.isCurrentOnly ? "only" : "any" };
  const paths = pathsOf(state, topics);
  if (paths.length > 0) filters.paths = paths;
  if (tiers.length > 0) filters.tiers = tiers;
  if (tags.length > 0) filters.tags = tags;
  const since = day || (month && `${month}-01`);
  if (since) {
    filters.since = since;
    filters.until = day || lastDayOf(month);
    filters.timezone = localTimezone() as Schemas["QueryZone"];
  }
  return filters;
}

function pathsOf(state: ListState, topics: readonly Schemas["Topic"][]): string[] {
  if (state.directory) return [state.directory];
  if (state.document) return [`${DOCUMENTS}/${state.document}`];
  if (!state.topic) return [];
  const paths: string[] = [];
  for (const { tier, topic } of topics) if (topic === state.topic) paths.push(`${tier}/${topic}`);
  // A topic that does not exist has no memories, and is not the same as no filter.
  return paths.length > 0 ? paths : [`facts/${state.topic}`];
}

/** Returns the last day of a month such as `2026-05`. */
export function lastDayOf(month: string): string {
  const [year = 0, number = 0] = month.split("-").map(Number);
  return `${month}-${String(new Date(Date.UTC(year, number, 0)).getUTCDate()).padStart(2, "0")}`;
}

function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(new Date(`${text}T00:00:00Z`).getTime());
}

export function localTimezone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the time of a memory that a listing is sorted by. */
export function timeOf(memory: Schemas["Hit"], field: TimeField): string | null {
  if (field === "occurred") return memory.occurred_at;
  return field === "created" ? memory.created_at : memory.updated_at;
}

/** Returns the local day of a time, as `2026-05-20`. */
export function dayOf(time: string): string {
  const at = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
