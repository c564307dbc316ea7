// Icons: outlines on a grid of 24. An icon is decoration; the text next to it carries the meaning.

const PATHS = {
    activity: "M3 12h4l3-8 4 16 3-8h4",
    back: "M15 5l-7 7 7 7",
    billing: "M3 6h18v12H3zM3 10h18M7 15h4",
    conversations: "M4 5h16v11H10l-5 4v-4H4z",
    copy: "M9 9h11v11H9zM5 15H4V4h11v1",
    graph: "M6 6m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M18 9m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M9 18m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M8.3 7l7.3 1.5M6.7 8.4l1.6 7.2M16.2 10.8l-5.4 5.5",
    keys: "M15 9m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0M11.2 12.8L4 20M6.5 17.5L9 20",
    memories: "M5 4h14v16H5zM9 9h6M9 13h6",
    menu: "M4 7h16M4 12h16M4 17h16",
    namespaces: "M4 5h16v5H4zM4 14h16v5H4zM7 7.5h1M7 16.5h1",
    search: "M10.5 10.5m-6 0a6 6 0 1 0 12 0a6 6 0 1 0-12 0M15 15l5 5",
    skills: "M13 3L5 14h6l-1 7 8-11h-6z",
    vocabulary: "M4 5h6a2 2 0 0 1 2 2v12a2 2 0 0 0-2-2H4zM20 5h-6a2 2 0 0 0-2 2v12a2 2 0 0 1 2-2h6z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
    return (
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
            <path d={PATHS[name]} />
        </svg>
    );
}
