/**
 * Finds the problems that field validation reports in a JSON text, in the order of Go's strict decoder: fields that the
 * type does not have, and duplicate fields of objects that the type describes. It does not check the content of unknown
 * fields or raw JSON, and reports each problem once.
 */
import { ReportedPaths } from "./json/json-text.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";

/** An object or list that is open at the current position of the text. */
interface Frame {
  readonly path: string;
  readonly isObject: boolean;
  readonly keys: Set<string>;
  /** The type of the object, or of the items; undefined for a value whose content is not checked. */
  readonly struct: StructSchema | undefined;
  readonly items: FieldSchema | undefined;
  index: number;
  key: string;
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|[^\s"{}[\],:]+/g;

/** The paths of the problems. `text` must be valid JSON whose values have the types of the schema. */
export function findFieldProblems(text: string, schema: StructSchema): string[] {
  const problems = new ReportedPaths();
  const stack: Frame[] = [];
  let expectsKey = false;
  for (const [token] of text.matchAll(TOKEN)) {
    const top = stack.at(-1);
    if (token === "{" || token === "[") {
      stack.push(top === undefined ? openFrame("", token, schema) : childFrame(top, token));
      expectsKey = token === "{";
    } else if (token === "}" || token === "]") {
      stack.pop();
      expectsKey = false;
    } else if (token === "," && top !== undefined) {
      top.index++;
      expectsKey = top.isObject;
    } else if (expectsKey && top !== undefined) {
      top.key = String(JSON.parse(token));
      expectsKey = false;
      const problem = keyProblem(top);
      if (problem !== undefined) problems.add(`${problem} field ${JSON.stringify(memberPath(top))}`);
      if (problems.isFull) break;
    }
  }
  return problems.list();
}

function keyProblem({ struct, items, keys, key }: Frame): "unknown" | "duplicate" | undefined {
  if (struct === undefined && items === undefined) return undefined;
  if (struct !== undefined && !struct.fields.has(key)) return struct.preserveUnknown ? undefined : "unknown";
  if (keys.has(key)) return "duplicate";
  keys.add(key);
  return undefined;
}

function childFrame(parent: Frame, token: string): Frame {
  const field = parent.struct === undefined ? parent.items : parent.struct.fields.get(parent.key);
  const path = memberPath(parent);
  if (field?.type === "struct") return openFrame(path, token, field.struct);
  const isExpected = field?.type === (token === "{" ? "map" : "array");
  return openFrame(path, token, undefined, isExpected ? field?.items : undefined);
}

function openFrame(path: string, token: string, struct: StructSchema | undefined, items?: FieldSchema): Frame {
  return { path, isObject: token === "{", keys: new Set(), struct, items, index: 0, key: "" };
}

function memberPath(frame: Frame): string {
  if (!frame.isObject) return `${frame.path}[${frame.index}]`;
  return frame.path === "" ? frame.key : `${frame.path}.${frame.key}`;
}
