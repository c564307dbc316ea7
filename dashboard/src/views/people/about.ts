// Memories about a subject: those that claim a fact about it, and those that name it.

import { call, type Result, type Schemas } from "../../api";

type Claim = Schemas["ProfileClaim"];

/** Hits in which the name of a subject is looked for. */
const HITS_MAX = 50;

export interface AboutMemory {
  path: string;
  title: string;
  tier: string;
  /** Attributes of the subject that the memory claims; none if the memory only names the subject. */
  attributes: string[];
  isCurrent: boolean;
}

/** Returns the memories about a subject: those with claims first, then those that name it, best hits first. */
export async function loadAbout(
  namespace: string,
  subject: string,
  claims: readonly Claim[],
  signal?: AbortSignal,
): Promise<Result<AboutMemory[]>> {
  const query = { namespace: [namespace], q: subject, limit: HITS_MAX, current: "any" as const };
  const found = await call("get", "/v1/retrieve", { query }, signal);
  if (!found.ok) return found;
  const hits = new Map((found.value.hits ?? []).map((hit) => [hit.path, hit]));
  const about = new Map<string, AboutMemory>();
  for (const claim of claims) {
    const known = about.get(claim.path);
    if (known) {
      if (!known.attributes.includes(claim.attribute)) known.attributes.push(claim.attribute);
      known.isCurrent ||= claim.current;
      continue;
    }
    const hit = hits.get(claim.path);
    about.set(claim.path, {
      path: claim.path,
      title: hit ? titleOf(hit.content, hit.path) : titleOfPath(claim.path),
      tier: tierOf(claim.path),
      attributes: [claim.attribute],
      isCurrent: claim.current,
    });
  }
  const words = foldWords(subject);
  for (const { path, content, current } of hits.values()) {
    if (about.has(path) || !namesWords(content, words)) continue;
    about.set(path, { path, title: titleOf(content, path), tier: tierOf(path), attributes: [], isCurrent: current });
  }
  return { ok: true, value: [...about.values()] };
}

/** Returns whether a text contains the folded words of a name in their order. */
function namesWords(text: string, words: string): boolean {
  return words.trim() !== "" && foldWords(text).includes(words);
}

/** Returns the words of a text in lower case, with a space around each. */
export function foldWords(text: string): string {
  return ` ${
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(" ") ?? ""
  } `;
}

export function tierOf(path: string): string {
  return path.split("/", 1)[0]!;
}

/** Returns the first heading of a memory, otherwise the words of its file name. */
export function titleOf(content: string, path: string): string {
  return /^#{1,6}\s+(.+)$/m.exec(content)?.[1] ?? titleOfPath(path);
}

/** Returns the words of a file name. Profiles have the paths of memories, but not their titles. */
export function titleOfPath(path: string): string {
  const name = path.split("/").at(-1)!.replace(/\.md$/, "");
  return name.replaceAll("-", " ");
}
