/**
 * Creates the audit filters. `identify` runs before all other filters, `failedAuthentication` directly before
 * authentication, and `record` directly after it. As in kube-apiserver, a request that is rejected before
 * authentication is not audited.
 */
import type { Duplex } from "node:stream";
import type { AccessAttributes, AuthorizationDecision } from "../auth/authorize.ts";
import type { User, WithUser } from "../auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import { randomUuid, type Random } from "../../base/random.ts";
import type { Handler, PassingFilter } from "../../serving/http/chain.ts";
import { isLongRunning, type WithInfo } from "../../serving/http/filters/request-info.ts";
import {
  headerValue,
  type ApiRequest,
  type ApiResponse,
  type ResponseHeaders,
  type StreamSink,
} from "../../serving/http/message.ts";
import { textResponse } from "../../serving/http/respond.ts";
import { StatusError } from "../../meta/status-error.ts";
import {
  auditedResponse,
  CLOSED_EARLY,
  mediaTypeOf,
  panicOf,
  auditedErrorResponse,
  type AuditedResponse,
} from "./audited-response.ts";
import type { AuditBackend } from "./backend.ts";
import { CapturedBody } from "./captured-body.ts";
import { IdOnlyTrail } from "./id-only-trail.ts";
import type { AuditMetrics } from "./metrics.ts";
import { createMicroClock } from "./micro-clock.ts";
import type { ReadBody } from "./objects.ts";
import { policyEvaluator, type EvaluatePolicy, type AuditPolicy, type AuditStage } from "./policy.ts";
import { proxiedBy } from "./proxied-by.ts";
import { requestAuditId } from "./audit-id.ts";
import { RequestTrail } from "./request-trail.ts";
import type { AuditTrail } from "../../serving/http/audit-trail.ts";

interface AuditOptions {
  /** If the policy or the backend is absent, requests get an audit ID but are not recorded. */
  readonly policy?: AuditPolicy | undefined;
  readonly backend?: AuditBackend | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: AuditMetrics;
  /** Decodes bodies that are not JSON. If absent, events omit such bodies, and an annotation reports it. */
  readonly readBody?: ReadBody | undefined;
  /** The attributes of a request that authorization checks. By default they are derived from the path. */
  readonly attributesOf?: AttributesOf | undefined;
}

export type AttributesOf = (request: WithInfo) => AccessAttributes;

export interface Audit {
  /** Assigns an audit ID to every request, and sets it on every response. */
  readonly identify: PassingFilter<ApiRequest>;
  readonly failedAuthentication: PassingFilter<WithInfo>;
  readonly record: PassingFilter<WithUser>;
  close(): Promise<void>;
}

export interface Audited {
  readonly audit?: AuditTrail;
}

/** Called by the authorization filter. Sets the annotations of kubernetes endpoints/filters/authorization.go. */
export function recordDecision({ audit }: Audited, decision: AuthorizationDecision): void {
  // The reason is computed only if it is recorded, because computing it is expensive: the cost grows with the subjects
  // of a binding.
  if (!(audit instanceof RequestTrail) || audit.level === "None") return;
  audit.annotate("authorization.k8s.io/decision", decision.allowed ? "allow" : "forbid");
  audit.annotate("authorization.k8s.io/reason", decision.reason);
}

export function createAudit(options: AuditOptions): Audit {
  const { policy, backend, random, metrics } = options;
  if (policy === undefined || backend === undefined) {
    return {
      identify: identify((request) => new IdOnlyTrail(requestAuditId(request) ?? randomUuid(random))),
      failedAuthentication: (next) => next,
      record: (next) => next,
      close: () => backend?.close() ?? Promise.resolve(),
    };
  }
  const now = createMicroClock(options.clock);
  const newTrail = (request: ApiRequest): RequestTrail =>
    new RequestTrail(requestAuditId(request) ?? randomUuid(random), now());
  const recorder = new Recorder({
    evaluate: policyEvaluator(policy),
    backend,
    metrics,
    now,
    newTrail,
    readBody: options.readBody,
    attributesOf: options.attributesOf ?? (({ info }) => info),
  });
  return {
    identify: identify(newTrail),
    failedAuthentication: (next) => (request) => recorder.failedAuthentication(next, request),
    record: (next) => (request) => recorder.record(next, request),
    close: () => backend.close(),
  };
}

function identify(newTrail: (request: ApiRequest) => AuditTrail): PassingFilter<ApiRequest> {
  return (next) => async (request) => {
    const audit = newTrail(request);
    const response = await next(Object.assign(request, { audit }));
    const { status, headers, body } = response;
    return { status, headers: responseHeaders(request, headers, audit.id), body };
  };
}

/**
 * Copies the headers, because responses may share them. Adding to a copy is several times faster than merging three
 * objects.
 */
function responseHeaders(
  { responseHeaders: wanted }: ApiRequest,
  headers: ResponseHeaders,
  id: string,
): ResponseHeaders {
  const all = { ...headers };
  if (wanted !== undefined) for (const name in wanted) all[name] ??= wanted[name]!;
  all["audit-id"] = id;
  return all;
}

interface RecorderParts {
  readonly evaluate: EvaluatePolicy;
  readonly backend: AuditBackend;
  readonly metrics: AuditMetrics;
  readonly now: () => number;
  readonly newTrail: (request: ApiRequest) => RequestTrail;
  readonly readBody: ReadBody | undefined;
  readonly attributesOf: AttributesOf;
}

class Recorder {
  readonly #parts: RecorderParts;

  constructor(parts: RecorderParts) {
    this.#parts = parts;
  }

