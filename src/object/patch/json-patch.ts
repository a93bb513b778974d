/** RFC 6902 on JSON values. Never modifies its input; shares what it does not change. */
import { cloneJson, isJsonObject, jsonEquals, setMember, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json-text.ts";

export const JSON_PATCH_OPERATIONS_MAX = 10_000;
/** What all copy operations of one patch may add together. */
const COPIED_BYTES_MAX = 3 * 1024 * 1024;

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** The patch does not fit the document, or is no patch. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}

/** Unknown operations and missing members are errors of the patch, found before anything is applied. */
export function parseJsonPatch(operations: readonly unknown[]): JsonPatchOperation[] {
  return operations.map((operation) => {
    if (!isJsonObject(operation)) throw new JsonPatchError("an operation must be an object");
    const { op, path, from } = operation;
    if (typeof path !== "string") throw new JsonPatchError("an operation must have a path");
    switch (op) {
      case "add":
      case "replace":
      case "test":
        return { op, path, value: operation["value"] ?? null };
      case "remove":
        return { op, path };
      case "move":
      case "copy":
        if (typeof from !== "string") throw new JsonPatchError(`the ${op} operation must have a from`);
        return { op, from, path };
      default:
        throw new JsonPatchError(`unknown operation: ${String(op)}`);
    }
  });
}

export function applyJsonPatch(document: JsonObject, operations: readonly JsonPatchOperation[]): unknown {
  let root: unknown = cloneJson(document);
  let copiedBytes = 0;
  for (const operation of operations) {
    switch (operation.op) {
      case "add":
        root = addAt(root, pointer(operation.path), cloneJson(operation.value));
        break;
      case "replace":
        root = replaceAt(root, pointer(operation.path), cloneJson(operation.value));
        break;
      case "remove":
        root = removeAt(root, pointer(operation.path));
        break;
      case "test":
        if (!jsonEquals(valueOrNull(root, pointer(operation.path)), operation.value)) {
          throw new JsonPatchError(`testing value ${operation.path} failed`);
        }
        break;
      case "move": {
        if (operation.path.startsWith(`${operation.from}/`))
          throw new JsonPatchError("a value cannot be moved into itself");
        const moved = valueAt(root, pointer(operation.from));
        root = addAt(removeAt(root, pointer(operation.from)), pointer(operation.path), moved);
        break;
      }
      case "copy": {
        const source = valueAt(root, pointer(operation.from));
        if (isDeeperThan(source, JSON_DEPTH_MAX)) throw tooDeep();
        const copy = cloneJson(source);
        copiedBytes += JSON.stringify(copy ?? null).length;
        if (copiedBytes > COPIED_BYTES_MAX) throw new JsonPatchError("the copy operations of the patch add too much");
        root = addAt(root, pointer(operation.path), copy);
      }
    }
  }
  if (isDeeperThan(root, JSON_DEPTH_MAX)) throw tooDeep();
  return root;
}

function tooDeep(): JsonPatchError {
  return new JsonPatchError("the patch nests values too deeply");
}

/** Operations can nest what each of them holds: the result may not be deeper than a body may be. */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}

function pointer(path: string): string[] {
  if (path === "") return [];
  if (!path.startsWith("/")) throw new JsonPatchError(`the path ${JSON.stringify(path)} does not start with a slash`);
  return path
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(root: unknown, tokens: readonly string[]): unknown {
  let value = root;
  for (const token of tokens) {
    if (Array.isArray(value)) value = value[existingIndex(value, token)];
    else if (isJsonObject(value) && Object.hasOwn(value, token)) value = value[token];
    else throw missing(tokens);
  }
  return value;
}

/** For `test`: an absent member equals null, as the field's clients expect. */
function valueOrNull(root: unknown, tokens: readonly string[]): unknown {
  const parent = valueAt(root, tokens.slice(0, -1));
  if (tokens.length > 0 && isJsonObject(parent) && !Object.hasOwn(parent, tokens.at(-1)!)) return null;
  return valueAt(root, tokens);
}

function addAt(root: unknown, tokens: readonly string[], value: unknown): unknown {
  if (tokens.length === 0) return value;
  const parent = valueAt(root, tokens.slice(0, -1));
  const token = tokens.at(-1)!;
  if (Array.isArray(parent)) {
    const index = token === "-" ? parent.length : arrayIndex(token, parent.length);
    parent.splice(index, 0, value);
  } else if (isJsonObject(parent)) setMember(parent, token, value);
  else throw missing(tokens);
  return root;
}

function replaceAt(root: unknown, tokens: readonly string[], value: unknown): unknown {
  if (tokens.length === 0) return value;
  const parent = valueAt(root, tokens.slice(0, -1));
  const token = tokens.at(-1)!;
  if (Array.isArray(parent)) parent[existingIndex(parent, token)] = value;
  else if (isJsonObject(parent) && Object.hasOwn(parent, token)) setMember(parent, token, value);
  else throw missing(tokens);
  return root;
}

function removeAt(root: unknown, tokens: readonly string[]): unknown {
  if (tokens.length === 0) throw new JsonPatchError("the whole document cannot be removed");
  const parent = valueAt(root, tokens.slice(0, -1));
  const token = tokens.at(-1)!;
  if (Array.isArray(parent)) parent.splice(existingIndex(parent, token), 1);
  else if (isJsonObject(parent) && Object.hasOwn(parent, token)) delete parent[token];
  else throw missing(tokens);
  return root;
}

function existingIndex(array: readonly unknown[], token: string): number {
  const index = arrayIndex(token, array.length);
  if (index >= array.length) throw new JsonPatchError(`the index ${token} is outside the array`);
  return index;
}

function arrayIndex(token: string, length: number): number {
  if (!/^(?:0|[1-9][0-9]{0,9})$/.test(token) || Number(token) > length)
    throw new JsonPatchError(`the index ${token} is outside the array`);
  return Number(token);
}

function missing(tokens: readonly string[]): JsonPatchError {
  return new JsonPatchError(`the path /${tokens.join("/")} does not exist`);
}
