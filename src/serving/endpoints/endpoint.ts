/** One resource of one served version, as found in the route table. */
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { ProtobufTables } from "../../objects/protobuf/decode.ts";
import type { RequestUser } from "../registry/create.ts";
import type { RegistryContext } from "../registry/context.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { Admission } from "../registry/admission.ts";
import type { FieldLossVerdict, ForwardedRequest, NamedFields } from "./field-loss.ts";
import type { Renderer } from "./render/renderer.ts";

export interface ResourceEndpoint {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: ReadonlySet<string>;
  /** Subresource name → allowed verbs. */
  readonly subresources: ReadonlyMap<string, ReadonlySet<string>>;
  /** The warning for every request to a deprecated API. */
  readonly deprecation: string | undefined;
  /** The release that removes it, such as `1.29`, if known. */
  readonly removedRelease?: string | undefined;
  /** Undefined for resources that are not stored: reviews, bindings. */
  readonly served: ServedResource | undefined;
}

/** A request with its authenticated user. */
export interface WithRequester extends WithInfo {
  readonly user: RequestUser;
}

/** The facts about a write that admission needs. */
export interface AdmissionAbout {
  /** The kind of the written object: the resource's own, or a subresource's such as Scale. */
  readonly kind: Pick<ServedResource, "groupVersion" | "kind">;
  /** CreateOptions and the like, with kind and apiVersion; connections have none. */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
}

/** Undefined if no admission plugin handles the write. */
type Admit = (about: AdmissionAbout) => Admission | undefined;

/** An endpoint that writes may forward the request to a peer; one that reads never does. */
export type EndpointResponse = ApiResponse | ForwardedRequest;

/** The input of the endpoint of a verb. */
export interface EndpointCall {
  readonly context: RegistryContext;
  readonly served: ServedResource;
  /** Renders the response in the representation that the client accepts. */
  readonly renderer: Renderer;
  readonly request: WithRequester;
  /** Absent: no admission. */
  readonly admit?: Admit | undefined;
  /** Rejects an update of an absent object if the user may not create it. */
  readonly rejectCreation?: (() => Promise<void>) | undefined;
  /** Decoded when the first protobuf body arrives. */
  readonly protobuf: () => ProtobufTables;
  /** Decides about fields in the request that only peers know; undefined if there are no peers. */
  readonly fieldLoss?: ((named: NamedFields) => FieldLossVerdict) | undefined;
}
