// The graph of subjects and memories. It starts with the neighbours of one node and grows by expansion, so that its size
// does not depend on the size of the namespace.

import { call, type Result, type Schemas } from "../../api";
import { foldWords, loadAbout, tierOf } from "./about";

/** Neighbours that one expansion adds. */
const NEIGHBOURS_MAX = 40;
/** Nodes of a graph. More of them are not readable. */
export const NODES_MAX = 160;
/** Shortest name of a subject that is recognised in the value of a claim. */
const NAME_LENGTH_MIN = 3;

export interface GraphNode {
  /** `subject:<name>` or `memory:<path>`. */
  id: string;
  kind: "subject" | "memory";
  /** Name of the subject, or path of the memory. */
  name: string;
  title: string;
  /** Tier of a memory; empty for a subject. */
  tier: string;
}

export interface GraphLink {
  from: string;
  to: string;
  /** Attributes of claims, or kinds of relations. */
  kinds: string[];
}

export interface Graph {
  nodes: ReadonlyMap<string, GraphNode>;
  links: ReadonlyMap<string, GraphLink>;
  expanded: ReadonlySet<string>;
  /** Nodes with more neighbours than an expansion adds. */
  truncated: ReadonlySet<string>;
}

export const EMPTY_GRAPH: Graph = { nodes: new Map(), links: new Map(), expanded: new Set(), truncated: new Set() };

/** The neighbours of a node. */
interface Neighbours {
  nodes: GraphNode[];
  links: GraphLink[];
  isTruncated: boolean;
}

export function subjectNode(name: string): GraphNode {
  return { id: `subject:${name}`, kind: "subject", name, title: name, tier: "" };
}

export function memoryNode(path: string, title: string): GraphNode {
  return { id: `memory:${path}`, kind: "memory", name: path, title, tier: tierOf(path) };
}

/** Loads the neighbours of a node, and the node itself. */
export function loadNeighbours(namespace: string, node: GraphNode, signal?: AbortSignal): Promise<Result<Neighbours>> {
  if (node.kind === "subject") return loadOfSubject(namespace, node, signal);
  return loadOfMemory(namespace, node, signal);
}

/** The neighbours of a subject are the memories about it, and the subjects that the values of its claims name. */
async function loadOfSubject(namespace: string, node: GraphNode, signal?: AbortSignal): Promise<Result<Neighbours>> {
  const profile = await call("get", "/v1/profile", { query: { namespace, subject: node.name } }, signal);
  if (!profile.ok) return profile;
  const { claims, subjects } = profile.value;
  const about = await loadAbout(namespace, node.name, claims, signal);
  if (!about.ok) return about;
  const nodes = [node];
  const links: GraphLink[] = [];
  for (const memory of about.value.slice(0, NEIGHBOURS_MAX)) {
    const other = memoryNode(memory.path, memory.title);
    nodes.push(other);
    const kinds = memory.attributes.length > 0 ? memory.attributes : ["names"];
    links.push({ from: other.id, to: node.id, kinds });
  }
  const values = attributesByValue(claims);
  for (const subject of subjects) {
    if (subject.length < NAME_LENGTH_MIN) continue;
    if (nodes.length > 2 * NEIGHBOURS_MAX) break;
    const words = foldWords(subject);
    const kinds = new Set<string>();
    if (words.trim() === "") continue;
    for (const [value, attributes] of values) {
      if (value.includes(words)) for (const attribute of attributes) kinds.add(attribute);
    }
    if (kinds.size === 0) continue;
    const other = subjectNode(subject);
    nodes.push(other);
    links.push({ from: node.id, to: other.id, kinds: [...kinds] });
  }
  return { ok: true, value: { nodes, links, isTruncated: about.value.length > NEIGHBOURS_MAX } };
}

/**
 * Returns the attributes of each current value. The values are folded once and without repetitions, since a subject with
 * 1,000 claims is compared with 200 others.
 */
function attributesByValue(claims: readonly Schemas["ProfileClaim"][]): Map<string, Set<string>> {
  const values = new Map<string, Set<string>>();
  for (const { current, value, attribute } of claims) {
    if (!current) continue;
    const words = foldWords(value);
    const attributes = values.get(words) ?? new Set();
    values.set(words, attributes.add(attribute));
  }
  return values;
}

/** The neighbours of a memory are the memories that it is related to, and the subjects that it claims facts about. */
async function loadOfMemory(namespace: string, node: GraphNode, signal?: AbortSignal): Promise<Result<Neighbours>> {
  const path = node.name;
  // One more than are shown, and the memory itself.
  const limit = NEIGHBOURS_MAX + 2;
  const [near, facts] = await Promise.all([
    call("get", "/v1/graph", { query: { namespace, path, depth: 1, limit } }, signal),
    call("get", "/v1/timeline", { query: { namespace, path } }, signal),
  ]);
  if (!near.ok) return near;
  if (!facts.ok) return facts;
  const kept = near.value.nodes.filter((each) => each.path !== path).slice(0, NEIGHBOURS_MAX);
  const own = near.value.nodes.find((each) => each.path === path);
  const nodes = [memoryNode(path, own?.title ?? node.title), ...kept.map((each) => memoryNode(each.path, each.title))];
  const ids = new Set(nodes.map((each) => each.id));
  const links: GraphLink[] = [];
  for (const { from, to, kind } of near.value.edges) {
    const link = { from: `memory:${from}`, to: `memory:${to}`, kinds: [kind] };
    if (ids.has(link.from) && ids.has(link.to) && from !== to) links.push(link);
  }
  for (const { subject, attribute } of facts.value.timelines) {
    if (!subject) continue;
    const other = subjectNode(subject);
    if (!ids.has(other.id)) nodes.push(other);
    ids.add(other.id);
    links.push({ from: nodes[0]!.id, to: other.id, kinds: [attribute] });
  }
  return { ok: true, value: { nodes, links, isTruncated: near.value.nodes.length > NEIGHBOURS_MAX + 1 } };
}

/** Returns a graph with the neighbours of a node added. Null if it would have too many nodes. */
export function withNeighbours(graph: Graph, id: string, added: Neighbours): Graph | null {
  const nodes = new Map(graph.nodes);
  for (const node of added.nodes) {
    const known = nodes.get(node.id);
    // The graph of memories has full titles; the profile of a subject may have only words of the path.
    if (!known || known.title.length < node.title.length) nodes.set(node.id, node);
  }
  if (nodes.size > NODES_MAX) return null;
  const links = new Map(graph.links);
  for (const link of added.links) {
    const key = `${link.from}\n${link.to}`;
    const kinds = new Set([...(links.get(key)?.kinds ?? []), ...link.kinds]);
    links.set(key, { from: link.from, to: link.to, kinds: [...kinds] });
  }
  const truncated = new Set(graph.truncated);
  if (added.isTruncated) truncated.add(id);
  return { nodes, links, expanded: new Set(graph.expanded).add(id), truncated };
}

/** Returns the links of a node with the node at their other end. */
export function linksOf(graph: Graph, id: string): { link: GraphLink; other: GraphNode }[] {
  const found: { link: GraphLink; other: GraphNode }[] = [];
  for (const link of graph.links.values()) {
    if (link.from !== id && link.to !== id) continue;
    const other = graph.nodes.get(link.from === id ? link.to : link.from);
    if (other) found.push({ link, other });
  }
  return found;
}
