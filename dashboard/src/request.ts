// A hook that loads data for a component: loading, data, error and reload. A request is aborted when its component is
// removed or its parameters change. Responses are kept for a while, so that Back shows a view without a delay.

import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { call, type ApiError, type Method, type Options, type PathOf, type ResponseOf } from "./api";

export interface RequestState<T> {
  /** The response; undefined while the first one is loading and after an error. */
  data: T | undefined;
  error: ApiError | undefined;
  /** Whether a request is in flight. `data` may hold the response that is being replaced. */
  isLoading: boolean;
  reload: () => void;
}

const KEPT_MAX = 60;
const kept = new Map<string, unknown>();
/** Counts the changes of data. Whoever keeps responses elsewhere reloads them when it changes. */
export const version = signal(0);

/** Drops all kept responses, and reloads those that are shown. Call it after a change of data. */
export function invalidate(): void {
  kept.clear();
  version.value += 1;
}

/** Loads an operation's response. Without options, nothing is requested. */
export function useRequest<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  options: Options<M, P> | null,
): RequestState<ResponseOf<M, P>> {
  type Data = ResponseOf<M, P>;
  const key = options && JSON.stringify([method, path, options]);
  const [done, setDone] = useState<{ key: string; data?: Data; error?: ApiError } | null>(null);
  const [inFlight, setInFlight] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);

  useEffect(() => {
    if (!key || !options) return undefined;
    const abort = new AbortController();
    setInFlight(key);
    void call(method, path, options, abort.signal).then((result) => {
      if (abort.signal.aborted) return;
      if (result.ok) keep(key, result.value);
      setDone(result.ok ? { key, data: result.value } : { key, error: result.error });
      setInFlight(null);
    });
    return () => abort.abort();
    // The key stands for the method, the path and the options.
  }, [key, attempt, version.value]);

  const reload = () => setAttempt(attempt + 1);
  if (!key) return { data: undefined, error: undefined, isLoading: false, reload };
  const own = done?.key === key ? done : null;
  return {
    data: own ? own.data : (kept.get(key) as Data | undefined),
    error: own?.error,
    isLoading: inFlight === key || !own,
    reload,
  };
}

function keep(key: string, value: unknown): void {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
}
