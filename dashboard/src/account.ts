// What all views need to know of the account: its namespaces, and the optional features of the server.

import { computed, signal } from "@preact/signals";
import { call, send, type ApiError, type Schemas } from "./api";
import { route } from "./router";

/** Namespaces in one response of `GET /v1/namespaces`. */
const PAGE_SIZE = 200;
const LAST_NAMESPACE = "namespace";

/** Optional features of the server. */
export interface Features {
  billing: boolean;
}

export const namespaces = signal<Schemas["Namespace"][]>([]);
export const features = signal<Features>({ billing: false });
/** Whether the account is loading, is loaded, or could not be loaded. */
export const accountState = signal<"loading" | "ready" | ApiError>("loading");

/** The namespace in the address, otherwise the last one used in this tab, otherwise the largest one. */
export const currentNamespace = computed(() => {
  if (route.value.namespace) return route.value.namespace;
  const last = sessionStorage.getItem(LAST_NAMESPACE);
  let largest: Schemas["Namespace"] | undefined;
  for (const each of namespaces.value) {
    if (each.name === last) return each.name;
    if (!largest || each.memories > largest.memories) largest = each;
  }
  return largest?.name ?? "default";
});

/** Remembers the namespace in the address for the addresses without one. */
route.subscribe(({ namespace }) => {
  if (namespace) sessionStorage.setItem(LAST_NAMESPACE, namespace);
});

/** Loads or reloads the account. */
export async function loadAccount(): Promise<void> {
  const [list, found] = await Promise.all([listNamespaces(), send<Features>("get", "/features")]);
  if (Array.isArray(list)) namespaces.value = list;
  if (found.ok) features.value = found.value;
  if (!Array.isArray(list)) accountState.value = list;
  else if (!found.ok) accountState.value = found.error;
  else accountState.value = "ready";
}

async function listNamespaces(): Promise<Schemas["Namespace"][] | ApiError> {
  const all: Schemas["Namespace"][] = [];
  for (;;) {
    const after = all.at(-1)?.name;
    const result = await call("get", "/v1/namespaces", after ? { query: { after } } : {});
    if (!result.ok) return result.error;
    all.push(...result.value.namespaces);
    if (result.value.namespaces.length < PAGE_SIZE) return all;
  }
}
