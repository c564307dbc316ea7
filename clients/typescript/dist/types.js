/** What the service answers and takes. Times are `Date`s, null when unknown. */
export {};
