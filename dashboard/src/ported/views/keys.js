// API keys: creation, which shows a key once, and revocation with confirmation.

import { h, time, notice } from "../dom.js";
import { get, post, remove } from "../api.js";
import { heading, card, table, empty, ask, dialog, confirmed, copier, attempt, field } from "../parts.js";

export default async function keys({ namespaces, refresh }) {
  const { keys: list } = await get("/v1/keys");
  const row = (key) => [
    key.name || h("span", { class: "dim" }, "no name"),
    h("code", {}, key.id),
    key.env,
    key.namespace ?? "all",
    time(key.created_at),
    key.revoked ? h("span", { class: "dim" }, "revoked") : h("button", { class: "danger", "aria-label": `Revoke ${key.name || key.id}`, onclick: () => revoke(key, refresh) }, "Revoke"),
  ];
  return [
    heading("Keys", h("button", { class: "primary", onclick: () => create(namespaces, refresh) }, "New key")),
    card(null, list.length ? table("Keys", ["Name", "Id", "Environment", "Namespace", "Created", ""], list.map(row)) : empty("No keys yet. An application needs one to call the API.")),
  ];
}

async function create(namespaces, refresh) {
  const name = h("input", { autocomplete: "off", autofocus: true });
  const env = h("select", {}, ["live", "test"].map((each) => h("option", {}, each)));
  const scope = h("select", {}, h("option", { value: "" }, "All namespaces"), namespaces.map((each) => h("option", {}, each.name)));
  const made = await ask(
    "New key",
    [field("Name", name, "what it is for"), field("Environment", env, "shown in the key's prefix; does not separate data"), field("Restricted to", scope)],
    "Create",
    () => post("/v1/keys", { name: name.value, env: env.value, ...(scope.value ? { namespace: scope.value } : {}) }),
  );
  if (!made) return;
  await dialog("Your new key", (close) => [
    h("p", {}, "The key cannot be shown again. Store it in a safe place."),
    h("pre", { class: "secret", tabindex: "0" }, made.key),
    h("div", { class: "row end" }, copier(made.key, "Copy"), h("button", { class: "primary", onclick: () => close(true) }, "Done")),
  ]);
  refresh();
}

async function revoke(key, refresh) {
  if (!(await confirmed(`Revoke ${key.name || key.id}?`, "Requests with this key are rejected from now on. This cannot be undone.", "Revoke"))) return;
  if (await attempt(() => remove(`/v1/keys/${key.id}`))) notice("Revoked"), refresh();
}
