// Creation of elements without markup: texts are never parsed as HTML.

import { copyText, toast, toastError } from "../parts";

const SVG = "http://www.w3.org/2000/svg";

/** Creates an HTML element: attributes, listeners such as `onclick`, and children, which are nodes, texts or lists. */
export function h(name, attributes, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** Creates an SVG element. */
export function s(name, attributes, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, to] of Object.entries(value)) element.style.setProperty(key, to);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return build(element, {}, children);
}

/** Shows a message for a short time; an error stays longer. */
export const notice = (text, bad = false) => (bad ? toastError(text) : toast(text));

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const STEPS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];

/** A relative time such as "2 hours ago", with the exact time as its title. */
export function time(text) {
  if (!text) return h("span", { class: "dim" }, "—");
  const at = new Date(text);
  const seconds = (at - Date.now()) / 1000;
  const step = STEPS.find(([, length]) => Math.abs(seconds) >= length);
  const shown = step ? relative.format(Math.round(seconds / step[1]), step[0]) : "just now";
  return h("time", { datetime: text, title: absolute.format(at) }, shown);
}

/** A day. */
export const day = (text) => (text ? new Date(text).toLocaleDateString(undefined, { dateStyle: "medium", timeZone: "UTC" }) : "—");

/** A number with separators between thousands. */
export const number = (value) => Number(value).toLocaleString();

/** Copies a text. */
export const copy = copyText;
