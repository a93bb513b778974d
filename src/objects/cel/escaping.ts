/** Escapes property names in expressions: `__namespace__`, `foo__dash__bar`. */

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

/**
 * Whether the name is a keyword of CEL. After a dot, expressions may also write most of them without the escape, as in
 * `self.namespace`.
 */
export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

/** The name as expressions write it; undefined if expressions cannot refer to the name. */
export function escapeName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replaceAll(/__|[-./]/g, (part) => ESCAPES.get(part) ?? part);
}

/** The name that `escapeName` escapes to `escaped`; undefined if there is none. */
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
