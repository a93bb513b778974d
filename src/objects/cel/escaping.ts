/** Names of properties as expressions write them: `__namespace__`, `foo__dash__bar`. */

const RESERVED: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return var void " +
    "while"
  ).split(" "),
);

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);

const UNESCAPES: ReadonlyMap<string, string> = new Map([
  ["underscores", "__"],
  ["dot", "."],
  ["dash", "-"],
  ["slash", "/"],
]);

/** Words of the language; as names of fields they need no escaping where they can be told apart. */
export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

/** Undefined when expressions cannot name it. */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replaceAll(/__|[-./]/g, (part) => ESCAPES.get(part) ?? part);
}

/** Undefined when it is not a name that `escapeName` gives. */
export function unescapeName(escaped: string): string | undefined {
  if (!escaped.includes("__")) return escaped;
  let isValid = true;
  const name = escaped.replaceAll(/__[^_]+__/g, (part) => {
    const content = part.slice(2, -2);
    const plain = UNESCAPES.get(content);
    if (plain !== undefined) return plain;
    if (!RESERVED.has(content) || part.length !== escaped.length) isValid = false;
    return content;
  });
  return isValid ? name : undefined;
}
