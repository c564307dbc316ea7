// Preferences of this browser: the theme, and the direction of the page. The language of the page is English; a user of a
// right-to-left language may prefer the mirrored layout. The direction of a memory follows its own text (`dir="auto"`).

import { signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export const DIRECTIONS = ["ltr", "rtl"] as const;
export type Theme = (typeof THEMES)[number];
export type Direction = (typeof DIRECTIONS)[number];

export const theme = signal<Theme>(read("theme", THEMES));
export const direction = signal<Direction>(read("direction", DIRECTIONS));

/** Applies the preferences, and stores changes. */
export function startPreferences(): void {
  theme.subscribe((value) => {
    document.documentElement.dataset["theme"] = value;
    localStorage.setItem("theme", value);
  });
  direction.subscribe((value) => {
    document.documentElement.dir = value;
    localStorage.setItem("direction", value);
  });
}

function read<T extends string>(name: string, values: readonly [T, ...T[]]): T {
  const stored = localStorage.getItem(name);
  return values.find((value) => value === stored) ?? values[0];
}
