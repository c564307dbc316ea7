// Skills: procedures, searched by task.

import { h } from "../dom.js";
import { get } from "../api.js";
import { heading, card, bar, chips, empty, markdown, to } from "../parts.js";

export default async function skills({ namespace, query }) {
  const q = query.get("q") ?? "";
  const { skills: found } = await get("/v1/skills", { namespace, q, limit: 200 });
  const task = h("input", { id: "query", type: "search", value: q, "aria-label": "Task", placeholder: "What is to be done?" });
  const one = async (skill) =>
    h(
      "article",
      { class: "card" },
      h("h2", {}, h("a", { href: to.memory(namespace, skill.path) }, skill.name)),
      skill.score !== undefined && h("div", { class: "score wide" }, h("strong", {}, skill.score.toFixed(2)), bar(skill.score, `score ${skill.score.toFixed(2)}`)),
      skill.description && h("p", {}, skill.description),
      h("p", { class: "dim" }, skill.topic, " ", chips(skill.tags)),
      h("details", {}, h("summary", {}, "Show"), await markdown(skill.content, namespace, skill.path), skill.triggers?.length ? [h("h3", {}, "Cues"), h("ul", {}, skill.triggers.map((text) => h("li", {}, text)))] : null),
    );
  return [
    heading("Skills"),
    h("form", { class: "row", onsubmit: (event) => (event.preventDefault(), (location.hash = `#/n/${namespace}/skills?q=${encodeURIComponent(task.value)}`)) }, task, h("button", {}, "Find")),
    found.length ? await Promise.all(found.map(one)) : empty(q ? "No skill for that." : "No skills yet. Numbered steps in a conversation become one; POST /v1/skills stores them directly."),
  ];
}
