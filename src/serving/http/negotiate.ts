/** Parses the Accept and Content-Type headers. */
export interface MediaType {
  /** The media type in lower case, such as "application/json". */
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
  readonly quality: number;
}

const CLAUSES_MAX = 64;

/** Returns the clauses by descending quality. Clauses of equal quality keep their order. */
export function parseAccept(header: string): MediaType[] {
  const clauses = header
    .split(",", CLAUSES_MAX)
    .map(parseMediaType)
    .filter((clause) => clause.type !== "" && clause.quality > 0);
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

/**
 * The supported media types in the order in which kube-apiserver lists them in messages, which clients compare as text.
 */
export const NAMED_TYPES: readonly string[] = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/**
 * Selects the format of a plain document; undefined if the client accepts neither JSON nor YAML. Clauses with `as` are
 * skipped.
 */
export function plainMedia(header: string | undefined): "json" | "yaml" | undefined {
  if (header === undefined || header === "" || header === "application/json" || header === "*/*") return "json";
  for (const { type, parameters } of parseAccept(header)) {
    if (parameters.has("as")) continue;
    if (type === "application/json" || type === "application/*" || type === "*/*") return "json";
    if (type === "application/yaml") return "yaml";
  }
  return undefined;
}
