/**
 * The port for admission, which may change or reject a write in addition to the validation of the kind. One instance
 * serves one request.
 */
import type { JsonObject } from "../../meta/json.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** The write that admission checks. Its objects are in the served version, with defaults. */
export interface AdmittedWrite {
  readonly operation: Operation;
  /** The name of the object; empty if it is still to be generated. */
  readonly name: string;
  /** The new object; undefined for a deletion. */
  readonly object: JsonObject | undefined;
  /** The existing object; undefined for a creation. */
  readonly existing: JsonObject | undefined;
}

/** Both methods throw a StatusError to reject the write. */
export interface Admission {
  /**
   * True if no admission plugin that handles the request reads managedFields, so that a creation need not include them.
   */
  omitsManagedFields?(): boolean;
  /** Runs mutating admission. Returns the object to store and does not change its argument. */
  mutate(write: AdmittedWrite & { readonly object: JsonObject }): Promise<JsonObject>;
  /**
   * Runs validating admission: for a create or update when the object is complete and valid, for a delete before the
   * deletion.
   */
  validate(write: AdmittedWrite): Promise<void>;
}
