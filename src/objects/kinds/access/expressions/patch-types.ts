/** The struct types that mutation expressions construct: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`. */
import type { Environment } from "../../../cel/check/scope.ts";
import { overload } from "../../../cel/library/function.ts";
import type { StructFactory } from "../../../cel/library/structs.ts";
import { DYN, listOf, STRING, struct, type Type } from "../../../cel/types/type.ts";
import { EvalError, equals, OpaqueValue, type Value } from "../../../cel/values/value.ts";

const OBJECT = "Object";
const JSON_PATCH = "JSONPatch";

/** Result types of mutation expressions. */
export const MUTATIONS = {
  applyConfiguration: struct(OBJECT),
  jsonPatch: listOf(struct(JSON_PATCH)),
} as const;

/** An `Object` struct. It accepts any field name; unknown fields are detected when the configuration is applied. */
export class ObjectValue extends OpaqueValue {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  equals(other: Value): boolean | EvalError {
    if (!(other instanceof ObjectValue) || other.typeName !== this.typeName) return false;
    if (other.fields.size !== this.fields.size) return false;
    for (const [name, value] of this.fields) {
      const theirs = other.fields.get(name);
      if (theirs === undefined || equals(value, theirs) !== true) return false;
    }
    return true;
  }

  toString(): string {
    return this.typeName;
  }
}

export class JsonPatchValue extends OpaqueValue {
  readonly typeName = JSON_PATCH;
  readonly op: string;
  readonly path: string;
  /** Empty if the patch has no `from`. */
  readonly from: string;
  readonly value: Value | undefined;

  constructor(fields: ReadonlyMap<string, Value>) {
    super();
    const text = (name: string): string => {
      const value = fields.get(name);
      return typeof value === "string" ? value : "";
    };
    this.op = text("op");
    this.path = text("path");
    this.from = text("from");
    this.value = fields.get("value");
  }

  equals(other: Value): boolean | EvalError {
    if (!(other instanceof JsonPatchValue)) return false;
    if (this.op !== other.op || this.path !== other.path || this.from !== other.from) return false;
    if (this.value === undefined || other.value === undefined) return this.value === other.value;
    return equals(this.value, other.value);
  }

  toString(): string {
    return JSON_PATCH;
  }
}

const GO_TYPES: Readonly<Record<string, string>> = { bigint: "int64", number: "float64", boolean: "bool" };

/** Checks the types of fields again at evaluation, because the type checker accepts values of type dyn. */
function makePatch(fields: ReadonlyMap<string, Value>): Value {
  for (const name of ["op", "path", "from"]) {
    const value = fields.get(name);
    if (value === undefined || typeof value === "string") continue;
    return new EvalError(`unexpected type ${GO_TYPES[typeof value] ?? "<nil>"} for JSONPatchType '${name}' field`);
  }
  return new JsonPatchValue(fields);
}

class AnyFields extends Map<string, Type> {
  override get(): Type {
    return DYN;
  }
}

const ANY_FIELDS: ReadonlyMap<string, Type> = new AnyFields();

function structOf(name: string): StructFactory | undefined {
  if (name === JSON_PATCH) {
    const types = new Map([
      ["op", STRING],
      ["path", STRING],
      ["from", STRING],
      ["value", DYN],
    ]);
    return { type: struct(JSON_PATCH, types), fieldType: (field) => types.get(field), make: makePatch };
  }
  if (name !== OBJECT && !name.startsWith(`${OBJECT}.`)) return undefined;
  return { type: struct(name, ANY_FIELDS), fieldType: () => DYN, make: (fields) => new ObjectValue(name, fields) };
}

const ESCAPE_KEY = overload(
  "string_jsonpatch_escapeKey_string",
  ":jsonpatch.escapeKey(string): string",
  (key: string) => key.replaceAll(/[~/]/g, (character) => (character === "/" ? "~1" : "~0")),
);

export function withPatchTypes(environment: Environment): Environment {
  const functions = new Map([...environment.functions, [ESCAPE_KEY.name, [ESCAPE_KEY]] as const]);
  return { ...environment, functions, structs: structOf };
}
