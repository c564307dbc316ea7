// Loads a page of the list of memories, and how many memories there are by day and by tag.

import { useRef } from "preact/hooks";
import type { ResponseOf, Schemas } from "../../api";
import { splitTitle } from "../../parts";
import { useRequest, type RequestState } from "../../request";
import { localTimezone, type ListingFilters, type Order } from "./params";

export type Hit = Schemas["Hit"];
type Page = ResponseOf<"get", "/v1/memories">;
type Facets = ResponseOf<"get", "/v1/facets">;

/** Titles of memories, which each rendering of a row needs. */
const titles = new WeakMap<Hit, string>();

/** Returns the title of a memory. */
export function titleOf(memory: Hit): string {
  const known = titles.get(memory);
  if (known !== undefined) return known;
  const { title } = splitTitle(memory.content, memory.path);
  titles.set(memory, title);
  return title;
}

/** Loads a page of a list, from 1. Without filters, nothing is loaded. */
export function usePage(
  namespace: string,
  filters: ListingFilters | null,
  { order, page, rows }: { order: Order; page: number; rows: number },
): RequestState<Page> {
  const query = filters && { namespace, ...filters, order, offset: (page - 1) * rows, limit: rows };
  return useKept(useRequest("get", "/v1/memories", query && { query }), namespace);
}

/** Counts the memories of a list by day and by tag. Without filters, nothing is loaded. */
export function useFacets(namespace: string, filters: ListingFilters | null): RequestState<Facets> {
  const timezone = localTimezone() as Schemas["QueryZone"];
  const query = filters && { namespace, ...filters, timezone };
  return useKept(useRequest("get", "/v1/facets", query && { query }), namespace);
}

/** Keeps the last data of a namespace until the next are there, so that nothing moves in between. */
function useKept<T>(request: RequestState<T>, namespace: string): RequestState<T> {
  const kept = useRef<{ namespace: string; data: T } | null>(null);
  if (request.data !== undefined) kept.current = { namespace, data: request.data };
  const data = kept.current?.namespace === namespace ? kept.current.data : undefined;
  return { ...request, data: request.error ? undefined : data };
}
