// Hooks that load data again and again while the tab is visible and the user has not paused the updates. The last data
// stay when a request fails, so that a short outage does not empty the view.

import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, type ApiError, type PathOf, type Options, type ResponseOf } from "../../api";
import type { RequestState } from "../../request";

/** A write in the list, with its sender. */
export type Write = ResponseOf<"get", "/v1/writes">["writes"][number];

/** Statuses for the id of a write that does not exist, that this credential may not see, or that is malformed. */
const UNKNOWN_STATUSES: readonly number[] = [400, 403, 404];

/** Whether the user has paused the updates. */
export const isPaused = signal(false);

/** Counts the requests to load everything now. */
const refreshes = signal(0);

/** Loads all data of the view now, also while the updates are paused. */
export function refreshAll(): void {
  refreshes.value += 1;
}

/** Runs a function at once and then at an interval, while the tab is visible. A run that has not ended is aborted. */
function useTicks(run: (abort: AbortSignal) => Promise<void>, interval: number, key: string): () => void {
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    let timer: number | undefined;
    async function tick(): Promise<void> {
      window.clearTimeout(timer);
      await run(abort.signal);
      if (!abort.signal.aborted && !isPaused.value && !document.hidden) timer = window.setTimeout(tick, interval);
    }
    function onVisibility(): void {
      if (document.hidden) window.clearTimeout(timer);
      else if (!isPaused.value) setRound((last) => last + 1);
    }
    document.addEventListener("visibilitychange", onVisibility);
    void tick();
    return () => {
      abort.abort();
      window.clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, [key, interval, round, isPaused.value, refreshes.value]);
  return () => setRound((last) => last + 1);
}

/** Loads the response of an operation at an interval. */
export function usePolled<P extends PathOf<"get">>(
  path: P,
  options: Options<"get", P>,
  interval: number,
): RequestState<ResponseOf<"get", P>> {
  type Data = ResponseOf<"get", P>;
  const key = JSON.stringify([path, options]);
  const [state, setState] = useState<{ key: string; data?: Data; error?: ApiError }>({ key });
  async function run(abort: AbortSignal): Promise<void> {
    const result = await call("get", path, options, abort);
    if (abort.aborted) return;
    if (result.ok) setState({ key, data: result.value });
    else setState((last) => ({ ...(last.key === key && last), key, error: result.error }));
  }
  const reload = useTicks(run, interval, key);
  const own = state.key === key ? state : { key };
  return { data: own.data, error: own.error, isLoading: !own.data && !own.error, reload };
}

/**
 * Loads a write, again at an interval while it can still change. Null for an id that the server does not know; undefined
 * while the first response is loading.
 */
export function useWrite(id: string, interval: number): Write | null | undefined {
  const known = useRef<{ id: string; write: Write | null } | null>(null);
  const [, setRound] = useState(0);
  async function run(abort: AbortSignal): Promise<void> {
    const last = known.current?.id === id ? known.current.write : undefined;
    if (!canChange(last)) return;
    const result = await call("get", "/v1/writes/{id}", { path: { id } }, abort);
    if (abort.aborted) return;
    if (result.ok) known.current = { id, write: result.value };
    else if (UNKNOWN_STATUSES.includes(result.error.status)) known.current = { id, write: null };
    setRound((round) => round + 1);
  }
  useTicks(run, interval, id);
  return known.current?.id === id ? known.current.write : undefined;
}

/** Returns whether a write may change: it is unknown or waits, or it is dead and may be retried. */
function canChange(write: Write | null | undefined): boolean {
  return write !== null && write?.status !== "ingested" && write?.status !== "dropped";
}
