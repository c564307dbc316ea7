// Billing: the wallet, prices, plans and transactions.

import { h, time, number } from "../dom.js";
import { get, post } from "../api.js";
import { heading, card, table, empty, ask, attempt, field } from "../parts.js";

const PLANS = ["starter", "growth", "scale", "max"];

export default async function billing() {
  const shown = await get("/v1/billing");
  const money = (paise) => new Intl.NumberFormat(undefined, { style: "currency", currency: shown.currency }).format(paise / 100);
  const recharge = async () => {
    const amount = h("input", { type: "number", min: "500", max: "100000", step: "1", value: String(shown.min_recharge_paise / 100), autofocus: true });
    const made = await ask("Recharge", field(`Amount, ${shown.currency}`, amount, "paid on the page of the payment provider"), "Continue", () => post("/v1/billing/recharge", { amount_paise: Math.round(Number(amount.value) * 100) }));
    if (made) location.assign(made.payment_link);
  };
  const subscribe = (plan, button) => attempt(async () => location.assign((await post("/v1/billing/subscribe", { plan })).payment_link), button);
  const rates = Object.entries(shown.rates_paise ?? {});
  return [
    heading("Billing", h("button", { class: "primary", onclick: recharge }, "Recharge")),
    h(
      "div",
      { class: "tiles" },
      h("div", { class: "tile" }, h("h2", {}, "Balance"), h("p", { class: "figure" }, money(shown.balance_paise)), h("p", { class: "dim" }, `ledger: ${shown.ledger}`)),
      h("div", { class: "tile" }, h("h2", {}, "Plan"), h("p", { class: "figure" }, shown.plan), h("p", { class: "dim" }, rates.map(([meter, paise]) => `${meter} ${money(paise)}`).join(" · "))),
    ),
    card(
      "Plans",
      h("div", { class: "row" }, PLANS.map((plan) => h("button", { disabled: plan === shown.plan, onclick: (event) => subscribe(plan, event.target) }, plan === shown.plan ? `${plan} (yours)` : `Subscribe to ${plan}`))),
    ),
    card("Transactions", shown.transactions?.length ? table("Transactions", ["When", "What", "Amount"], shown.transactions.map((each) => [time(each.at), each.note, money(each.amount_paise)])) : empty("No transactions yet.")),
    h("p", { class: "dim" }, `Minimum recharge: ${number(shown.min_recharge_paise / 100)} ${shown.currency}.`),
  ];
}