  /** As kubernetes: one event, in the stage ResponseStarted. */
  async failedAuthentication<Req extends WithInfo>(next: Handler<Req>, request: Req): Promise<ApiResponse> {
    try {
      return await next(request);
    } catch (thrown) {
      const trail = this.#trailOf(request);
      const isOurs = thrown instanceof StatusError && thrown.reason === "Unauthorized" && trail.level === undefined;
      if (isOurs) await this.#unauthorized(trail, request, thrown);
      throw thrown;
    }
  }

  async #unauthorized(trail: RequestTrail, request: WithInfo, rejection: StatusError): Promise<void> {
    this.#receive(trail, undefined, request);
    const { status, object } = auditedErrorResponse(rejection);
    trail.responded(status, object);
    await this.#emit(trail, "ResponseStarted");
  }

  async record<Req extends WithUser>(next: Handler<Req>, request: Req): Promise<ApiResponse> {
    const trail = this.#trailOf(request);
    this.#receive(trail, request.user, request);
    if (trail.level === "None") return next(request);
    proxiedBy(request, trail);
    if (!(await this.#emit(trail, "RequestReceived"))) {
      this.#parts.metrics.rejected.inc();
      return notStored(request);
    }
    const body = new CapturedBody(request.body);
    const running: Running = { trail, request, body, isLong: isLongRunning(request.info) };
    let response: ApiResponse;
    try {
      response = await next(Object.assign(request, { body }));
    } catch (thrown) {
      await this.#failed(running, thrown);
      throw thrown;
    }
    return this.#answered(running, response);
  }

  async #failed(running: Running, thrown: unknown): Promise<void> {
    const { signal } = running.request;
    // If a deadline has passed, the abort reason is the StatusError that the client receives.
    const error: unknown = !(thrown instanceof StatusError) && signal.aborted ? signal.reason : thrown;
    if (error instanceof StatusError) await this.#ended(running, auditedErrorResponse(error));
    else if (signal.aborted) await this.#ended(running, CLOSED_EARLY);
    else {
      this.#tell(running, panicOf(error));
      await this.#emit(running.trail, "Panic");
    }
  }

  async #ended(running: Running, answer: AuditedResponse): Promise<void> {
    await this.#started(running, answer);
    await this.#emit(running.trail, "ResponseComplete");
  }

  async #answered(running: Running, response: ApiResponse): Promise<ApiResponse> {
    const { trail, request } = running;
    const answer = auditedResponse(response, {
      wantsObject: trail.level === "RequestResponse",
      omitManagedFields: trail.omitManagedFields,
      verb: request.info.verb,
      read: this.#parts.readBody,
    });
    await this.#started(running, answer);
    const complete = (): boolean | Promise<boolean> => this.#emit(trail, "ResponseComplete");
    const { body } = response;
    if (body.kind === "stream")
      return { ...response, body: { kind: "stream", open: untilClosed(body.open, complete) } };
    if (body.kind === "upgrade")
      return { ...response, body: { kind: "upgrade", open: untilGone(body.open, complete) } };
    await complete();
    return response;
  }

  async #started(running: Running, answer: AuditedResponse): Promise<void> {
    this.#tell(running, answer);
    if (running.isLong) await this.#emit(running.trail, "ResponseStarted");
  }

  #tell({ trail, request, body }: Running, { status, object }: AuditedResponse): void {
    if (!trail.hasRequestObject && body.bytes !== undefined) {
      const mediaType = mediaTypeOf(headerValue(request.headers, "content-type"));
      trail.requestBytes(body.bytes, { method: request.method, mediaType, read: this.#parts.readBody });
    }
    trail.responded(status, object);
  }

  #receive(trail: RequestTrail, user: User | undefined, request: WithInfo): void {
    const asked = this.#parts.attributesOf(request);
    const decision = this.#parts.evaluate(user, asked);
    this.#parts.metrics.levels.with(decision.level).inc();
    trail.receive({ user, request, access: asked, decision });
  }

  #emit(trail: RequestTrail, stage: AuditStage): boolean | Promise<boolean> {
    const event = trail.eventAt(stage, stage === "RequestReceived" ? undefined : this.#parts.now());
    if (event === undefined) return true;
    this.#parts.metrics.events.inc();
    return this.#parts.backend.process(event);
  }

  #trailOf(request: ApiRequest & Audited): RequestTrail {
    const { audit } = request;
    if (audit instanceof RequestTrail) return audit;
    const trail = this.#parts.newTrail(request);
    Object.assign(request, { audit: trail });
    return trail;
  }
}

interface Running {
  readonly trail: RequestTrail;
  readonly request: WithUser;
  readonly body: CapturedBody;
  readonly isLong: boolean;
}

/** Records the end of a response. The caller ignores the result, because the response has already been sent. */
type Complete = () => boolean | Promise<boolean>;

function untilClosed(open: (sink: StreamSink) => void, complete: Complete): (sink: StreamSink) => void {
  return (sink) => {
    sink.onClose(() => void complete());
    open(sink);
  };
}

function untilGone(
  open: (socket: Duplex | undefined) => void,
  complete: Complete,
): (socket: Duplex | undefined) => void {
  return (socket) => {
    if (socket === undefined) void complete();
    else socket.once("close", () => void complete());
    open(socket);
  };
}

/** The response for a request whose event cannot be stored. As kubernetes responsewriters#InternalError. */
function notStored({ path, rawQuery }: ApiRequest): ApiResponse {
  const uri = (rawQuery === "" ? path : `${path}?${rawQuery}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
  return textResponse(500, `Internal Server Error: ${JSON.stringify(uri)}: failed to store audit event\n`);
}
