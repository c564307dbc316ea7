// Loads the view of the current address and shows it. Moves the focus to its heading after a change of the view.

import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { currentNamespace } from "../account";
import { ErrorState, Skeleton } from "../parts";
import { route } from "../router";
import { findView, type ViewComponent } from "../views";

/** Views that are loaded already. */
const loaded = new Map<string, ViewComponent>();

export function ViewHost() {
    const { rest, query } = route.value;
    const view = findView(route.value.view);
    const namespace = currentNamespace.value;
    const [, setLoads] = useState(0);
    const [failed, setFailed] = useState<string | null>(null);
    const main = useRef<HTMLElement>(null);
    const isFirst = useRef(true);
    const Shown = loaded.get(view.name);
    const place = `${view.name} ${namespace} ${rest}`;

    function load(): void {
        setFailed(null);
        view.load().then(
            (module) => {
                loaded.set(view.name, module.default);
                setLoads((loads) => loads + 1);
            },
            () => setFailed(view.name),
        );
    }
    useEffect(() => {
        if (!Shown) load();
    }, [view.name]);

    const isReady = Shown !== undefined;
    useEffect(() => {
        if (!isReady) return;
        // After the first view the focus stays at the start, where the skip link is.
        if (!isFirst.current) main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
        isFirst.current = false;
    }, [place, isReady]);

    return (
        <main
            id="main"
            ref={main}
            tabIndex={-1}
            class={`view-${view.name}`}
            aria-busy={isReady || failed ? undefined : "true"}
        >
            {failed === view.name ? (
                <ErrorState error={LOAD_ERROR} onRetry={() => location.reload()} retryTitle="Reload the page" />
            ) : Shown ? (
                <Boundary key={place}>
                    <Shown namespace={namespace} rest={rest} query={query} />
                </Boundary>
            ) : (
                <Skeleton count={3} />
            )}
        </main>
    );
}

const LOAD_ERROR = {
    status: 0,
    code: "view_not_loaded",
    // A browser may keep the failure of a module until the page is reloaded.
    message: "The files of this view could not be loaded. Check that the server is running, then reload the page.",
};

/** Shows an error of a view in its place, so that the navigation stays usable. */
class Boundary extends Component<{ children: ComponentChildren }, { error: Error | null }> {
    override state: { error: Error | null } = { error: null };

    static override getDerivedStateFromError(error: Error): { error: Error } {
        return { error };
    }

    override render() {
        const { error } = this.state;
        if (!error) return this.props.children;
        const shown = {
            status: 0,
            code: "view_failed",
            message: `The view failed: ${error.message}. Please report this.`,
        };
        return <ErrorState error={shown} onRetry={() => this.setState({ error: null })} />;
    }
}
