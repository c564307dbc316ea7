// The usage meters of the account, each with its limit.

import type { Schemas } from "../../api";
import { Bar, formatNumber } from "../../parts";
import "./activity.css";

interface Usage {
    used: Schemas["Meters"];
    limits: Schemas["Meters"];
    exceeded: boolean;
}

const METERS = {
    writes: "Writes",
    reads: "Reads",
    chats: "Answers",
    memories: "Memories",
    media_bytes: "Files",
} as const satisfies Record<keyof Schemas["Meters"], string>;

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

export function UsageMeters({ usage }: { usage: Usage }) {
    const meters = Object.keys(METERS) as (keyof typeof METERS)[];
    return (
        <>
            {usage.exceeded && (
                <p class="bad" role="alert">
                    A limit of the plan is reached. Requests that count against it are rejected.
                </p>
            )}
            {meters.map((meter) => {
                const format = meter === "media_bytes" ? formatBytes : formatNumber;
                const used = usage.used[meter];
                const limit = usage.limits[meter];
                const text = `${format(used)} of ${format(limit)}`;
                return (
                    <div key={meter} class="meter">
                        <span>{METERS[meter]}</span>
                        <Bar share={limit > 0 ? used / limit : 0} label={`${METERS[meter]}: ${text}`} />
                        <span class="dim">{text}</span>
                    </div>
                );
            })}
        </>
    );
}

export function formatBytes(bytes: number): string {
    let value = bytes;
    let unit = 0;
    while (value >= 1000 && unit < UNITS.length - 1) {
        value /= 1000;
        unit += 1;
    }
    return value.toLocaleString(undefined, { style: "unit", unit: UNITS[unit]!, maximumFractionDigits: 1 });
}
