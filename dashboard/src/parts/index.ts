// All parts that views are built from.

export * from "./chart";
export * from "./code";
export * from "./dialog";
export * from "./fields";
export * from "./disclosure";
export * from "./form-dialog";
export * from "./history";
export * from "./icon";
export * from "./keys";
export * from "./layout";
export * from "./markdown";
export * from "./removals";
export * from "./table";
export * from "./text";
export * from "./toasts";
