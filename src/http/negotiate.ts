/** Accept and Content-Type. */
export interface MediaType {
  /** Lower case, such as "application/json". */
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const CLAUSES_MAX = 64;

/** Clauses by falling quality; equal ones as they stand. */
export function parseAccept(header: string): MediaType[] {
  const clauses = header.split(",", CLAUSES_MAX).map(parseMediaType).filter((clause) => clause.type !== "" && clause.quality > 0);
  return clauses.sort((left, right) => right.quality - left.quality);
}

export function parseMediaType(text: string): MediaType {
  const [type = "", ...rest] = text.split(";");
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const equals = parameter.indexOf("=");
    if (equals > 0) parameters.set(parameter.slice(0, equals).trim().toLowerCase(), parameter.slice(equals + 1).trim());
  }
  const quality = Number(parameters.get("q") ?? "1");
  return { type: type.trim().toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 };
}

/** What the server can answer objects in. */
export const OFFERED: readonly string[] = ["application/json"];

/** True when the client takes plain JSON. Clauses that ask for another representation (as=Table) fall through. */
export function acceptsJson(header: string | undefined): boolean {
  if (header === undefined || header === "" || header === "application/json" || header === "*/*") return true;
  return parseAccept(header).some(
    ({ type, parameters }) => !parameters.has("as") && (type === "application/json" || type === "application/*" || type === "*/*"),
  );
}
