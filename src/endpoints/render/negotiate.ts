/** In which form a client wants its answer: the first clause of Accept that can be met decides. */
import { NAMED_TYPES, parseAccept, type MediaType } from "../../http/negotiate.ts";
import { notAcceptable, StatusError } from "../../meta/status-error.ts";

export interface Representation {
  readonly media: "json" | "yaml";
  readonly form: "object" | "partial" | "table";
  /** apiVersion of the form when it is not the object's own: meta.k8s.io/v1 or v1beta1. */
  readonly metaVersion: string;
}

const PLAIN: Representation = { media: "json", form: "object", metaVersion: "" };

/** What the answer to the verb can be: lists have forms of their own, streams are JSON only. */
export type AnswerKind = "object" | "list" | "watch";

export function negotiateRepresentation(accept: string | undefined, kind: AnswerKind): Representation {
  if (accept === undefined || accept === "" || accept === "application/json" || accept === "*/*") return PLAIN;
  const clauses = parseAccept(accept);
  for (const clause of clauses) {
    const representation = representationOf(clause, kind);
    if (representation !== undefined) return representation;
  }
  if (clauses.some(({ type }) => type === "*/*" || type === "application/*" || NAMED_TYPES.includes(type)))
    throw notAcceptable(NAMED_TYPES);
  throw new StatusError(
    "NotAcceptable",
    `406: Not Acceptable\n\nAvailable representations: ${NAMED_TYPES.join(", ")}`,
    { details: {} },
  );
}

function representationOf({ type, parameters }: MediaType, kind: AnswerKind): Representation | undefined {
  const media = mediaOf(type);
  if (media === undefined || (media === "yaml" && kind === "watch")) return undefined;
  const form = formOf(parameters.get("as"), kind);
  if (form === undefined) return undefined;
  if (form === "object") return { media, form, metaVersion: "" };
  const version = parameters.get("v") ?? "";
  if (parameters.get("g") !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return undefined;
  return { media, form, metaVersion: `meta.k8s.io/${version}` };
}

function mediaOf(type: string): Representation["media"] | undefined {
  if (type === "application/json" || type === "application/*" || type === "*/*") return "json";
  return type === "application/yaml" ? "yaml" : undefined;
}

function formOf(as: string | undefined, kind: AnswerKind): Representation["form"] | undefined {
  if (as === undefined) return "object";
  if (as === "Table") return "table";
  return as === (kind === "list" ? "PartialObjectMetadataList" : "PartialObjectMetadata") ? "partial" : undefined;
}
