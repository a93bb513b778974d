import type { WithInfo } from "../http/filters/request-info.ts";

export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface WithUser extends WithInfo {
  readonly user: User;
}

export const AUTHENTICATED = "system:authenticated";

export const ANONYMOUS: User = { name: "system:anonymous", uid: "", groups: ["system:unauthenticated"], extra: {} };
