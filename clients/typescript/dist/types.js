/** Types of arguments and responses. Times in responses are `Date`s, or `null` when unknown. */
export {};
