// Places of the nodes and choice of the labels. Both are deterministic.

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type SimulationNodeDatum,
} from "d3-force";
import type { Graph } from "./graph-data";

export interface Point {
  x: number;
  y: number;
}

interface Body extends SimulationNodeDatum {
  id: string;
}

const TICKS = 260;
/** Longest time for which the layout keeps the page from responding. */
const SLICE_MS = 12;
const LINK_LENGTH = 105;
const REPULSION = -420;
/** Distance beyond which nodes do not repel each other, so that unrelated nodes do not drift away. */
const REPULSION_DISTANCE_MAX = 420;
const NODE_DISTANCE_MIN = 26;
/** The golden angle spreads new nodes evenly around their neighbour. */
const GOLDEN_ANGLE = 2.399963;
const LABEL_HEIGHT = 16;
const CHARACTER_WIDTH = 6.4;

/**
 * Computes places around a centre. Nodes that have places already start from them, so that the picture stays familiar.
 * The page responds in between.
 */
export async function placeNodes(
  graph: Graph,
  centre: string,
  before: ReadonlyMap<string, Point>,
): Promise<Map<string, Point>> {
  const bodies: Body[] = [];
  let index = 0;
  for (const id of graph.nodes.keys()) {
    index += 1;
    const start = before.get(id) ?? startNear(graph, id, index, before);
    bodies.push(id === centre ? { id, x: 0, y: 0, fx: 0, fy: 0 } : { id, ...start });
  }
  const links = [...graph.links.values()].map(({ from, to }) => ({ source: from, target: to }));
  const linkForce = forceLink<Body, { source: string | Body; target: string | Body }>(links)
    .id((body) => body.id)
    .distance(LINK_LENGTH);
  const simulation = forceSimulation(bodies)
    .stop()
    .force("link", linkForce)
    .force("charge", forceManyBody<Body>().strength(REPULSION).distanceMax(REPULSION_DISTANCE_MAX))
    .force("collide", forceCollide<Body>(NODE_DISTANCE_MIN))
    .force("x", forceX<Body>().strength(0.04))
    // The picture is wider than high.
    .force("y", forceY<Body>().strength(0.09));
  let sliceEnd = performance.now() + SLICE_MS;
  for (let tick = 0; tick < TICKS; tick += 1) {
    if (performance.now() > sliceEnd) {
      await nextTask();
      sliceEnd = performance.now() + SLICE_MS;
    }
    simulation.tick();
  }
  return new Map(bodies.map((body) => [body.id, { x: body.x ?? 0, y: body.y ?? 0 }]));
}

/** Waits for the events and frames that are due. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => window.setTimeout(resolve));
}

function startNear(graph: Graph, id: string, index: number, before: ReadonlyMap<string, Point>): Point {
  let near: Point = { x: 0, y: 0 };
  for (const { from, to } of graph.links.values()) {
    const other = from === id ? before.get(to) : to === id ? before.get(from) : undefined;
    if (other) near = other;
  }
  const distance = 14 * Math.sqrt(index);
  return {
    x: near.x + distance * Math.cos(index * GOLDEN_ANGLE),
    y: near.y + distance * Math.sin(index * GOLDEN_ANGLE),
  };
}

/** A label below its node, in pixels. */
export interface Label extends Point {
  id: string;
  text: string;
}

/** Returns the ids of labels that do not cover each other. Earlier labels take precedence. */
export function chooseLabels(labels: readonly Label[]): Set<string> {
  const chosen: Label[] = [];
  for (const label of labels) {
    if (!chosen.some((other) => overlap(label, other))) chosen.push(label);
  }
  return new Set(chosen.map((label) => label.id));
}

function overlap(a: Label, b: Label): boolean {
  const width = ((a.text.length + b.text.length) * CHARACTER_WIDTH) / 2;
  return Math.abs(a.x - b.x) < width && Math.abs(a.y - b.y) < LABEL_HEIGHT;
}

/** Returns the nearest node in the direction of an arrow key; undefined if none lies there. */
export function nearestInDirection(places: ReadonlyMap<string, Point>, from: string, key: string): string | undefined {
  const start = places.get(from);
  if (!start) return undefined;
  let best: { id: string; cost: number } | undefined;
  for (const [id, place] of places) {
    if (id === from) continue;
    const [dx, dy] = [place.x - start.x, place.y - start.y];
    const [along, across] = alongAndAcross(key, dx, dy);
    if (along <= 0 || Math.abs(across) > 2 * along) continue;
    const cost = along + 2 * Math.abs(across);
    if (!best || cost < best.cost) best = { id, cost };
  }
  return best?.id;
}

function alongAndAcross(key: string, dx: number, dy: number): [number, number] {
  switch (key) {
    case "ArrowRight":
      return [dx, dy];
    case "ArrowLeft":
      return [-dx, dy];
    case "ArrowDown":
      return [dy, dx];
    default:
      return [-dy, dx];
  }
}
