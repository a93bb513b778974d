/** Who may change or refuse a write, besides the rules of its kind. One of these is made for one request. */
import type { JsonObject } from "../../meta/json.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** In the served version, with defaults. */
export interface AdmittedWrite {
  readonly operation: Operation;
  /** Empty for what is still to get a name. */
  readonly name: string;
  /** Undefined for a deletion. */
  readonly object: JsonObject | undefined;
  /** Undefined for a creation. */
  readonly existing: JsonObject | undefined;
}

/** Both throw a StatusError where the write is refused. */
export interface Admission {
  /** Nobody who would be asked now looks at who owns what: a creation need not show it. */
  readonly hidesOwners?: boolean;
  /** The object as it is to be; what was given is not changed. */
  mutate(write: AdmittedWrite & { readonly object: JsonObject }): Promise<JsonObject>;
  /** Asked when the object is complete and valid; of a deletion, before it happens. */
  validate(write: AdmittedWrite): Promise<void>;
}
