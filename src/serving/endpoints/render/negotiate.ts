/** Negotiates the representation of a response: the first clause of the Accept header that can be satisfied is used. */
import { NAMED_TYPES, parseAccept, type MediaType } from "../../http/negotiate.ts";
import { PROTOBUF_MEDIA_TYPE, type ProtobufTables } from "../../../objects/protobuf/decode.ts";
import { formatGroupVersion, type GroupVersion } from "../../../meta/group-version.ts";
import { notAcceptable, StatusError } from "../../../meta/status-error.ts";

export interface Representation {
  readonly media: "json" | "yaml" | "protobuf";
  readonly form: "object" | "partial" | "table";
  /** The apiVersion of a Table or PartialObjectMetadata, meta.k8s.io/v1 or v1beta1; "" for the object itself. */
  readonly metaVersion: string;
  /** The tables that encode the response in protobuf. */
  readonly tables?: ProtobufTables;
}

/** The requested kind, and the tables that may contain its protobuf message. */
export interface ProtobufOffer {
  readonly endpoint: GroupVersion & { readonly kind: string };
  /** Returns the tables, which are loaded when the first client accepts protobuf. */
  readonly tables: () => ProtobufTables;
}

const PLAIN: Representation = { media: "json", form: "object", metaVersion: "" };

/** The kind of response that a verb returns. Lists have forms of their own, and watches are never YAML. */
export type ResponseKind = "object" | "list" | "watch";

export function negotiateRepresentation(
  accept: string | undefined,
  kind: ResponseKind,
  offer?: ProtobufOffer,
): Representation {
  if (accept === undefined || accept === "" || accept === "application/json" || accept === "*/*") return PLAIN;
  const clauses = parseAccept(accept);
  for (const clause of clauses) {
    const representation = representationOf(clause, kind, offer);
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

function representationOf(
  { type, parameters }: MediaType,
  kind: ResponseKind,
  offer: ProtobufOffer | undefined,
): Representation | undefined {
  const media = mediaOf(type);
  if (media === undefined || (media === "yaml" && kind === "watch")) return undefined;
  const form = formOf(parameters.get("as"), kind);
  if (form === undefined) return undefined;
  const metaVersion = form === "object" ? "" : metaVersionOf(parameters);
  if (metaVersion === undefined) return undefined;
  if (media === "protobuf") return inProtobuf({ media, form, metaVersion }, offer);
  return { media, form, metaVersion };
}

function metaVersionOf(parameters: MediaType["parameters"]): string | undefined {
  const version = parameters.get("v") ?? "";
  if (parameters.get("g") !== "meta.k8s.io" || (version !== "v1" && version !== "v1beta1")) return undefined;
  return `meta.k8s.io/${version}`;
}

/**
 * Returns undefined if the representation is not available in protobuf. As kubernetes: Tables are not. DIFFERS:
 * metadata of v1beta1 is not, because its lists have other field numbers.
 */
function inProtobuf(wanted: Representation, offer: ProtobufOffer | undefined): Representation | undefined {
  if (offer === undefined) return undefined;
  const { form, metaVersion } = wanted;
  const tables = offer.tables();
  const apiVersion = form === "partial" ? metaVersion : formatGroupVersion(offer.endpoint);
  const kind = form === "partial" ? "PartialObjectMetadata" : offer.endpoint.kind;
  if (form === "table" || tables.messageFor(apiVersion, kind) === undefined) return undefined;
  return { ...wanted, tables };
}

function mediaOf(type: string): Representation["media"] | undefined {
  if (type === "application/json" || type === "application/*" || type === "*/*") return "json";
  if (type === PROTOBUF_MEDIA_TYPE) return "protobuf";
  return type === "application/yaml" ? "yaml" : undefined;
}

function formOf(as: string | undefined, kind: ResponseKind): Representation["form"] | undefined {
  if (as === undefined) return "object";
  if (as === "Table") return "table";
  return as === (kind === "list" ? "PartialObjectMetadataList" : "PartialObjectMetadata") ? "partial" : undefined;
}
