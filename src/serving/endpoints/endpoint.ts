/**
 * The types that the endpoints of all verbs share: a resource in one API version, as the route table has it, and the
 * input and output of an endpoint.
 */
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
  /** The allowed verbs, keyed by subresource name. */
  readonly subresources: ReadonlyMap<string, ReadonlySet<string>>;
  /** The Warning text for every request to a deprecated API; undefined if the API is not deprecated. */
  readonly deprecation: string | undefined;
  /** The release that removes the API, such as `1.29`, if known. */
  readonly removedRelease?: string | undefined;
  /** Undefined for resources that are not stored: reviews, bindings. */
  readonly served: ServedResource | undefined;
}

/** A request with its authenticated user. */
export interface WithRequester extends WithInfo {
  readonly user: RequestUser;
}

/** The facts about a write that only its endpoint knows and that admission needs. */
export interface AdmissionAbout {
  /** The kind of the written object: that of the resource, or that of a subresource such as Scale. */
  readonly kind: Pick<ServedResource, "groupVersion" | "kind">;
  /** CreateOptions, UpdateOptions or DeleteOptions with kind and apiVersion; undefined for a connection. */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
}

/** Returns undefined if no admission plugin handles the write. */
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
  /** Absent if no admission plugin runs. */
  readonly admit?: Admit | undefined;
  /** Rejects an update of an absent object if the user may not create the object. */
  readonly rejectCreation?: (() => Promise<void>) | undefined;
  /** Rejects the deletion of an unreadable object if the user may not delete such objects. Absent if none may. */
  readonly rejectUnsafeDeletion?: (() => Promise<void>) | undefined;
  /** Returns the protobuf tables, which are loaded at the first protobuf body. */
  readonly protobuf: () => ProtobufTables;
  /** Decides about fields of the request that only peers know. Undefined if the peer proxy is disabled. */
  readonly fieldLoss?: ((named: NamedFields) => FieldLossVerdict) | undefined;
}
