// The picture of the graph: nodes with labels, lines, zoom and pan, with the pointer and the keyboard.

import { useEffect, useRef, useState } from "preact/hooks";
import { linksOf, type Graph, type GraphNode } from "./graph-data";
import { chooseLabels, nearestInDirection, type Label, type Point } from "./graph-layout";

const SCALE_MIN = 0.15;
const SCALE_MAX = 4;
const ZOOM_STEP = 1.3;
/** Largest scale at which a small graph is fitted. */
const FIT_SCALE_MAX = 1.3;
const MARGIN = { x: 80, y: 44 };
const PAN_STEP = 60;
/** Movement in pixels from which a press is a drag. */
const DRAG_MIN = 4;
const LABEL_LENGTH_MAX = 26;
/** Lines are labelled while there is space between the nodes. */
const EDGE_LABELS_MAX = 12;
const EDGE_LABEL_SCALE_MIN = 0.7;
const RADIUS = { subject: 11, memory: 7 };

/** What is visible: the place in the middle of the picture, and pixels per unit. */
interface Camera extends Point {
    scale: number;
}

interface PictureProps {
    graph: Graph;
    places: ReadonlyMap<string, Point>;
    centre: string;
    selected: string;
    /** Nodes that the search found; null without a search. */
    matches: ReadonlySet<string> | null;
    onActivate: (id: string) => void;
}

