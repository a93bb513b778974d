/** Describes why an operation of a JSON patch fails, in the words of the Go library that kubernetes uses. Pure. */
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { unmarshalError } from "../../../meta/go-fmt.ts";

const MISSING = "missing value";

type Container = JsonObject | unknown[];

interface Target {
  readonly container: Container;
  readonly key: string;
}

/** The message for this operation; undefined if no problem is found. */
export function describePatchProblem(document: unknown, operation: unknown): string | undefined {
  const members = isJsonObject(operation) ? operation : {};
  const { op } = members;
  switch (op) {
    case "add":
    case "remove":
      return simpleProblem(document, members, op);
    case "replace":
      return replaceProblem(document, members);
    case "test":
      return testProblem(document, members);
    case "move":
    case "copy":
      return twoPathProblem(document, members, op);
    default:
      return `Unexpected kind: ${typeof op === "string" ? op : "unknown"}`;
  }
}

function simpleProblem(document: unknown, { path }: JsonObject, op: "add" | "remove"): string | undefined {
  if (typeof path !== "string") return `${op} operation failed to decode path: ${MISSING}`;
  const target = locate(document, path);
  if (target === undefined) return `${op} operation does not apply: doc is missing path: "${path}": ${MISSING}`;
  const why = op === "add" ? addProblem(target) : removeProblem(target);
  return why && `error in ${op} for path: '${path}': ${why}`;
}

function replaceProblem(document: unknown, { path, value }: JsonObject): string | undefined {
  if (typeof path !== "string") return `replace operation failed to decode path: ${pathProblem(path, "path")}`;
  if (path === "") {
    const isFit = typeof value === "object" && value !== null;
    return isFit ? undefined : "replace operation value must be object or array: %!w(<nil>)";
  }
  const target = locate(document, path);
  if (target === undefined) return `replace operation does not apply: doc is missing path: ${path}: ${MISSING}`;
  return getProblem(target) && `replace operation does not apply: doc is missing key: ${path}: ${MISSING}`;
}

function testProblem(document: unknown, { path }: JsonObject): string {
  if (typeof path !== "string") return `test operation failed to decode path: ${pathProblem(path, "path")}`;
  const unequal = `testing value ${path} failed: test failed`;
  if (path === "") return unequal;
  const target = locate(document, path);
  if (target === undefined) return `test operation does not apply: is missing path: ${path}: ${MISSING}`;
  const why = getProblem(target);
  return why === undefined ? unequal : `error in test for path: '${path}': ${why}`;
}

function twoPathProblem(document: unknown, { from, path }: JsonObject, op: "move" | "copy"): string | undefined {
  if (typeof from !== "string") return `${op} operation failed to decode from: ${pathProblem(from, "from")}`;
  const source = locate(document, from);
  if (source === undefined) return `${op} operation does not apply: doc is missing from path: ${from}: ${MISSING}`;
  const unread = getProblem(source) ?? (op === "move" ? removeProblem(source) : undefined);
  if (unread !== undefined)
    return op === "move"
      ? `error in move for path: '${source.key}': ${unread}`
      : `error in copy for from: '${from}': ${unread}`;
  if (typeof path !== "string")
    return `${op} operation failed to decode path: ${op === "copy" ? MISSING : pathProblem(path, "path")}`;
  const target = locate(document, path);
  if (target === undefined)
    return `${op} operation does not apply: doc is missing destination path: ${path}: ${MISSING}`;
  const unwritten = addProblem(target);
  if (unwritten === undefined) return undefined;
  return op === "move"
    ? `error in move for path: '${path}': ${unwritten}`
    : `error while adding value during copy: ${unwritten}`;
}

function pathProblem(value: unknown, which: "path" | "from"): string {
  if (value === undefined || value === null)
    return `${which === "path" ? "operation missing path field" : "operation, missing from field"}: ${MISSING}`;
  return unmarshalError(value, "value of type string");
}

function locate(document: unknown, path: string): Target | undefined {
  const [, ...tokens] = path.split("/");
  const key = tokens.pop();
  let container = document;
  for (const token of tokens) container = memberAt(container, unescaped(token));
  if (key === undefined || !isContainer(container)) return undefined;
  return { container, key: unescaped(key) };
}

function memberAt(container: unknown, key: string): unknown {
  if (!isContainer(container)) return undefined;
  if (!Array.isArray(container)) return Object.hasOwn(container, key) ? container[key] : undefined;
  const index = indexOf(key);
  return index === undefined ? undefined : container.at(index);
}

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function unescaped(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

function getProblem({ container, key }: Target): string | undefined {
  return Array.isArray(container) ? indexProblem(key, container.length) : undefined;
}

function removeProblem({ container, key }: Target): string | undefined {
  if (Array.isArray(container)) return indexProblem(key, container.length);
  return Object.hasOwn(container, key) ? undefined : `Unable to remove nonexistent key: ${key}: ${MISSING}`;
}

function addProblem({ container, key }: Target): string | undefined {
  if (!Array.isArray(container) || key === "-") return undefined;
  if (indexOf(key) === undefined) return `value was not a proper array index: '${key}': ${syntaxProblem(key)}`;
  return indexProblem(key, container.length + 1);
}

function indexProblem(key: string, length: number): string | undefined {
  const index = indexOf(key);
  if (index === undefined) return syntaxProblem(key);
  if (index >= -length && index < length) return undefined;
  return `Unable to access invalid index: ${index}: invalid index referenced`;
}

function syntaxProblem(key: string): string {
  return `strconv.Atoi: parsing ${goQuote(key)}: invalid syntax`;
}

function indexOf(key: string): number | undefined {
  return /^[+-]?[0-9]+$/.test(key) ? Number(key) : undefined;
}
