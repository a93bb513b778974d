/** Dispatches a resource request to the endpoint of its verb. */
import { Forwarded } from "../registry/forwarded-request.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { Handler } from "../http/chain.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { errorResponse } from "../http/respond.ts";
import type { Admission } from "../registry/admission.ts";
import { conditionalStore } from "../registry/conditional-store.ts";
import type { RegistryContext } from "../registry/context.ts";
import type { ServedResource } from "../registry/resource.ts";
import { toStatusError } from "../registry/storage-errors.ts";
import { componentStatusesEndpoint } from "./component-statuses.ts";
import { warningHeaders } from "./decode-body.ts";
import type { AdmissionAbout, EndpointCall, ResourceEndpoint, WithRequester, EndpointResponse } from "./endpoint.ts";
import type { JudgeFieldLoss } from "./field-loss.ts";
import { inMedia } from "./render/media.ts";
import { negotiateRepresentation, type Representation } from "./render/negotiate.ts";
import { isClientFacingError, rendererFor, representationFor } from "./render/respond.ts";
import type { ResolveEndpoint, WithEndpoint } from "./resolve-or-not-found.ts";
import { serveStoredObject, writesStoredObject } from "./stored-object-verbs.ts";
import { bindingEndpoint } from "./subresources/binding.ts";
import { isConnection } from "./subresources/connections.ts";
import { subresourceEndpoint } from "./subresources/subresources.ts";
import type { TokenRequests } from "./subresources/token-request/token-request.ts";
import type { WatchDependencies } from "./watch.ts";

const PLAIN: Representation = negotiateRepresentation(undefined, "object");

export interface ResourceDependencies<Req> extends WatchDependencies {
  /** Returns the admission of a write. Absent if no admission plugin runs. */
  readonly admit?: ((request: Req, about: RequestAdmission) => Admission | undefined) | undefined;
  /** Rejects an update of an absent object if the user may not create the object. Absent if every user may. */
  readonly rejectCreation?: ((request: Req) => Promise<void>) | undefined;
  /** Rejects the deletion of an unreadable object if the user may not delete such objects. Absent if none may. */
  readonly rejectUnsafeDeletion?: ((request: Req) => Promise<void>) | undefined;
  /** Issues service account tokens. Absent if token requests are not served. */
  readonly tokens?: TokenRequests | undefined;
  /** Adds an annotation to the audit event of the request. */
  readonly annotate?: ((request: Req, key: string, value: string) => void) | undefined;
  /** Serves resources that are not stored. Returns undefined for other resources. */
  readonly virtual?: ((request: Req, of: VirtualCall) => Promise<ApiResponse> | undefined) | undefined;
  /** Decides about fields that only peers know. Undefined if the peer proxy is disabled. */
  readonly fieldLoss?: JudgeFieldLoss<Req> | undefined;
}

export interface RequestAdmission extends AdmissionAbout {
  readonly served: ServedResource;
  /** Adds a Warning header to the response. */
  readonly warn: (text: string) => void;
}

export interface VirtualCall {
  readonly endpoint: ResourceEndpoint;
  readonly representation: Representation;
}

/**
 * Serves requests that `resolve-or-not-found.ts` has resolved. `resolve` finds other resources, which some subresources
 * need.
 */
export function resourceHandler<Req extends WithRequester & WithEndpoint>(
  dependencies: ResourceDependencies<Req>,
  resolve: ResolveEndpoint,
): Handler<Req> {
  return async (request) => {
    const { endpoint } = request;
    if (endpoint === undefined) throw new Error("a non-resource request reached the resource handler");
    recordDeprecation(endpoint, request);
    // The content of a connection is not negotiated here: the client and the server that it connects to do that.
    const representation = isConnection(request.info.subresource)
      ? PLAIN
      : representationFor(request, { endpoint, tables: dependencies.protobuf });
    const response = await serveResource(dependencies, endpoint, { request, representation, resolve });
    // The peer negotiates the media type and adds its own warnings.
    if (response instanceof Forwarded) return response.respond();
    const { deprecation } = endpoint;
    const warned = deprecation === undefined ? response : withWarning(response, deprecation);
    return inMedia(warned, representation);
  };
}

/** As kubernetes endpoints/metrics/metrics.go#MonitorRequest. */
function recordDeprecation({ deprecation, removedRelease }: ResourceEndpoint, { audit }: WithInfo): void {
  if (deprecation === undefined) return;
  audit?.annotate("k8s.io/deprecated", "true");
  if (removedRelease !== undefined) audit?.annotate("k8s.io/removed-release", removedRelease);
}

