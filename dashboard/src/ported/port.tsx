// Shows a view of the first dashboard, which builds its elements itself. Views that are written for this app replace the
// ported ones one by one; the folder `ported` goes with the last of them.

import { useEffect, useRef } from "preact/hooks";
import { features, loadAccount, namespaces } from "../account";
import "./ported.css";
import type { ViewComponent, ViewProps } from "../views";

interface Context {
  namespace: string;
  rest: string;
  query: URLSearchParams;
  namespaces: unknown;
  features: unknown;
  refresh: () => Promise<void>;
}

export type Build = (context: Context) => Promise<unknown>;

/** Wraps the function that builds a view's elements. */
export function port(build: Build): ViewComponent {
  return function Ported({ namespace, rest, query }: ViewProps) {
    const place = useRef<HTMLDivElement>(null);
    const key = JSON.stringify([namespace, rest, query.toString(), namespaces.value, features.value]);
    useEffect(() => {
      const turn = { isOver: false };
      const element = place.current!;
      async function show(): Promise<void> {
        const main = element.closest("main");
        // An address may change while the view is being removed.
        if (turn.isOver || !main) return;
        main.setAttribute("aria-busy", "true");
        const context = { namespace, rest, query, namespaces: namespaces.value, features: features.value, refresh };
        const built = await build(context).then(
          (content) => [content],
          (error: Error) => [failure(error, () => void show())],
        );
        if (turn.isOver) return;
        const nodes = (built.flat(Infinity) as (Node | string | null | false | undefined)[]).filter(
          (node) => node !== null && node !== undefined && node !== false,
        ) as (Node | string)[];
        element.replaceChildren(...nodes);
        main.removeAttribute("aria-busy");
        const title = element.querySelector("h1")?.textContent ?? "";
        document.title = `${title} · Cuebase`;
        element.querySelector("h1")?.focus({ preventScroll: true });
      }
      async function refresh(): Promise<void> {
        await loadAccount();
        if (!turn.isOver) await show();
      }
      function again(): void {
        void show();
      }
      // The ported views reload themselves with this event.
      window.addEventListener("hashchange", again);
      void show();
      return () => {
        turn.isOver = true;
        window.removeEventListener("hashchange", again);
        element.closest("main")?.removeAttribute("aria-busy");
      };
    }, [key]);
    return <div ref={place} class="ported" />;
  };
}

function failure(error: Error, retry: () => void): Node[] {
  const heading = document.createElement("h1");
  heading.tabIndex = -1;
  heading.textContent = "Could not load this page";
  const message = document.createElement("p");
  message.className = "bad";
  message.setAttribute("role", "alert");
  message.textContent = error.message;
  const button = document.createElement("button");
  button.textContent = "Try again";
  button.addEventListener("click", retry);
  return [heading, message, button];
}
