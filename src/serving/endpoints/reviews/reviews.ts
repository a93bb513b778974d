/**
 * Serves reviews: a client creates an object and receives it with a status that holds the result. Reviews are never
 * stored.
 */
import { withoutSystemFields } from "../../registry/create.ts";
import { headerValue, type ApiResponse } from "../../http/message.ts";
import { NAMED_TYPES, parseMediaType } from "../../http/negotiate.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { notAcceptable } from "../../../meta/status-error.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { trackCreate } from "../../../objects/managed-fields/manager.ts";
import { rejectForeignNamespace } from "../../registry/preconditions.ts";
import type { ServedResource } from "../../registry/resource.ts";
import { decodeObject, warningHeaders } from "../decode-body.ts";
import type { ResourceEndpoint, WithRequester } from "../endpoint.ts";
import { optionsObject, writeOptions, type WriteParameters } from "../options.ts";
import { inMedia } from "../render/media.ts";
import { negotiateRepresentation, type Representation } from "../render/negotiate.ts";
import { chunksResponse, errorResponseWithWarnings, rendererFor } from "../render/respond.ts";
import type { VirtualCall } from "../resources.ts";
import {
  accessStatus,
  readable,
  rejectInvalidAccessReview,
  reviewedAccess,
  reviewedUser,
  type AccessReviewKind,
} from "./access-review.ts";
import type { ReviewPorts } from "./ports.ts";
import { reviewKind } from "./review-kind.ts";
import { rejectWithoutNamespace, reviewedNamespace, rulesStatus } from "./rules-review.ts";
import { rejectWithoutToken, tokenQuestion, tokenStatus } from "./token-review.ts";
import { userInfo } from "./user-info.ts";

/** Serves the review of `endpoint`. Returns undefined if the endpoint is not a review. */
export function reviewEndpoint<Req extends WithRequester>(
  ports: ReviewPorts<Req>,
): (request: Req, call: VirtualCall) => Promise<ApiResponse> | undefined {
  return (request, { endpoint, representation }) => {
    const review = REVIEWS.get(`${endpoint.group}/${endpoint.resource}`);
    if (review === undefined || request.info.subresource !== "") return undefined;
    return evaluated({ ports, request, review, endpoint }, representation);
  };
}

/** True for reviews, which accept only create and are never stored. */
export function isReview(group: string, resource: string): boolean {
  return REVIEWS.has(`${group}/${resource}`);
}

interface Review {
  /** Throws if the review is invalid. */
  check(object: JsonObject): void;
  /** Evaluates the review and returns the fields of the response. */
  answer(object: JsonObject, asked: Asked): JsonObject | Promise<JsonObject>;
}

interface Asked {
  readonly ports: Omit<ReviewPorts<never>, "admit">;
  readonly request: WithRequester;
}

interface ReviewCall<Req extends WithRequester> {
  readonly ports: ReviewPorts<Req>;
  readonly request: Req;
  readonly review: Review;
  readonly endpoint: ResourceEndpoint;
}

async function evaluated<Req extends WithRequester>(
  call: ReviewCall<Req>,
  negotiated: Representation,
): Promise<ApiResponse> {
  const { ports, request, endpoint } = call;
  const { protobuf, clock } = ports;
  const representation = negotiated.form === "table" ? withoutTables(request, call) : negotiated;
  const kind = reviewKind(endpoint, ports);
  const options = writeOptions(request, "CreateOptions");
  const { object, warnings: found } = await decodeObject({ request, served: kind, protobuf }, options.fieldValidation);
  const warnings = [...found];
  try {
    const members = await reviewed(call, kind, { object, options, warn: (text) => void warnings.push(text) });
    const evaluate = { kind: kind.kind, apiVersion: kind.apiVersion, ...members };
    const renderer = rendererFor(representation, kind, { request, clock });
    return inMedia(chunksResponse(201, renderer.object(evaluate), warningHeaders(warnings)), representation);
  } catch (thrown) {
    return errorResponseWithWarnings(thrown, warnings);
  }
}

/**
 * As kubernetes: a review is not available as a Table, so a client that prefers a Table receives the next form that it
 * accepts.
 */