export function Picture(props: PictureProps) {
    const { graph, places, centre, selected, matches, onActivate } = props;
    const element = useRef<SVGSVGElement>(null);
    const [size, setSize] = useState({ width: 800, height: 440 });
    const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, scale: 1 });
    const [focused, setFocused] = useState(centre);

    useEffect(() => {
        const observer = new ResizeObserver(([entry]) => {
            const { width, height } = entry!.contentRect;
            if (width > 0) setSize({ width, height });
        });
        observer.observe(element.current!);
        return () => observer.disconnect();
    }, []);
    const fit = () => setCamera(fitCamera(places, size));
    useEffect(fit, [places, size.width, size.height]);
    // A node that is chosen outside of the picture comes into view.
    useEffect(() => {
        setFocused(selected);
        reveal(selected);
    }, [selected]);

    const toScreen = (place: Point): Point => ({
        x: size.width / 2 + (place.x - camera.x) * camera.scale,
        y: size.height / 2 + (place.y - camera.y) * camera.scale,
    });
    function reveal(id: string): void {
        const place = places.get(id);
        if (!place) return;
        const { x, y } = toScreen(place);
        if (x < 20 || y < 20 || x > size.width - 20 || y > size.height - 30)
            setCamera((before) => ({ ...place, scale: before.scale }));
    }
    function zoom(factor: number): void {
        setCamera((before) => ({ ...before, scale: clampScale(before.scale * factor) }));
    }
    useDragAndZoom(element, setCamera);

    function focusNode(id: string): void {
        setFocused(id);
        reveal(id);
        element.current?.querySelector<SVGElement>(`[data-id="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
    }
    function press(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { key } = event;
        if (key.startsWith("Arrow") && event.shiftKey) setCamera((before) => panned(before, key));
        else if (key.startsWith("Arrow")) {
            const next = nearestInDirection(places, focused, key);
            if (next) focusNode(next);
        } else if (key === "Enter" || key === " ") onActivate(focused);
        else if (key === "+" || key === "=") zoom(ZOOM_STEP);
        else if (key === "-") zoom(1 / ZOOM_STEP);
        else if (key === "0") fit();
        else return;
        event.preventDefault();
        // The keys of the page, such as those of the palette, do not apply here.
        event.stopPropagation();
    }

    const nodes = [...graph.nodes.values()].filter((node) => places.has(node.id));
    const screen = new Map(nodes.map((node) => [node.id, toScreen(places.get(node.id)!)]));
    const near = new Set(linksOf(graph, selected).map(({ other }) => other.id));
    const labels = chooseLabels(labelsOf(nodes, screen, graph, { centre, selected, matches, near }));
    // One node is in the order of Tab; the arrow keys reach the others.
    const entry = screen.has(focused) ? focused : centre;
    return (
        <div class="graph-picture">
            <div class="row graph-tools" role="toolbar" aria-label="Zoom">
                <button type="button" aria-label="Zoom in" onClick={() => zoom(ZOOM_STEP)}>
                    +
                </button>
                <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / ZOOM_STEP)}>
                    −
                </button>
                <button type="button" onClick={fit}>
                    Fit
                </button>
            </div>
            <svg
                ref={element}
                role="group"
                aria-label="Graph"
                aria-describedby="graph-help"
                data-scale={camera.scale.toFixed(3)}
                onKeyDown={press}
            >
                <g aria-hidden="true">
                    {[...graph.links.values()].map((each) => {
                        const [from, to] = [screen.get(each.from), screen.get(each.to)];
                        if (!from || !to) return null;
                        const isNear = each.from === selected || each.to === selected;
                        const isLabelled =
                            isNear && near.size <= EDGE_LABELS_MAX && camera.scale >= EDGE_LABEL_SCALE_MIN;
                        return (
                            <g key={`${each.from} ${each.to}`} class={isNear ? "edge near" : "edge"}>
                                <line x1={from.x} y1={from.y} x2={to.x} y2={to.y} />
                                {isLabelled && (
                                    <text x={(from.x + to.x) / 2} y={(from.y + to.y) / 2} text-anchor="middle">
                                        {shorten(each.kinds.join(", "))}
                                    </text>
                                )}
                            </g>
                        );
                    })}
                </g>
                {nodes.map((node) => {
                    const { x, y } = screen.get(node.id)!;
                    const radius = RADIUS[node.kind] + (node.id === centre ? 3 : 0);
                    return (
                        <g
                            key={node.id}
                            data-id={node.id}
                            class={classOf(node, { centre, selected, matches, expanded: graph.expanded })}
                            role="button"
                            tabIndex={node.id === entry ? 0 : -1}
                            aria-label={`${node.title}, ${node.tier || "subject"}`}
                            aria-pressed={node.id === selected}
                            onFocus={() => setFocused(node.id)}
                            onClick={() => onActivate(node.id)}
                        >
                            <title>{node.title}</title>
                            <circle cx={x} cy={y} r={radius} />
                            {labels.has(node.id) && (
                                <text x={x} y={y + radius + 13} text-anchor="middle" aria-hidden="true">
                                    {shorten(node.title)}
                                </text>
                            )}
                        </g>
                    );
                })}
            </svg>
            <p id="graph-help" class="dim graph-help">
                Arrow keys move between nodes. Enter selects a node, and Enter again expands it. + and − zoom, 0 fits,
                Shift with an arrow key pans. With the pointer: drag to pan, Ctrl and wheel or pinch to zoom, double
                click to expand.
            </p>
            <Legend />
        </div>
    );
}

function Legend() {
    return (
        <p class="legend">
            {["subject", "facts", "incidents", "rules", "skills"].map((kind) => (
                <span key={kind}>
                    <i class={`dot ${kind}`} aria-hidden="true" />
                    {kind}
                </span>
            ))}
        </p>
    );
}

interface Marks {
    centre: string;
    selected: string;
    matches: ReadonlySet<string> | null;
}

function classOf(node: GraphNode, marks: Marks & { expanded: ReadonlySet<string> }): string {
    const classes = ["node", node.tier || "subject"];
    if (node.id === marks.centre) classes.push("centre");
    if (node.id === marks.selected) classes.push("selected");
    if (!marks.expanded.has(node.id)) classes.push("unexpanded");
    if (marks.matches && !marks.matches.has(node.id)) classes.push("faded");
    return classes.join(" ");
}

/** Returns the labels, the most important ones first. */
function labelsOf(
    nodes: readonly GraphNode[],
    screen: ReadonlyMap<string, Point>,
    graph: Graph,
    marks: Marks & { near: ReadonlySet<string> },
): Label[] {
    const degrees = new Map<string, number>();
    for (const { from, to } of graph.links.values())
        for (const id of [from, to]) degrees.set(id, (degrees.get(id) ?? 0) + 1);
    function rank(node: GraphNode): number {
        let value = Math.min(degrees.get(node.id) ?? 0, 99);
        if (node.kind === "subject") value += 100;
        if (marks.near.has(node.id)) value += 200;
        if (marks.matches?.has(node.id)) value += 400;
        if (node.id === marks.centre) value += 800;
        if (node.id === marks.selected) value += 1600;
        return value;
    }
    const ranked = [...nodes].sort((a, b) => rank(b) - rank(a));
    return ranked.map((node) => ({ id: node.id, text: shorten(node.title), ...screen.get(node.id)! }));
}

function shorten(text: string): string {
    return text.length > LABEL_LENGTH_MAX ? `${text.slice(0, LABEL_LENGTH_MAX - 1)}…` : text;
}

function clampScale(scale: number): number {
    return Math.min(SCALE_MAX, Math.max(SCALE_MIN, scale));
}

function panned(camera: Camera, key: string): Camera {
    const step = PAN_STEP / camera.scale;
    const dx = key === "ArrowRight" ? step : key === "ArrowLeft" ? -step : 0;
    const dy = key === "ArrowDown" ? step : key === "ArrowUp" ? -step : 0;
    return { ...camera, x: camera.x + dx, y: camera.y + dy };
}

/** Returns the camera that shows all places. */
function fitCamera(places: ReadonlyMap<string, Point>, size: { width: number; height: number }): Camera {
    const xs = [...places.values()].map((place) => place.x);
    const ys = [...places.values()].map((place) => place.y);
    if (xs.length === 0) return { x: 0, y: 0, scale: 1 };
    const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const across = (size.width - 2 * MARGIN.x) / Math.max(1, right - left);
    const down = (size.height - 2 * MARGIN.y) / Math.max(1, bottom - top);
    const scale = Math.min(FIT_SCALE_MAX, across, down);
    return { x: (left + right) / 2, y: (top + bottom) / 2, scale: clampScale(scale) };
}

/** Pans with a drag, and zooms with two pointers or with Ctrl and the wheel. */
function useDragAndZoom(
    element: { current: SVGSVGElement | null },
    setCamera: (next: (before: Camera) => Camera) => void,
) {
    useEffect(() => {
        const svg = element.current!;
        const pointers = new Map<number, Point>();
        let travelled = 0;

        function down(event: PointerEvent): void {
            pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
            travelled = 0;
        }
        function move(event: PointerEvent): void {
            const before = pointers.get(event.pointerId);
            if (!before) return;
            const now = { x: event.clientX, y: event.clientY };
            const [dx, dy] = [now.x - before.x, now.y - before.y];
            travelled += Math.hypot(dx, dy);
            const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
            pointers.set(event.pointerId, now);
            if (other) {
                const factor = distance(now, other) / Math.max(1, distance(before, other));
                setCamera((camera) => ({ ...camera, scale: clampScale(camera.scale * factor) }));
            } else if (travelled >= DRAG_MIN) {
                if (!svg.hasPointerCapture(event.pointerId)) svg.setPointerCapture(event.pointerId);
                setCamera((camera) => ({
                    ...camera,
                    x: camera.x - dx / camera.scale,
                    y: camera.y - dy / camera.scale,
                }));
            }
        }
        function up(event: PointerEvent): void {
            pointers.delete(event.pointerId);
        }
        function wheel(event: WheelEvent): void {
            // Without Ctrl the wheel scrolls the page.
            if (!event.ctrlKey && !event.metaKey) return;
            event.preventDefault();
            const factor = Math.exp(-event.deltaY / 300);
            setCamera((camera) => ({ ...camera, scale: clampScale(camera.scale * factor) }));
        }
        svg.addEventListener("pointerdown", down);
        svg.addEventListener("pointermove", move);
        svg.addEventListener("pointerup", up);
        svg.addEventListener("pointercancel", up);
        svg.addEventListener("wheel", wheel, { passive: false });
        return () => {
            svg.removeEventListener("pointerdown", down);
            svg.removeEventListener("pointermove", move);
            svg.removeEventListener("pointerup", up);
            svg.removeEventListener("pointercancel", up);
            svg.removeEventListener("wheel", wheel);
        };
    }, []);
}

function distance(a: Point, b: Point): number {
    return Math.hypot(a.x - b.x, a.y - b.y);
}
