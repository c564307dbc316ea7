// Search: a query with all filters, and the hits with their arms, their times and what made their scores.

import { h, fill, time, day } from "../dom.js";
import { get, post } from "../api.js";
import { heading, card, bar, chips, field, empty, words, to } from "../parts.js";

const TIERS = ["facts", "incidents", "rules", "skills"];

export default async function search({ namespace, query }) {
  const text = h("input", { id: "query", type: "search", placeholder: "What should come to mind?", autocomplete: "off", "aria-label": "Query", value: query.get("q") ?? "" });
  const tiers = TIERS.map((tier) => h("input", { type: "checkbox", name: "tier", value: tier }));
  const input = (type, more) => h("input", { type, autocomplete: "off", ...more });
  const inputs = {
    paths: input("text"),
    tags: input("text"),
    tags_all: input("text"),
    where: input("text"),
    since: input("date"),
    until: input("date"),
    time_field: h("select", {}, ["updated", "occurred", "created"].map((name) => h("option", {}, name))),
    timezone: input("text", { value: Intl.DateTimeFormat().resolvedOptions().timeZone }),
    min_score: input("number", { min: "0", max: "1", step: "0.05" }),
    limit: input("number", { min: "1", max: "200", value: "24" }),
  };
  const results = h("div", { "aria-live": "polite" });

  function filters() {
    const values = { tiers: tiers.filter((box) => box.checked).map((box) => box.value).join(",") };
    for (const [name, each] of Object.entries(inputs)) values[name] = each.value.trim();
    // The time zone has a default value and only affects dates.
    if (!values.since && !values.until) delete values.timezone;
    return values;
  }
  async function ask(event, answering) {
    event?.preventDefault();
    fill(results, h("p", { class: "dim" }, "…"));
    try {
      fill(results, answering ? await answered(namespace, text.value, filters()) : await found(namespace, text.value, filters()));
    } catch (error) {
      const none = error.code === "no_answer";
      fill(results, none ? empty("No memory answers this.") : h("p", { class: "bad", role: "alert" }, error.message));
    }
  }
  const form = h(
    "form",
    { onsubmit: ask, class: "card" },
    h("div", { class: "row" }, text, h("button", { class: "main" }, "Search"), h("button", { type: "button", onclick: () => ask(null, true) }, "Answer")),
    h(
      "details",
      {},
      h("summary", {}, "Filters"),
      h("fieldset", { class: "row" }, h("legend", {}, "Tiers"), TIERS.map((tier, at) => h("label", {}, tiers[at], " ", tier))),
      h(
        "div",
        { class: "grid" },
        field("Directories", inputs.paths, "comma-separated, such as facts/noor"),
        field("Any of these tags", inputs.tags),
        field("All of these tags", inputs.tags_all),
        field("Metadata", inputs.where, "such as team:blue or priority>=3"),
        field("Since", inputs.since),
        field("Until, inclusive", inputs.until),
        field("Time field", inputs.time_field),
        field("Time zone", inputs.timezone),
        field("Minimum score", inputs.min_score),
        field("Maximum hits", inputs.limit),
      ),
    ),
  );
  if (text.value) ask();
  return [heading("Search"), form, results];
}

async function found(namespace, q, filters) {
  const began = performance.now();
  const answer = await get("/v1/retrieve", { namespace, q, ...filters, explain: "true" });
  const took = performance.now() - began;
  const hits = answer.hits ?? [];
  const arms = ["vector", "lexical", "graph"].map((arm) => `${arm} ${answer[`${arm}_ms`].toFixed(2)} ms`);
  return [
    h("p", { class: "dim" }, `${hits.length} hit${hits.length === 1 ? "" : "s"} · ${arms.join(" · ")} · ${took.toFixed(0)} ms in total${answer.cold_start ? " · cold start" : ""}`),
    answer.defined && h("dl", { class: "card" }, answer.defined.map((term) => [h("dt", {}, [term.term, ...(term.aliases ?? [])].join(", ")), h("dd", {}, term.definition)])),
    hits.length ? h("ol", { class: "hits" }, hits.map((hit) => h("li", {}, shownHit(namespace, hit)))) : empty("Nothing here comes to mind. Try other words or fewer filters."),
  ];
}