function withoutTables<Req extends WithRequester>(request: Req, { ports, endpoint }: ReviewCall<Req>): Representation {
  const clauses = (headerValue(request.headers, "accept") ?? "").split(",");
  const others = clauses.filter((clause) => parseMediaType(clause).parameters.get("as") !== "Table");
  if (others.length === 0) throw notAcceptable(NAMED_TYPES);
  return negotiateRepresentation(others.join(","), "object", { endpoint, tables: ports.protobuf });
}

interface Question {
  readonly object: JsonObject;
  readonly options: WriteParameters;
  readonly warn: (text: string) => void;
}

async function reviewed<Req extends WithRequester>(
  { ports, request, review }: ReviewCall<Req>,
  kind: ServedResource,
  { object, options, warn }: Question,
): Promise<JsonObject> {
  const { dryRun, manager } = options;
  const asked = readable(
    owned(placed(object, kind, request), { kind, manager, nowMs: ports.clock.now() }),
    ports.gates,
  );
  const about = { served: kind, kind, dryRun, options: optionsObject(request, "CreateOptions"), warn };
  const admission = ports.admit?.(request, about);
  if (admission === undefined) {
    review.check(asked);
    return review.answer(asked, { ports, request });
  }
  const write = {
    operation: "CREATE",
    name: stringAt(objectAt(asked, "metadata"), "name"),
    existing: undefined,
  } as const;
  const mutated = await admission.mutate({ ...write, object: asked });
  review.check(mutated);
  await admission.validate({ ...write, object: mutated });
  return review.answer(mutated, { ports, request });
}

/** Sets the namespace of the request, and removes the fields that only the server may set. */
function placed(object: JsonObject, { stored }: ServedResource, { info }: WithRequester): JsonObject {
  rejectForeignNamespace(object, info.namespace);
  const { namespace: _namespace, ...metadata } = objectAt(withoutSystemFields(object), "metadata");
  return { ...object, metadata: stored.namespaced ? { ...metadata, namespace: info.namespace } : metadata };
}

function owned(
  next: JsonObject,
  { kind, manager, nowMs }: { readonly kind: ServedResource; readonly manager: string; readonly nowMs: number },
): JsonObject {
  const { schema, apiVersion } = kind;
  const text = trackCreate({ next, schema, apiVersion, manager, time: timestampAt(nowMs) });
  const { managedFields: _sent, ...metadata } = objectAt(next, "metadata");
  const managedFields = text === undefined ? {} : { managedFields: JSON.parse(text) as unknown };
  return { ...next, metadata: { ...metadata, ...managedFields } };
}

function accessReview(kind: AccessReviewKind): Review {
  return {
    check: (object) => rejectInvalidAccessReview(object, kind),
    async answer(object, { ports, request }) {
      const user = kind === "SelfSubjectAccessReview" ? request.user : reviewedUser(object);
      const decision = await ports.authorize(user, reviewedAccess(object), request.signal);
      return { ...object, status: accessStatus(object, decision) };
    },
  };
}

const TOKEN_REVIEW: Review = {
  check: rejectWithoutToken,
  async answer(object, { ports }) {
    const question = tokenQuestion(object, ports.apiAudiences);
    const response = await ports.authenticateToken(question.token, question.audiences);
    return { ...object, status: tokenStatus(object, question, response) };
  },
};

const RULES_REVIEW: Review = {
  check: rejectWithoutNamespace,
  answer: (object, { ports, request }) => ({
    metadata: {},
    spec: {},
    status: rulesStatus(ports.rulesFor(request.user, reviewedNamespace(object))),
  }),
};

const SELF_REVIEW: Review = {
  check() {},
  answer: (_object, { ports, request }) => ({
    metadata: { creationTimestamp: timestampAt(ports.clock.now()) },
    status: { userInfo: userInfo(request.user) },
  }),
};

const REVIEWS: ReadonlyMap<string, Review> = new Map([
  ["authentication.k8s.io/tokenreviews", TOKEN_REVIEW],
  ["authentication.k8s.io/selfsubjectreviews", SELF_REVIEW],
  ["authorization.k8s.io/subjectaccessreviews", accessReview("SubjectAccessReview")],
  ["authorization.k8s.io/localsubjectaccessreviews", accessReview("LocalSubjectAccessReview")],
  ["authorization.k8s.io/selfsubjectaccessreviews", accessReview("SelfSubjectAccessReview")],
  ["authorization.k8s.io/selfsubjectrulesreviews", RULES_REVIEW],
]);
