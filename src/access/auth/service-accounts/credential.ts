/** What a verified token claims, to be held against the objects it names on every use. */
import type { GroupResource } from "../../../meta/group-version.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { User } from "../user.ts";

export interface CredentialPlace {
  readonly resource: GroupResource;
  readonly namespace: string;
  readonly name: string;
}

export interface Use {
  /** As found at `places`, one for each. */
  readonly objects: readonly (JsonObject | undefined)[];
  readonly nowMs: number;
}

export interface Credential {
  readonly user: User;
  readonly places: readonly CredentialPlace[];
  /** Why the token is worth nothing whatever the objects say; undefined when they decide. */
  problemNow(nowMs: number): string | undefined;
  /** Why the objects say that it is worth nothing; undefined when it is good. */
  problemWith(use: Use): string | undefined;
  /** For the audit event of a request that is let in with it. */
  annotations(use: Use): Readonly<Record<string, string>>;
  /** For whoever sends it. */
  warnings(use: Use): readonly string[];
  /** Told of every use that was let in. */
  used?(use: Use): void;
}

export const SERVICE_ACCOUNTS: GroupResource = { group: "", resource: "serviceaccounts" };
export const SECRETS: GroupResource = { group: "", resource: "secrets" };
export const PODS: GroupResource = { group: "", resource: "pods" };
export const NODES: GroupResource = { group: "", resource: "nodes" };