function shownHit(namespace, hit) {
  const [title, ...rest] = hit.content.replace(/^#+\s*/, "").split("\n");
  return h(
    "article",
    { class: "card hit" },
    h("div", { class: "score" }, h("strong", {}, hit.score.toFixed(2)), bar(hit.score, `score ${hit.score.toFixed(2)}`)),
    h(
      "div",
      {},
      h("h2", {}, h("a", { href: to.memory(namespace, hit.path) }, title)),
      h("p", {}, rest.join("\n").trim()),
      h("p", { class: "dim" }, chips(hit.matched), " ", hit.via && ["via ", h("a", { href: to.memory(namespace, hit.via) }, hit.via), " "], h("code", {}, hit.path), " ", hit.occurred_at && `· happened ${day(hit.occurred_at)} `, "· changed ", time(hit.updated_at)),
      hit.explanation && h("details", {}, h("summary", {}, "Why this score?"), explained(hit)),
    ),
  );
}

/** What a score was made from: a bar for the log-odds of each part, which begins where the one before it ends. */
function explained({ score, explanation: { cue, terms, base_log_odds, contributions } }) {
  const parts = [{ feature: "without evidence", log_odds: base_log_odds }, ...contributions.filter((part) => part.log_odds)];
  let sum = 0;
  const bars = parts.map(({ feature, log_odds }) => {
    const before = sum;
    sum += log_odds;
    return { name: feature.replace("_", " "), log_odds, from: Math.min(before, sum), to: Math.max(before, sum) };
  });
  const left = Math.min(...bars.map((each) => each.from));
  const range = Math.max(...bars.map((each) => each.to)) - left || 1;
  const share = (value) => `${(value / range) * 100}%`;
  return [
    terms.length > 0 && h("p", { class: "dim" }, `Words: ${terms.map((part) => `${part.term} ${part.bm25.toFixed(1)}`).join(" · ")}`),
    cue?.text && h("p", { class: "dim" }, `Nearest cue: “${cue.text}” (cosine ${cue.cosine.toFixed(2)})`),
    h("ol", { class: "waterfall" }, bars.map(({ name, log_odds, from, to }) =>
      h("li", {},
        h("span", {}, name),
        h("span", { class: "steps", "aria-hidden": "true" }, h("span", { class: log_odds < 0 ? "lowers" : "raises", style: { "margin-left": share(from - left), width: share(to - from) } })),
        h("span", {}, `${log_odds < 0 ? "−" : "+"}${Math.abs(log_odds).toFixed(2)}`),
      ),
    )),
    h("p", { class: "dim" }, `Log-odds ${sum.toFixed(2)}, which is a probability of ${score.toFixed(2)}.`),
  ];
}

async function answered(namespace, q, { tiers, paths, tags, tags_all, ...filters }) {
  const lists = { tiers, paths, tags, tags_all };
  const body = { namespace, q };
  for (const [name, value] of Object.entries(lists)) if (value) body[name] = words(value);
  for (const [name, value] of Object.entries(filters)) if (value) body[name] = name === "limit" || name === "min_score" ? Number(value) : value;
  const answer = await post("/v1/answer", body);
  return h(
    "article",
    { class: "card" },
    h("h2", {}, "Answer"),
    h("p", { class: "answer" }, answer.answer),
    h("p", { class: "dim" }, `by ${answer.model}`),
    h("h3", {}, "Citations"),
    h("ol", { class: "quotes" }, answer.citations.map((citation) => h("li", {}, h("q", {}, citation.quote), " ", h("a", { href: to.memory(namespace, citation.path) }, citation.path)))),
  );
}
