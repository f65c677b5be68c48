export * from "./router";
export * from "./session";
export * from "./middleware";
export * from "./render";
