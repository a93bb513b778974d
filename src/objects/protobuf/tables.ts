/**
 * The parts of Go's types that encoding and decoding need: which protobuf field is which JSON member, and when Go's
 * JSON omits it.
 */

export type ScalarType = "string" | "bytes" | "bool" | "int32" | "int64" | "double";

/**
 * - `value`: a Go field that is not a pointer. Go always sends it, and its zero means that it is not set.
 * - `pointer`: absent and zero are different.
 * - `inline`: a message whose members are members of its parent in JSON.
 */
export type FieldShape = "value" | "pointer" | "list" | "map" | "inline";

/** Messages that are not an object of their fields in JSON. */
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
  /** Its position in the `fields` of the message. */
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
  /** In the order of Go's JSON. */
  readonly fields: readonly FieldTable[];
  readonly byNumber: readonly (FieldTable | undefined)[];
}

export interface ProtobufTables {
  message(name: string): MessageTable | undefined;
  /** The name of the message for objects of this kind. */
  messageFor(apiVersion: string, kind: string): string | undefined;
}
