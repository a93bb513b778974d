/** What a decoder must know of Go's types: which protobuf field is which JSON member, and when Go's JSON shows it. */

export type ScalarType = "string" | "bytes" | "bool" | "int32" | "int64" | "double";

/**
 * - `value`: a Go field that is not a pointer. Writers always send it, and its zero means that nothing was set.
 * - `pointer`: absent and zero are different things.
 * - `inline`: a message whose members are its parent's in JSON.
 */
export type FieldShape = "value" | "pointer" | "list" | "map" | "inline";

/** Messages that JSON shows as something other than an object of their fields. */
export type MessageForm =
  | "struct"
  | "time"
  | "micro-time"
  | "quantity"
  | "int-or-string"
  | "raw-json"
  | "string-list"
  | "schema-or-array"
  | "schema-or-bool"
  | "schema-or-strings";

export interface FieldTable {
  readonly number: number;
  /** Its place in the message's `fields`. */
  readonly position: number;
  /** The JSON name; empty for an inlined message. */
  readonly name: string;
  readonly shape: FieldShape;
  readonly omitEmpty: boolean;
  /** The type of the field, of a list's items or of a map's values. Exactly one of the two is set; map keys are strings. */
  readonly scalar: ScalarType | undefined;
  readonly message: string | undefined;
}

export interface MessageTable {
  /** Full protobuf name, such as `k8s.io.api.core.v1.Pod`. */
  readonly name: string;
  readonly form: MessageForm;
  /** In the order in which Go's JSON has them. */
  readonly fields: readonly FieldTable[];
  readonly byNumber: readonly (FieldTable | undefined)[];
}

export interface ProtobufTables {
  message(name: string): MessageTable | undefined;
  /** The name of the message that holds objects of this kind. */
  messageFor(apiVersion: string, kind: string): string | undefined;
}
