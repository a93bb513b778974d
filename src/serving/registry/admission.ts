/**
 * The port for admission: it may change or reject a write, beyond the rules of its kind. One instance serves one
 * request.
 */
import type { JsonObject } from "../../meta/json.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** The write in the served version, with defaults. */
export interface AdmittedWrite {
  readonly operation: Operation;
  /** Empty if the name is still to be generated. */
  readonly name: string;
  /** Undefined for a deletion. */
  readonly object: JsonObject | undefined;
  /** Undefined for a creation. */
  readonly existing: JsonObject | undefined;
}

/** Both methods throw a StatusError to reject the write. */
export interface Admission {
  /** True if no admission plugin for this request reads managedFields, so a creation need not include them. */
  readonly omitsManagedFields?: boolean;
  /** Returns the object to store; does not change its argument. */
  mutate(write: AdmittedWrite & { readonly object: JsonObject }): Promise<JsonObject>;
  /** Called when the object is complete and valid; for a deletion, before it happens. */
  validate(write: AdmittedWrite): Promise<void>;
}
