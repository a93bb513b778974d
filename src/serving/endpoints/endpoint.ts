/** One resource of one served version, as the route table finds it. */
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
  /** By name: the verbs each allows. */
  readonly subresources: ReadonlyMap<string, ReadonlySet<string>>;
  /** What users of an API on its way out are warned with on every request. */
  readonly deprecation: string | undefined;
  /** `1.29`: the release that does not have it any more, where that is known. */
  readonly removedRelease?: string | undefined;
  /** Undefined for what is answered, not stored: reviews, bindings. */
  readonly served: ServedResource | undefined;
}

/** A request that says who is asking. */
export interface WithRequester extends WithInfo {
  readonly user: RequestUser;
}

/** What a write tells those who may change or refuse it. */
export interface AdmissionAbout {
  /** What is written: the resource's kind, or a subresource's such as Scale. */
  readonly kind: Pick<ServedResource, "groupVersion" | "kind">;
  /** CreateOptions and its like, with kind and apiVersion; connections have none. */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
}

/** Undefined where nobody cares. */
type Admit = (about: AdmissionAbout) => Admission | undefined;

/** An endpoint that writes may leave the response to a peer; one that reads never does. */
export type EndpointResponse = ApiResponse | ForwardedRequest;

/** What a verb's endpoint is given. */
export interface EndpointCall {
  readonly context: RegistryContext;
  readonly served: ServedResource;
  /** Makes the answer in the form the client wants. */
  readonly renderer: Renderer;
  readonly request: WithRequester;
  /** Absent: nobody is asked. */
  readonly admit?: Admit | undefined;
  /** Throws when the requester may not create what an update does not find. */
  readonly refuseCreation?: (() => Promise<void>) | undefined;
  /** Decoded when the first protobuf body arrives. */
  readonly protobuf: () => ProtobufTables;
  /** What to do about fields that the request names and only others know; undefined where there are no others. */
  readonly fieldLoss?: ((named: NamedFields) => FieldLossVerdict) | undefined;
}
