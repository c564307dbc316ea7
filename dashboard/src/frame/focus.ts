// Keeps the focus when the element that has it disappears or is disabled, as after a row is deleted or a dialog is
// closed. Without this the focus would be at the start of the page, and the next key would do something else.

import { useEffect } from "preact/hooks";

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

/** An element that had the focus, and its place among those that can have it. */
interface Focused {
  element: HTMLElement;
  index: number;
}

/** Moves the focus to what took the place of an element that disappears. */
export function useKeptFocus(): void {
  useEffect(() => {
    let last: HTMLElement | null = null;
    let lastInView: Focused | null = null;

    function remember(event: FocusEvent): void {
      last = event.target as HTMLElement;
      if (last.closest("main") && !last.closest("dialog"))
        lastInView = { element: last, index: listFocusable().indexOf(last) };
    }
    /** A click next to all elements gives the focus up. */
    function giveUp(event: FocusEvent): void {
      requestAnimationFrame(() => {
        if (last && event.target === last && canHaveFocus(last) && document.activeElement === document.body)
          last = null;
      });
    }
    function keep(): void {
      if (!last || canHaveFocus(last)) return;
      // A view or a dialog that takes the focus by itself has done so when its frame is painted.
      if (document.activeElement !== document.body && document.activeElement !== last) return;
      // A modal dialog closes itself first, and returns the focus.
      if (document.querySelector("dialog[open]")) return;
      findSuccessor(lastInView)?.focus({ preventScroll: true });
    }
    const observer = new MutationObserver(() => requestAnimationFrame(keep));
    observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
    document.addEventListener("focusin", remember);
    document.addEventListener("focusout", giveUp);
    return () => {
      observer.disconnect();
      document.removeEventListener("focusin", remember);
      document.removeEventListener("focusout", giveUp);
    };
  }, []);
}

/** Returns the remembered element, otherwise the one at its place, otherwise the heading of the view. */
function findSuccessor(before: Focused | null): HTMLElement | null {
  const heading = document.querySelector<HTMLElement>("main h1");
  if (!before || before.index < 0) return heading;
  if (canHaveFocus(before.element)) return before.element;
  const all = listFocusable();
  return all[Math.min(before.index, all.length - 1)] ?? heading;
}

/** Returns the elements of the view that can have the focus, in their order. */
function listFocusable(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(`main :is(${FOCUSABLE}):not(dialog *)`)].filter(canHaveFocus);
}

function canHaveFocus(element: HTMLElement): boolean {
  if (!element.isConnected || element.matches(":disabled")) return false;
  return element.checkVisibility();
}
