// Parts that several views use.

import { h, fill, notice, copy } from "./dom.js";
import { createElement, render } from "preact";
import { encoded } from "./api.js";
import { Markdown } from "../parts";

/** Addresses of the views. */
export const to = {
  memories: (namespace, path = "") => `#/n/${namespace}/memories${path ? `/${encoded(path)}` : ""}`,
  memory: (namespace, path) => `#/n/${namespace}/memory/${encoded(path)}`,
  graph: (namespace, path = "") => `#/n/${namespace}/graph${path ? `/${encoded(path)}` : ""}`,
  conversation: (namespace, id) => `#/n/${namespace}/conversations/${encodeURIComponent(id)}`,
};

/** A heading with buttons next to it. */
export const heading = (text, ...actions) =>
  h("header", { class: "heading" }, h("h1", { tabindex: "-1" }, text), h("div", { class: "row" }, actions));

/** A box with a title. */
export const card = (title, ...children) => h("section", { class: "card" }, title && h("h2", {}, title), children);

/** The text of an empty list, and what to do about it. */
export const empty = (text, ...more) => h("div", { class: "empty" }, h("p", {}, text), more);

/** A table: names of columns, and rows of cells. */
export function table(caption, columns, rows) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "away" }, caption),
      h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))),
    ),
  );
}

/** A labelled field; `input` is an element that gets an id. */
let fields = 0;
export function field(label, input, hint) {
  const id = `field-${++fields}`;
  input.id = id;
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, hint && h("small", { id: `${id}-hint` }, hint));
}

/** Splits a comma-separated list. */
export const words = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);

/** Small labels. */
export const chips = (values, kind = "") => h("span", { class: "chips" }, (values ?? []).map((value) => h("span", { class: `chip ${kind}` }, value)));

/** A bar for a share from 0 to 1; `text` is for screen readers. */
export const bar = (share, text) =>
  h(
    "span",
    { class: "bar", role: "img", "aria-label": text },
    h("span", { style: { width: `${Math.max(0, Math.min(1, share)) * 100}%` } }),
  );

/** A button that copies a text. */
export const copier = (text, label = "Copy") => h("button", { onclick: () => copy(text) }, label);

/** Runs an action and shows its error, if it fails. The button is disabled meanwhile. */
export async function attempt(act, button) {
  if (button) button.disabled = true;
  try {
    return await act();
  } catch (error) {
    notice(error.message, true);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}

/** Shows a dialog. Resolves to the argument of `close`, or to nothing if the dialog was cancelled. */
export function dialog(title, body) {
  return new Promise((resolve) => {
    const before = document.activeElement;
    const id = `dialog-${++fields}`;
    const shown = h("dialog", { class: "ported-dialog ported", "aria-labelledby": id });
    let result;
    const close = (value) => {
      result = value;
      shown.close();
    };
    fill(shown, h("h2", { id }, title), body(close));
    shown.addEventListener("close", () => {
      shown.remove();
      before?.focus?.();
      resolve(result);
    });
    document.body.append(shown);
    shown.showModal();
  });
}

/** Asks for confirmation before an action that cannot be undone. */
export const confirmed = (title, text, action) =>
  dialog(title, (close) => [
    h("p", {}, text),
    h(
      "div",
      { class: "row end" },
      h("button", { onclick: () => close(false), autofocus: true }, "Cancel"),
      h("button", { class: "danger", onclick: () => close(true) }, action),
    ),
  ]);

/** Shows a form. Runs `act` when it is submitted, and shows its error in the form, if it fails. */
export function ask(title, fieldsets, action, act) {
  return dialog(title, (close) => {
    const problem = h("p", { class: "bad", role: "alert" });
    const button = h("button", { class: "primary" }, action);
    const submit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        close((await act()) ?? true);
      } catch (error) {
        fill(problem, error.message);
        button.disabled = false;
      }
    };
    const cancel = h("button", { type: "button", onclick: () => close() }, "Cancel");
    return h("form", { onsubmit: submit }, fieldsets, problem, h("div", { class: "row end" }, cancel, button));
  });
}

/** Renders a markdown text. Links to other memories stay in the page. */
export async function markdown(text, namespace, path) {
  const body = h("div", {});
  render(createElement(Markdown, { text, namespace, path }), body);
  return body;
}

/** A unified diff, line by line. */
export function diff(text) {
  const kind = (line) =>
    /^(---|\+\+\+)/.test(line) ? "dim" : line.startsWith("@@") ? "place" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
  const lines = text.replace(/\n$/, "").split("\n");
  return h("pre", { class: "diff", tabindex: "0" }, lines.map((line) => h("span", { class: kind(line) }, `${line}\n`)));
}
