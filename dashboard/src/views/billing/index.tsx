// Billing: the wallet, prices, plans and transactions. Offered only where the server has a payment provider.

import { useState } from "preact/hooks";
import { call, type ResponseOf } from "../../api";
import {
    Card,
    Empty,
    Field,
    FormDialog,
    Loaded,
    PageHeading,
    Table,
    Tag,
    Time,
    toastError,
    type Column,
} from "../../parts";
import { useRequest } from "../../request";

type Billing = ResponseOf<"get", "/v1/billing">;
type Transaction = Billing["transactions"][number];
type Format = (paise: number) => string;

const PLANS = ["starter", "growth", "scale", "max"] as const;
const MAX_RECHARGE = 100_000;

export default function BillingView() {
    const [isRecharging, setRecharging] = useState(false);
    const request = useRequest("get", "/v1/billing", {});
    return (
        <>
            <PageHeading title="Billing">
                <button type="button" class="primary" disabled={!request.data} onClick={() => setRecharging(true)}>
                    Recharge
                </button>
            </PageHeading>
            <Loaded request={request}>
                {(billing) => (
                    <>
                        <Wallet billing={billing} format={moneyFormat(billing.currency)} />
                        <Plans current={billing.plan} />
                        <Transactions list={billing.transactions} format={moneyFormat(billing.currency)} />
                    </>
                )}
            </Loaded>
            {isRecharging && request.data && (
                <RechargeDialog billing={request.data} onClose={() => setRecharging(false)} />
            )}
        </>
    );
}

/** Returns a function that formats amounts in hundredths of a currency. */
function moneyFormat(currency: string): Format {
    const format = new Intl.NumberFormat(undefined, { style: "currency", currency });
    return (paise) => format.format(paise / 100);
}

function Wallet({ billing, format }: { billing: Billing; format: Format }) {
    return (
        <Card title="Wallet">
            <p>
                Balance: <strong>{format(billing.balance_paise)}</strong>
            </p>
            <p>
                Plan: <strong>{billing.plan}</strong>
            </p>
            <p class="row">
                {Object.entries(billing.rates_paise).map(([meter, paise]) => (
                    <Tag key={meter}>
                        {meter} {format(paise)}
                    </Tag>
                ))}
            </p>
            <p class="dim">
                Ledger: {billing.ledger}. Minimum recharge: {format(billing.min_recharge_paise)}.
            </p>
        </Card>
    );
}

function Plans({ current }: { current: string }) {
    async function subscribe(plan: (typeof PLANS)[number]): Promise<void> {
        const result = await call("post", "/v1/billing/subscribe", { body: { plan } });
        if (result.ok) location.assign(result.value.payment_link);
        else toastError(result.error.message);
    }
    return (
        <Card title="Plans">
            <div class="row">
                {PLANS.map((plan) => (
                    <button key={plan} type="button" disabled={plan === current} onClick={() => void subscribe(plan)}>
                        {plan === current ? `${plan} (yours)` : `Subscribe to ${plan}`}
                    </button>
                ))}
            </div>
        </Card>
    );
}

function Transactions({ list, format }: { list: readonly Transaction[]; format: Format }) {
    const columns: Column<Transaction>[] = [
        { title: "When", cell: (each) => <Time at={each.at} /> },
        { title: "What", cell: (each) => each.note },
        { title: "Amount", isNumber: true, cell: (each) => format(each.amount_paise) },
    ];
    return (
        <Card title="Transactions">
            {list.length === 0 ? (
                <Empty title="No transactions yet." />
            ) : (
                <Table
                    caption="Transactions"
                    columns={columns}
                    rows={list}
                    rowKey={(each) => `${each.at} ${each.note} ${each.amount_paise}`}
                />
            )}
        </Card>
    );
}

function RechargeDialog({ billing, onClose }: { billing: Billing; onClose: () => void }) {
    const smallest = billing.min_recharge_paise / 100;
    const [amount, setAmount] = useState(String(smallest));
    const body = { amount_paise: Math.round(Number(amount) * 100) };
    return (
        <FormDialog
            title="Recharge"
            action="Continue"
            submit={() => call("post", "/v1/billing/recharge", { body })}
            onDone={(made) => location.assign(made.payment_link)}
            onClose={onClose}
        >
            <Field label={`Amount, ${billing.currency}`} hint="paid on the page of the payment provider">
                {(field) => (
                    <input
                        {...field}
                        type="number"
                        required
                        min={smallest}
                        max={MAX_RECHARGE}
                        step="1"
                        autoFocus
                        value={amount}
                        onInput={(event) => setAmount(event.currentTarget.value)}
                    />
                )}
            </Field>
        </FormDialog>
    );
}