async function serveResource<Req extends WithRequester>(
  dependencies: ResourceDependencies<Req>,
  endpoint: ResourceEndpoint,
  { request, representation, resolve }: { request: Req; representation: Representation; resolve: ResolveEndpoint },
): Promise<EndpointResponse> {
  const isLegacyBinding = endpoint.group === "" && endpoint.resource === "bindings";
  const served = isLegacyBinding ? resolve("", "v1", "pods")?.served : endpoint.served;
  const warnings = new Set<string>();
  try {
    if (endpoint.group === "" && endpoint.resource === "componentstatuses")
      return componentStatusesEndpoint(endpoint, request, representation);
    const virtual = dependencies.virtual?.(request, { endpoint, representation });
    if (virtual !== undefined) return await virtual;
    if (served === undefined) return notStored(endpoint, request);
    const call = endpointCall(dependencies, { served, request, representation, warn: (text) => warnings.add(text) });
    const annotate = dependencies.annotate?.bind(undefined, request);
    const budgets = (): ServedResource | undefined => resolve("policy", "v1", "poddisruptionbudgets")?.served;
    const respond = (): EndpointResponse | Promise<EndpointResponse> => {
      if (isLegacyBinding) return bindingEndpoint(call);
      if (writesStoredObject(request.info.subresource)) return serveStoredObject(dependencies, call);
      const { tokens } = dependencies;
      return subresourceEndpoint(call, { representation, budgets, tokens, annotate }) ?? notStored(endpoint, request);
    };
    return withWarnings(await respond(), warnings);
  } catch (caught) {
    const thrown = toStatusError(caught);
    // The error is converted to YAML or protobuf if the client accepts it, and has the Warning headers.
    const isMore = representation.media !== "json" || endpoint.deprecation !== undefined || warnings.size > 0;
    if (isMore && isClientFacingError(thrown)) return withWarnings(errorResponse(thrown), warnings);
    throw thrown;
  }
}

/** Binds the dependencies of an endpoint to the request. */
function endpointCall<Req extends WithRequester>(
  dependencies: ResourceDependencies<Req>,
  of: Pick<RequestAdmission, "served" | "warn"> & { readonly request: Req; readonly representation: Representation },
): EndpointCall {
  const { protobuf, fieldLoss, admit, rejectCreation, rejectUnsafeDeletion } = dependencies;
  const { served, request, representation, warn } = of;
  const context = contextOf(dependencies, request);
  return {
    context,
    served,
    renderer: rendererFor(representation, served, { request, clock: context.clock }),
    request,
    protobuf,
    fieldLoss: fieldLoss && ((named) => fieldLoss(request, named)),
    admit: admit && ((about) => admit(request, { ...about, served, warn })),
    rejectCreation: rejectCreation && (() => rejectCreation(request)),
    rejectUnsafeDeletion: rejectUnsafeDeletion && (() => rejectUnsafeDeletion(request)),
  };
}

function contextOf({ context }: Pick<WatchDependencies, "context">, { condition }: WithInfo): RegistryContext {
  return condition === undefined ? context : { ...context, store: conditionalStore(context.store, condition) };
}

function withWarning(response: ApiResponse, warning: string): ApiResponse {
  const lines = [warningHeaders([warning])["warning"] ?? [], response.headers["warning"] ?? []].flat();
  return { ...response, headers: { ...response.headers, warning: lines } };
}

function withWarnings(response: EndpointResponse, warnings: ReadonlySet<string>): EndpointResponse {
  if (warnings.size === 0 || response instanceof Forwarded) return response;
  const lines = [response.headers["warning"] ?? [], warningHeaders([...warnings])["warning"] ?? []].flat();
  return { ...response, headers: { ...response.headers, warning: lines } };
}

/**
 * Rejects a resource that discovery lists but this server does not implement. 404 would wrongly report that the
 * resource does not exist.
 */
function notStored(endpoint: ResourceEndpoint, { info }: WithInfo): never {
  const { group, resource } = endpoint;
  const what = info.subresource === "" ? resource : `${resource}/${info.subresource}`;
  throw new StatusError(
    "MethodNotAllowed",
    `${info.verb} is not supported on resources of kind ${JSON.stringify(what)} by this version of Evenkeel`,
    {
      details: { ...(group === "" ? {} : { group }), kind: resource },
    },
  );
}
