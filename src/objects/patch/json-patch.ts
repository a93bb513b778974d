/**
 * Applies a JSON Patch (RFC 6902) with the extensions of the library that Kubernetes uses. Never modifies its input.
 */
import { cloneJson, isJsonObject, jsonEquals, setMember, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";

export const JSON_PATCH_OPERATIONS_MAX = 10_000;
/** Limit of the bytes that all copy operations of one patch add together, as in kube-apiserver. */
const COPIED_BYTES_MAX = 3 * 1024 * 1024;
/**
 * Limit of the list items that all operations of one patch shift together. Shifting so many takes some hundredths of a
 * second; a real patch shifts far fewer.
 */
const SHIFTED_ITEMS_MAX = 20_000_000;

/** The patch is invalid, or cannot be applied to the document. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}

/** Does not validate operations in advance: an invalid operation is an error only when it is applied. */
export function applyJsonPatch(document: JsonObject, operations: readonly unknown[]): unknown {
  const patched = new PatchedDocument(cloneJson(document));
  for (const operation of operations) patched.apply(isJsonObject(operation) ? operation : {});
  if (isDeeperThan(patched.root, JSON_DEPTH_MAX)) throw tooDeep();
  return patched.root;
}

type Container = JsonObject | unknown[];

/** The last step of a path, and the object or list that contains it. */
interface Target {
  readonly container: Container;
  readonly key: string;
}

class PatchedDocument {
  root: unknown;
  #copiedBytes = 0;
  #shiftedItems = 0;

  constructor(root: JsonObject) {
    this.root = root;
  }

  apply(operation: JsonObject): void {
    switch (operation["op"]) {
      case "add":
        return this.#add(this.#locate(operation, "path"), cloneJson(operation["value"] ?? null));
      case "remove":
        return this.#remove(this.#locate(operation, "path"));
      case "replace":
        return this.#replace(operation);
      case "test":
        return this.#test(operation);
      case "move":
        return this.#move(operation);
      case "copy":
        return this.#copy(operation);
      default:
        throw new JsonPatchError(`unknown operation: ${String(operation["op"])}`);
    }
  }

  #replace(operation: JsonObject): void {
    const value = cloneJson(operation["value"] ?? null);
    if (pathOf(operation, "path") === "") {
      if (typeof value !== "object" || value === null) throw new JsonPatchError("the document must be an object");
      this.root = value;
      return;
    }
    const { container, key } = this.#locate(operation, "path");
    // Replacing an absent member of an object adds it.
    if (Array.isArray(container)) container[existingIndex(container, key)] = value;
    else setMember(container, key, value);
  }

  #test(operation: JsonObject): void {
    const expected = operation["value"] ?? null;
    const found = pathOf(operation, "path") === "" ? this.root : memberAt(this.#locate(operation, "path"));
    // An absent member equals null in a test.
    if (!jsonEquals(found ?? null, expected)) throw new JsonPatchError("the test operation failed: the value differs");
  }

  #move(operation: JsonObject): void {
    const from = this.#locate(operation, "from");
    const value = memberAt(from);
    this.#remove(from);
    this.#add(this.#locate(operation, "path"), value);
  }

  #copy(operation: JsonObject): void {
    const source = memberAt(this.#locate(operation, "from"));
    const target = this.#locate(operation, "path");
    if (isDeeperThan(source, JSON_DEPTH_MAX)) throw tooDeep();
    if (source !== undefined) this.#copiedBytes += Buffer.byteLength(JSON.stringify(source));
    if (this.#copiedBytes > COPIED_BYTES_MAX) throw new JsonPatchError("the copy operations add too many bytes");
    // An absent member is copied as null.
    this.#add(target, cloneJson(source ?? null));
  }

  #add({ container, key }: Target, value: unknown): void {
    if (!Array.isArray(container)) {
      setMember(container, key, value);
      return;
    }
    const index = key === "-" ? container.length : indexIn(key, container.length + 1);
    this.#shift(container.length - index);
    container.splice(index, 0, value);
  }

  #remove({ container, key }: Target): void {
    if (Array.isArray(container)) {
      const index = existingIndex(container, key);
      this.#shift(container.length - index);
      container.splice(index, 1);
    } else if (Object.hasOwn(container, key)) delete container[key];
    else throw new JsonPatchError("the value to remove does not exist");
  }

  /** As the library that Kubernetes uses, ignores text before the first slash of a path, but requires a slash. */
  #locate(operation: JsonObject, which: "path" | "from"): Target {
    const [, ...tokens] = pathOf(operation, which).split("/");
    const key = tokens.pop();
    let container = this.root;
    for (const token of tokens) {
      if (!isContainer(container)) break;
      container = memberAt({ container, key: unescaped(token) });
    }
    if (key === undefined || !isContainer(container)) throw new JsonPatchError(`the ${which} does not exist`);
    return { container, key: unescaped(key) };
  }

  #shift(items: number): void {
    this.#shiftedItems += items;
    if (this.#shiftedItems > SHIFTED_ITEMS_MAX) throw new JsonPatchError("the operations shift too many items");
  }
}

function pathOf(operation: JsonObject, which: "path" | "from"): string {
  const path = operation[which];
  if (typeof path !== "string") throw new JsonPatchError(`an operation has no ${which}`);
  return path;
}

function unescaped(token: string): string {
  return token.includes("~") ? token.replaceAll("~1", "/").replaceAll("~0", "~") : token;
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

/** The value at the target; undefined for a member that the object does not have. */
function memberAt({ container, key }: Target): unknown {
  if (Array.isArray(container)) return container[existingIndex(container, key)];
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

function existingIndex(array: readonly unknown[], key: string): number {
  return indexIn(key, array.length);
}

/** Negative indexes count from the end. */
function indexIn(key: string, length: number): number {
  const index = /^[+-]?[0-9]+$/.test(key) ? Number(key) : Number.NaN;
  const place = index < 0 ? index + length : index;
  if (place >= 0 && place < length) return place;
  throw new JsonPatchError("an index is out of bounds");
}

function tooDeep(): JsonPatchError {
  return new JsonPatchError("the patch nests values too deeply");
}

/**
 * Whether the value nests deeper than `levels`. Operations can nest values in each other, but the result must not be
 * deeper than a request body may be.
 */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (!isContainer(value)) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(member, levels - 1));
}
