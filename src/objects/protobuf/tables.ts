/**
 * The parts of Go's types that encoding and decoding need: the JSON name of each protobuf field, and whether Go's JSON
 * omits the field if it is empty.
 */

export type ScalarType = "string" | "bytes" | "bool" | "int32" | "int64" | "double";

/**
 * - `value`: a Go field that is not a pointer. Go always sends it, and its zero means that it is not set.
 * - `pointer`: absent and zero are different.
 * - `inline`: a message whose fields are fields of its parent in JSON.
 */
export type FieldShape = "value" | "pointer" | "list" | "map" | "inline";

/**
 * The JSON form of a message: `struct` is an object with the fields of the message; each other form has a conversion of
 * its own.
 */
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
  /** The position of the field in the `fields` of its message. */
  readonly position: number;
  /** The JSON name; empty for an inlined message. */
  readonly name: string;
  readonly shape: FieldShape;
  readonly omitEmpty: boolean;
  /**
   * The type of the field, of the items of a list or of the values of a map. Exactly one of `scalar` and `message` is
   * set; map keys are strings.
   */
  readonly scalar: ScalarType | undefined;
  readonly message: string | undefined;
}

export interface MessageTable {
  /** Full protobuf name, such as `k8s.io.api.core.v1.Pod`. */
  readonly name: string;
  readonly form: MessageForm;
  /** Sorted in the order in which Go's JSON writes the fields. */
  readonly fields: readonly FieldTable[];
  readonly byNumber: readonly (FieldTable | undefined)[];
}

export interface ProtobufTables {
  message(name: string): MessageTable | undefined;
  /** The name of the message for objects of this kind; undefined if the kind has none. */
  messageFor(apiVersion: string, kind: string): string | undefined;
}
