// The vocabulary of a namespace.

import { h, notice } from "../dom.js";
import { get, post, remove } from "../api.js";
import { heading, card, table, empty, ask, confirmed, attempt, chips, field, words } from "../parts.js";

export default async function vocabulary({ namespace, query }) {
  const like = query.get("like") ?? "";
  const { terms } = await get("/v1/vocab", { namespace, like, limit: 1000 });
  const again = () => window.dispatchEvent(new Event("hashchange"));
  const search = h("input", { type: "search", value: like, "aria-label": "Find a term", placeholder: "Find a term" });
  const row = (term) => [
    h("strong", {}, term.term),
    chips(term.aliases),
    term.definition,
    h("div", { class: "row" }, h("button", { "aria-label": `Edit ${term.term}`, onclick: () => teach(namespace, term, again) }, "Edit"), h("button", { class: "danger", "aria-label": `Forget ${term.term}`, onclick: () => forget(namespace, term, again) }, "Forget")),
  ];
  return [
    heading("Vocabulary", h("button", { class: "primary", onclick: () => teach(namespace, {}, again) }, "Teach a term")),
    h("form", { class: "row", onsubmit: (event) => (event.preventDefault(), (location.hash = `#/n/${namespace}/vocabulary?like=${encodeURIComponent(search.value)}`)) }, search, h("button", {}, "Find")),
    card(null, terms.length ? table("Terms", ["Term", "Aliases", "Definition", ""], terms.map(row)) : empty(like ? "No term like that." : "No terms yet. A term is found under any of its names, and its definition is returned with the hits.")),
  ];
}

// Terms are stored in the background, so the list is requested until it shows the change.
async function settle(namespace, term, there, again) {
  for (let tries = 0; tries < 50; tries++) {
    const { found } = await get("/v1/vocab", { namespace, word: term });
    if (found === there) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  again();
}

async function teach(namespace, term, again) {
  const name = h("input", { required: true, maxlength: "120", value: term.term ?? "", readonly: Boolean(term.term), autocomplete: "off" });
  const aliases = h("input", { value: (term.aliases ?? []).join(", "), autocomplete: "off" });
  const definition = h("textarea", { required: true, maxlength: "2000", rows: "4", value: term.definition ?? "" });
  const body = () => ({ namespace, terms: [{ term: name.value.trim(), aliases: words(aliases.value), definition: definition.value.trim() }] });
  const done = await ask(term.term ? "Edit a term" : "Teach a term", [field("Term", name), field("Aliases", aliases, "comma-separated"), field("Definition", definition)], "Teach", () => post("/v1/vocab", body()));
  if (done) notice("Taught"), await attempt(() => settle(namespace, name.value.trim(), true, again));
}

async function forget(namespace, { term }, again) {
  if (!(await confirmed(`Forget ${term}?`, "Queries no longer find it by its aliases.", "Forget"))) return;
  await attempt(async () => {
    await remove("/v1/vocab", { namespace, term });
    await settle(namespace, term, false, again);
  });
}
