/** A credential is a verified token. Its claims are checked against the objects that they name at every use. */
import type { GroupResource } from "../../../meta/group-version.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { User } from "../user.ts";

export interface CredentialPlace {
  readonly resource: GroupResource;
  readonly namespace: string;
  readonly name: string;
}

export interface Use {
  /** The objects at `places`, in the same order; undefined for a missing object. */
  readonly objects: readonly (JsonObject | undefined)[];
  readonly nowMs: number;
}

export interface Credential {
  readonly user: User;
  readonly places: readonly CredentialPlace[];
  /** The reason why the token is invalid regardless of the objects, such as its expiry; undefined if there is none. */
  problemNow(nowMs: number): string | undefined;
  /** The reason why the objects make the token invalid; undefined if the token is valid. */
  problemWith(use: Use): string | undefined;
  /** Annotations for the audit event of an authenticated request. */
  annotations(use: Use): Readonly<Record<string, string>>;
  /** Warnings for the client. */
  warnings(use: Use): readonly string[];
  /** Called after each successful authentication. */
  used?(use: Use): void;
}

export const SERVICE_ACCOUNTS: GroupResource = { group: "", resource: "serviceaccounts" };
export const SECRETS: GroupResource = { group: "", resource: "secrets" };
export const PODS: GroupResource = { group: "", resource: "pods" };
export const NODES: GroupResource = { group: "", resource: "nodes" };
