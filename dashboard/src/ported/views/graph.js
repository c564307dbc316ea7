// The graph: memories as dots and relations as lines, of the whole namespace or around one memory.

import { h, s, fill } from "../dom.js";
import { get } from "../api.js";
import { heading, card, empty, table, field, to } from "../parts.js";

const WIDTH = 900;
const HEIGHT = 560;
const STEPS = 260;
const SCALE_MAX = 1.4;
const MARGIN = { x: 100, y: 34 };

export default async function graph({ namespace, rest: path, query }) {
  const depth = query.get("depth") ?? "2";
  const shown = await get("/v1/graph", path ? { namespace, path, depth } : { namespace, limit: 150 });
  if (!shown.nodes.length) return [heading("Graph"), empty("No memories, so no relations.")];
  const choice = h("select", { onchange: (event) => (location.hash = `${to.graph(namespace, path)}?depth=${event.target.value}`) }, ["1", "2", "3"].map((each) => h("option", { selected: each === depth }, each)));
  const details = h("div", { class: "card", "aria-live": "polite" }, h("p", { class: "dim" }, "Select a memory with the pointer, or with Tab and Enter."));
  const titles = new Map(shown.nodes.map((node) => [node.path, node.title]));
  const select = (node) => fill(details, nodeDetails(namespace, node, shown.edges, titles));
  return [
    heading("Graph", path && h("a", { class: "button", href: to.graph(namespace) }, "The whole namespace")),
    path && field("Steps away", choice),
    h("p", { class: "dim" }, `Memories: ${shown.nodes.length}, relations: ${shown.edges.length}`, path && `, around ${path}`),
    h("div", { class: "columns" }, h("div", { class: "card" }, picture(shown, path, select), legend()), details),
    h("details", {}, h("summary", {}, "The same as a table"), table("Relations", ["From", "Kind", "To"], shown.edges.map((edge) => [titles.get(edge.from) ?? edge.from, edge.kind, titles.get(edge.to) ?? edge.to]))),
  ];
}

function nodeDetails(namespace, node, edges, titles) {
  const near = edges.filter((edge) => edge.from === node.path || edge.to === node.path);
  const row = (edge) => {
    const other = edge.from === node.path ? edge.to : edge.from;
    return h("li", {}, h("span", { class: "chip" }, edge.kind), " ", h("a", { href: to.graph(namespace, other) }, titles.get(other) ?? other));
  };
  return [
    h("h2", {}, node.title),
    h("p", {}, h("code", {}, node.path)),
    h("div", { class: "row" }, h("a", { class: "button", href: to.memory(namespace, node.path) }, "Read"), h("a", { class: "button", href: to.graph(namespace, node.path) }, "Center here")),
    near.length > 0 && h("ul", {}, near.map(row)),
  ];
}

const legend = () => h("p", { class: "legend" }, ["facts", "incidents", "rules", "skills"].map((tier) => h("span", {}, h("i", { class: `dot ${tier}`, "aria-hidden": "true" }), tier)));

function picture({ nodes, edges }, centre, select) {
  const places = layout(nodes, edges, centre);
  const at = new Map(nodes.map((node, index) => [node.path, places[index]]));
  const degree = new Map();
  for (const edge of edges) for (const end of [edge.from, edge.to]) degree.set(end, (degree.get(end) ?? 0) + 1);
  const line = ({ from, to: end, kind }) => {
    const [a, b] = [at.get(from), at.get(end)];
    return a && b && s("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `edge ${kind}` }, s("title", {}, kind));
  };
  const dot = (node, index) => {
    const { x, y } = places[index];
    const chosen = () => select(node);
    const shown = s("g", { class: `node ${node.tier}${node.path === centre ? " centre" : ""}`, tabindex: "0", role: "button", "aria-label": node.title, onclick: chosen, onkeydown: (event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), chosen()) });
    shown.append(s("circle", { cx: x, cy: y, r: 6 + Math.min(8, Math.sqrt(degree.get(node.path) ?? 0) * 1.6) }), s("title", {}, node.title));
    if (nodes.length <= 24) shown.append(s("text", { x, y: y + 24, "text-anchor": "middle" }, short(node.title)));
    return shown;
  };
  return s("svg", { class: "graph", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": "Memories and their relations" }, s("g", {}, edges.map(line)), s("g", {}, nodes.map(dot)));
}

const short = (title) => (title.length > 26 ? `${title.slice(0, 25)}…` : title);

/** Computes the places by forces (Fruchterman and Reingold, 1991): all nodes repel each other, relations attract. The result is deterministic. */
function layout(nodes, edges, centre) {
  const index = new Map(nodes.map((node, place) => [node.path, place]));
  const ideal = Math.min(160, 0.8 * Math.sqrt((WIDTH * HEIGHT) / nodes.length));
  const places = nodes.map((node, place) => {
    const angle = place * 2.399963;
    const far = node.path === centre ? 0 : 12 * Math.sqrt(place + 1);
    return { x: WIDTH / 2 + far * Math.cos(angle), y: HEIGHT / 2 + far * Math.sin(angle), dx: 0, dy: 0 };
  });
  const links = edges.map((edge) => [index.get(edge.from), index.get(edge.to)]).filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
  for (let step = 0; step < STEPS; step++) {
    const heat = (WIDTH / 8) * (1 - step / STEPS) ** 2 + 0.5;
    for (const place of places) place.dx = place.dy = 0;
    for (let a = 0; a < places.length; a++) {
      for (let b = a + 1; b < places.length; b++) {
        // Distant nodes do not repel each other, so that unrelated nodes do not drift to the edges.
        push(places[a], places[b], (distance) => (distance < 2.2 * ideal ? -(ideal * ideal) / distance : 0));
      }
    }
    for (const [a, b] of links) push(places[a], places[b], (distance) => (distance * distance) / ideal);
    for (const place of places) {
      // A weak attraction to the middle keeps unrelated nodes together.
      place.dx += (WIDTH / 2 - place.x) * 0.6;
      place.dy += (HEIGHT / 2 - place.y) * 0.9;
      const length = Math.hypot(place.dx, place.dy) || 1;
      place.x += (place.dx / length) * Math.min(length, heat);
      place.y += (place.dy / length) * Math.min(length, heat);
    }
  }
  return fitted(places);
}

/** Centers the places and scales them to the picture, by at most `SCALE_MAX`. */
function fitted(places) {
  const spread = (axis, size) => {
    const values = places.map((place) => place[axis]);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const scale = Math.min(SCALE_MAX, (size - 2 * MARGIN[axis]) / Math.max(1, most - least));
    return (value) => size / 2 + (value - (least + most) / 2) * scale;
  };
  const [x, y] = [spread("x", WIDTH), spread("y", HEIGHT)];
  return places.map((place) => ({ x: x(place.x), y: y(place.y) }));
}

function push(a, b, force) {
  const [x, y] = [b.x - a.x, b.y - a.y];
  const distance = Math.max(0.5, Math.hypot(x, y));
  const strength = force(distance) / distance;
  a.dx += x * strength;
  a.dy += y * strength;
  b.dx -= x * strength;
  b.dy -= y * strength;
}
