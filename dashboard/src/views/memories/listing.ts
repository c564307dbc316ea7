// Loads a listing in pages, as far as it is shown. `/v1/retrieve` without a query returns at most 200 memories, newest
// first, so the next page ends at the time of the last memory. More memories than that may share one time, as after an
// import. Those are listed directory by directory.

import { useEffect, useState } from "preact/hooks";
import { call, type ApiError, type Schemas } from "../../api";
import { splitTitle } from "../../parts";
import { version } from "../../request";
import { timeOf, type ListingFilters } from "./params";

export type Hit = Schemas["Hit"];

/** Most memories of a response. */
const RESPONSE_MAX = 200;
const LISTINGS_MAX = 8;

/** Titles of memories, which sorting compares often. */
const titles = new WeakMap<Hit, string>();

/** Returns the title of a memory. */
export function titleOf(memory: Hit): string {
  const known = titles.get(memory);
  if (known !== undefined) return known;
  const { title } = splitTitle(memory.content, memory.path);
  titles.set(memory, title);
  return title;
}

/** A listing that grows page by page. */
export class Listing {
  memories: Hit[] = [];
  /** Whether all memories are loaded. */
  isComplete = false;
  /** Whether memories were left out, since too many of one directory share one time. */
  isPartial = false;
  error: ApiError | undefined;
  private readonly seen = new Set<string>();
  private readonly pages: AsyncGenerator<Hit[]>;
  private loading: Promise<void> | null = null;

  constructor(
    private readonly namespace: string,
    private readonly filters: ListingFilters,
    private readonly detail: "full" | undefined = undefined,
  ) {
    this.pages = this.readPages();
  }

  /** Loads pages until there are `wanted` memories, or no more. */
  async load(wanted: number): Promise<void> {
    while (this.memories.length < wanted && !this.isComplete && !this.error) {
      this.loading ??= this.loadPage().finally(() => (this.loading = null));
      await this.loading;
    }
  }

  private async loadPage(): Promise<void> {
    const page = await this.pages.next();
    if (page.done) this.isComplete = this.error === undefined;
    else this.memories.push(...page.value);
  }

  private async *readPages(): AsyncGenerator<Hit[]> {
    let until = this.filters.until;
    for (;;) {
      const hits = await this.request({ ...this.filters, ...(until && { until }) });
      if (!hits) return;
      yield this.takeNew(hits);
      const last = hits.at(-1) && timeOf(hits.at(-1)!, this.filters.time_field);
      if (hits.length < RESPONSE_MAX || !last) return;
      if (timeOf(hits[0]!, this.filters.time_field) !== last) {
        until = last;
        continue;
      }
      // The response is full of one time: its other memories are found by their directories.
      const starts = this.filters.paths ?? this.filters.tiers ?? [];
      for (const path of starts) yield* this.readInstant(path, last);
      until = new Date(new Date(last).getTime() - 1).toISOString();
      if (this.filters.since && until < toInstant(this.filters.since)) return;
    }
  }

  /** Yields the memories of one time below a directory. */
  private async *readInstant(path: string, time: string): AsyncGenerator<Hit[]> {
    if (this.error) return;
    const hits = await this.request({ ...this.filters, paths: [path], since: time, until: time });
    if (!hits) return;
    yield this.takeNew(hits);
    if (hits.length < RESPONSE_MAX) return;
    const tree = await call("get", "/v1/tree", { query: { namespace: this.namespace, path } });
    if (!tree.ok) {
      this.error = tree.error;
      return;
    }
    let direct = 0;
    for (const entry of tree.value.entries) {
      if (entry.kind === "directory") yield* this.readInstant(entry.path, time);
      else direct += 1;
    }
    if (direct > RESPONSE_MAX) this.isPartial = true;
  }

  private async request(filters: ListingFilters): Promise<Hit[] | null> {
    const detail = this.detail ? { detail: this.detail } : {};
    const query = { namespace: [this.namespace], limit: RESPONSE_MAX, ...filters, ...detail };
    const result = await call("get", "/v1/retrieve", { query });
    if (result.ok) return result.value.hits ?? [];
    this.error = result.error;
    return null;
  }

  private takeNew(hits: readonly Hit[]): Hit[] {
    const fresh: Hit[] = [];
    for (const hit of hits) {
      if (this.seen.has(hit.path)) continue;
      this.seen.add(hit.path);
      fresh.push(hit);
    }
    return fresh;
  }
}

/** Returns the start of a day, or the time itself, as a time that can be compared as text. */
function toInstant(since: string): string {
  return since.length > 10 ? since : new Date(`${since}T00:00:00`).toISOString();
}

/** Listings that are kept, so that Back shows them without a delay. */
const kept = new Map<string, Listing>();
let keptVersion = version.peek();

function listingOf(key: string, namespace: string, filters: ListingFilters): Listing {
  if (keptVersion !== version.peek()) kept.clear();
  keptVersion = version.peek();
  const listing = kept.get(key) ?? new Listing(namespace, filters);
  kept.delete(key);
  kept.set(key, listing);
  if (kept.size > LISTINGS_MAX) kept.delete(kept.keys().next().value!);
  return listing;
}

export interface ListingState {
  memories: readonly Hit[];
  isComplete: boolean;
  isPartial: boolean;
  isLoading: boolean;
  error: ApiError | undefined;
  retry: () => void;
}

/** Loads at least `wanted` memories of a listing, if there are as many. Without filters, nothing is loaded. */
export function useListing(namespace: string, filters: ListingFilters | null, wanted: number): ListingState {
  const [shown, setShown] = useState<{ key: string; listing: Listing } | null>(null);
  const [, setLoads] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const key = filters && JSON.stringify([namespace, filters]);

  useEffect(() => {
    if (!key || !filters) return undefined;
    const turn = { isOver: false };
    const listing = listingOf(key, namespace, filters);
    void listing.load(wanted).then(() => {
      if (turn.isOver) return;
      setShown({ key, listing });
      setLoads((loads) => loads + 1);
    });
    return () => {
      turn.isOver = true;
    };
    // The key stands for the namespace and the filters.
  }, [key, wanted, attempt, version.value]);

  function retry(): void {
    if (key) kept.delete(key);
    setAttempt(attempt + 1);
  }
  // The memories of the last response stay in view while a change is read again.
  const listing = (key && shown?.key === key && shown.listing) || (key && currentOf(key)) || null;
  if (!listing) return { memories: [], isComplete: false, isPartial: false, isLoading: true, error: undefined, retry };
  const { memories, isComplete, isPartial, error } = listing;
  const isLoading = memories.length < wanted && !isComplete && !error;
  return { memories, isComplete, isPartial, isLoading, error, retry };
}

/** Returns a kept listing that has memories already. */
function currentOf(key: string): Listing | null {
  const listing = keptVersion === version.peek() ? kept.get(key) : undefined;
  return listing && (listing.memories.length > 0 || listing.isComplete) ? listing : null;
}
