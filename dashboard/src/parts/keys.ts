// Names of keyboard shortcuts on this system.

const IS_APPLE = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Returns the name of a key that is pressed with Ctrl, or with ⌘ on Apple's systems. */
export function shortcut(key: string): string {
  return IS_APPLE ? `⌘ ${key}` : `Ctrl ${key}`;
}
