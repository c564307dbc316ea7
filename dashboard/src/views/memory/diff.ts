// Differences of two texts: by line, and within a changed line by word.

/** Most lines of a text that is compared line by line. Longer texts are compared as a whole. */
const LINES_MAX = 1500;

export type ChangeKind = "same" | "added" | "removed";

/** A part of a line. `isChanged` marks the words that differ. */
export interface Span {
  text: string;
  isChanged: boolean;
}

export interface DiffLine {
  kind: ChangeKind;
  spans: Span[];
}

/** Returns the lines of both texts in their order, removed ones before added ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const parts = diffParts(splitText(before), splitText(after));
  const lines: DiffLine[] = [];
  let index = 0;
  while (index < parts.length) {
    const part = parts[index]!;
    if (part.kind === "same") {
      lines.push({ kind: "same", spans: [{ text: part.text, isChanged: false }] });
      index += 1;
      continue;
    }
    const removed: string[] = [];
    const added: string[] = [];
    for (; index < parts.length && parts[index]!.kind !== "same"; index += 1) {
      (parts[index]!.kind === "removed" ? removed : added).push(parts[index]!.text);
    }
    lines.push(...pairLines(removed, added));
  }
  return lines;
}

/** Compares removed lines with the added ones in their place, word by word. */
function pairLines(removed: readonly string[], added: readonly string[]): DiffLine[] {
  const before: DiffLine[] = [];
  const after: DiffLine[] = [];
  for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
    const [old, fresh] = [removed[index], added[index]];
    const words = old !== undefined && fresh !== undefined ? diffParts(splitWords(old), splitWords(fresh)) : null;
    // Lines that have little in common are easier to read as a whole.
    const isSimilar = words !== null && words.some((word) => word.kind === "same" && /[\p{L}\p{N}]/u.test(word.text));
    if (old !== undefined) before.push({ kind: "removed", spans: spansOf(isSimilar ? words : null, "removed", old) });
    if (fresh !== undefined) after.push({ kind: "added", spans: spansOf(isSimilar ? words : null, "added", fresh) });
  }
  return [...before, ...after];
}

function spansOf(words: Part[] | null, kind: ChangeKind, line: string): Span[] {
  if (!words) return [{ text: line, isChanged: false }];
  const spans: Span[] = [];
  for (const word of words) {
    if (word.kind !== "same" && word.kind !== kind) continue;
    const isChanged = word.kind === kind;
    const last = spans.at(-1);
    if (last?.isChanged === isChanged) last.text += word.text;
    else spans.push({ text: word.text, isChanged });
  }
  return spans;
}

interface Part {
  kind: ChangeKind;
  text: string;
}

/** Compares two sequences by their longest common subsequence. */
function diffParts(before: readonly string[], after: readonly string[]): Part[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const parts: Part[] = before.slice(0, start).map((text) => ({ kind: "same", text }));
  parts.push(...compareMiddle(old, fresh));
  for (const text of before.slice(before.length - end)) parts.push({ kind: "same", text });
  return parts;
}

/** Compares what is between the common start and the common end. */
function compareMiddle(old: readonly string[], fresh: readonly string[]): Part[] {
  if (old.length > LINES_MAX || fresh.length > LINES_MAX) {
    const removed: Part[] = old.map((text) => ({ kind: "removed", text }));
    return [...removed, ...fresh.map((text): Part => ({ kind: "added", text }))];
  }
  const width = fresh.length + 1;
  // Lengths of the longest common subsequence of what follows both positions.
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      const below = lengths[(i + 1) * width + j]!;
      const beyond = lengths[i * width + j + 1]!;
      const isSame = old[i] === fresh[j];
      lengths[i * width + j] = isSame ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(below, beyond);
    }
  }
  const parts: Part[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      parts.push({ kind: "same", text: old[i]! });
      i += 1;
      j += 1;
    } else if (j >= fresh.length || (i < old.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      parts.push({ kind: "removed", text: old[i]! });
      i += 1;
    } else {
      parts.push({ kind: "added", text: fresh[j]! });
      j += 1;
    }
  }
  return parts;
}

function splitText(text: string): string[] {
  const trimmed = text.replace(/\n+$/, "");
  return trimmed === "" ? [] : trimmed.split("\n");
}

function splitWords(line: string): string[] {
  return line.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]/gu) ?? [];
}

/** Returns the changed lines of a unified diff that are not lines of the texts: those of the front matter. */
export function frontMatterChanges(unified: string, before: string, after: string): DiffLine[] {
  const texts = new Set([...splitText(before), ...splitText(after), "", "---"]);
  const lines: DiffLine[] = [];
  for (const line of unified.split("\n")) {
    if (/^(---|\+\+\+) /.test(line) || !/^[+-]/.test(line) || texts.has(line.slice(1))) continue;
    const kind = line.startsWith("+") ? "added" : "removed";
    lines.push({ kind, spans: [{ text: line.slice(1), isChanged: false }] });
  }
  return lines;
}
