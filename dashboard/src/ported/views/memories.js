// The tree of memories: directories and files of the repository.

import { h, number, time } from "../dom.js";
import { get, post, encoded } from "../api.js";
import { heading, card, empty, ask, field, words, to } from "../parts.js";

export default async function memories({ namespace, rest }) {
  const { entries } = await get("/v1/tree", { namespace, path: rest });
  const row = (entry) => {
    const name = entry.path.split("/").at(-1);
    const folder = entry.kind === "directory";
    return h(
      "li",
      { class: entry.kind },
      h("a", { href: folder ? to.memories(namespace, entry.path) : to.memory(namespace, entry.path) }, folder ? `${name}/` : name),
      h("span", { class: "dim" }, folder ? `${number(entry.memories)} ${entry.memories === 1 ? "memory" : "memories"}` : ""),
      h("span", { class: "dim" }, time(entry.updated_at)),
    );
  };
  return [
    heading("Memories", h("button", { class: "primary", onclick: () => write(namespace, rest) }, "New memory")),
    crumbs(namespace, rest),
    card(null, entries.length ? h("ul", { class: "tree" }, entries.map(row)) : nothing(namespace)),
  ];
}

/** Links to the parent directories of a path. */
export function crumbs(namespace, path) {
  const parts = path.split("/").filter(Boolean);
  const link = (name, upto) => h("li", {}, h("a", { href: to.memories(namespace, upto) }, name));
  const last = parts.pop();
  return h(
    "nav",
    { class: "crumbs", "aria-label": "Path" },
    h("ol", {}, last ? link(namespace, "") : h("li", { "aria-current": "page" }, namespace), parts.map((name, at) => link(name, parts.slice(0, at + 1).join("/"))), last && h("li", { "aria-current": "page" }, last)),
  );
}

const nothing = (namespace) =>
  empty(
    "Nothing is remembered here yet.",
    h("p", {}, "Post a conversation; its memories appear a moment later:"),
    h("pre", { tabindex: "0" }, `curl -H "authorization: Bearer $KEY" -d '{\n  "namespace": "${namespace}",\n  "messages": [{"role": "user", "name": "Noor",\n                "content": "I moved to Lisbon last week."}]}' \\\n  http://127.0.0.1:8080/v1/memories`),
  );

async function write(namespace, folder) {
  const under = folder || "facts";
  const path = h("input", { required: true, value: `${under}/`, spellcheck: "false", autocomplete: "off" });
  const content = h("textarea", { required: true, rows: "8" });
  const tags = h("input", { autocomplete: "off" });
  const cues = h("textarea", { rows: "3" });
  const written = await ask(
    "Write a memory",
    [
      field("Path", path, "facts/, incidents/, rules/ or skills/, ending in .md"),
      field("Content", content, "Markdown, the title as the first heading"),
      field("Tags", tags, "comma-separated"),
      field("Cues", cues, "questions that should find this memory, one per line"),
    ],
    "Write",
    () =>
      post(`/v1/memories/${encoded(path.value.trim())}`, {
        namespace,
        content: content.value,
        tags: words(tags.value),
        cues: cues.value.split("\n").map((line) => line.trim()).filter(Boolean),
      }),
  );
  if (written) location.hash = to.memory(namespace, written.path);
}
