/** The query parameters of a request, decoded once and limited in number. */
export class Query {
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(raw: string) {
    this.#values = raw === "" ? EMPTY : parse(raw);
  }

  /** The first value; undefined if the parameter is absent. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }
}

const EMPTY: ReadonlyMap<string, readonly string[]> = new Map();
const PARAMETERS_MAX = 200;

function parse(raw: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  let count = 0;
  for (const part of raw.split("&")) {
    if (part === "") continue;
    if (++count > PARAMETERS_MAX) break;
    const equals = part.indexOf("=");
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? "" : decode(part.slice(equals + 1));
    const known = values.get(name);
    if (known === undefined) values.set(name, [value]);
    else known.push(value);
  }
  return values;
}

/** Text that cannot be decoded is returned unchanged, because clients rely on it. */
function decode(text: string): string {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
