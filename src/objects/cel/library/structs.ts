/** Types whose values expressions write out: `JSONPatch{op: "add", path: "/a"}`. */
import type { Type } from "../types/type.ts";
import type { Value } from "../values/value.ts";

export interface StructFactory {
  readonly type: Type;
  /** Undefined when it has no such field. */
  readonly fieldType: (field: string) => Type | undefined;
  readonly make: (fields: ReadonlyMap<string, Value>) => Value;
}

/** By the name of the type. */
export type Structs = (name: string) => StructFactory | undefined;
