// A table that scrolls within its own region, so that the page never scrolls sideways.

import type { ComponentChildren } from "preact";

export interface Column<T> {
    title: string;
    cell: (row: T) => ComponentChildren;
    /** Numbers are aligned at the end. */
    isNumber?: boolean;
}

export function Table<T>(props: {
    caption: string;
    columns: readonly Column<T>[];
    rows: readonly T[];
    rowKey: (row: T) => string;
}) {
    const { caption, columns, rows, rowKey } = props;
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
            <table>
                <caption class="visually-hidden">{caption}</caption>
                <thead>
                    <tr>
                        {columns.map((column) => (
                            <th key={column.title} scope="col" class={column.isNumber ? "number" : undefined}>
                                {column.title}
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {rows.map((row) => (
                        <tr key={rowKey(row)}>
                            {columns.map((column) => (
                                <td key={column.title} class={column.isNumber ? "number" : undefined}>
                                    {column.cell(row)}
                                </td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}
