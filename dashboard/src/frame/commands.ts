// Commands of the palette. The frame registers those that always apply; a view adds its own with `useCommands`.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Command {
  /** Unique name, such as `go-search`. */
  id: string;
  title: string;
  /** Heading under which the command is listed. */
  group: string;
  run: () => void;
}

const sets = signal<readonly (readonly Command[])[]>([]);

/** Whether the palette is open. */
export const isPaletteOpen = signal(false);

/** Returns all commands; those of the view come first. */
export function listCommands(): Command[] {
  return [...sets.value].reverse().flat();
}

/** Registers commands while a component is mounted. `dependencies` are what the commands depend on. */
export function useCommands(commands: readonly Command[], dependencies: readonly unknown[]): void {
  useEffect(() => {
    sets.value = [...sets.peek(), commands];
    return () => {
      sets.value = sets.peek().filter((each) => each !== commands);
    };
  }, dependencies);
}
