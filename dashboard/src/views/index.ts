// The registry of views. A view is a folder with an `index.tsx`, whose default export is its component. It is a chunk of
// its own, loaded when it is first shown.

import type { ComponentType } from "preact";
import { features, type Features } from "../account";
import type { IconName } from "../parts";

export interface ViewProps {
  /** The namespace in the address, otherwise the current one. */
  namespace: string;
  /** The decoded path after the view's name in the address. */
  rest: string;
  /** The query of the address. It holds the state of the view. */
  query: URLSearchParams;
}

export type ViewComponent = ComponentType<ViewProps>;

export interface View {
  /** Name in the address. */
  name: string;
  title: string;
  scope: "namespace" | "account";
  icon: IconName;
  load: () => Promise<{ default: ViewComponent }>;
  /** The view in whose place this one is marked in the navigation, for a view without an entry of its own. */
  parent?: string;
  /** Whether the server offers what the view shows. */
  isOffered?: (features: Features) => boolean;
}

/** All views. The first one is the home page. */
const VIEWS: readonly [View, ...View[]] = [
  { name: "search", title: "Search", scope: "namespace", icon: "search", load: () => import("./search") },
  { name: "activity", title: "Activity", scope: "namespace", icon: "activity", load: () => import("./activity") },
  { name: "memories", title: "Memories", scope: "namespace", icon: "memories", load: () => import("./memories") },
  {
    name: "memory",
    title: "Memory",
    scope: "namespace",
    icon: "memories",
    parent: "memories",
    load: () => import("./memory"),
  },
  { name: "people", title: "People and things", scope: "namespace", icon: "graph", load: () => import("./people") },
  // The graph around a memory. Without one, its address leads to the people and things.
  {
    name: "graph",
    title: "Graph",
    scope: "namespace",
    icon: "graph",
    parent: "people",
    load: () => import("./graph"),
  },
  {
    name: "conversations",
    title: "Conversations",
    scope: "namespace",
    icon: "conversations",
    load: () => import("./conversations"),
  },
  {
    name: "vocabulary",
    title: "Vocabulary",
    scope: "namespace",
    icon: "vocabulary",
    load: () => import("./vocabulary"),
  },
  { name: "skills", title: "Skills", scope: "namespace", icon: "skills", load: () => import("./skills") },
  { name: "namespaces", title: "Namespaces", scope: "account", icon: "namespaces", load: () => import("./namespaces") },
  { name: "keys", title: "Keys", scope: "account", icon: "keys", load: () => import("./keys") },
  {
    name: "billing",
    title: "Billing",
    scope: "account",
    icon: "billing",
    isOffered: ({ billing }) => billing,
    load: () => import("./billing"),
  },
];

/** Names that views had before. Their addresses keep working. */
const FORMER_NAMES: Record<string, string> = { overview: "activity" };

/** Returns the views with an entry in the navigation. */
export function listViews(): View[] {
  return VIEWS.filter((view) => !view.parent && isOffered(view));
}

/** Returns the view of a name; the home page for an unknown name. */
export function findView(name: string): View {
  const current = FORMER_NAMES[name] ?? name;
  return VIEWS.find((view) => view.name === current && isOffered(view)) ?? VIEWS[0];
}

function isOffered(view: View): boolean {
  return view.isOffered?.(features.value) ?? true;
}
