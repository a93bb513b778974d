/** Struct types that expressions can construct: `JSONPatch{op: "add", path: "/a"}`. */
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";

export interface StructFactory {
  readonly type: Type;
  /** The type of a field; undefined if the struct type has no such field. */
  readonly fieldType: (field: string) => Type | undefined;
  readonly make: (fields: ReadonlyMap<string, Value>) => Value;
}

/** Looks up a struct type by name. */
export type Structs = (name: string) => StructFactory | undefined;
