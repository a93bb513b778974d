/** Validation of probes and lifecycle handlers. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors, nonNegativeErrors, portNumberErrors } from "../../checks.ts";
import { httpHeaderNameErrors } from "./formats.ts";
import type { SpecContext } from "./spec-context.ts";
import { stopSignalErrors } from "./stop-signals.ts";
import { portNameErrors } from "../../core/name-checks.ts";

const SCHEMES: readonly string[] = ["HTTP", "HTTPS"];
const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const NON_NEGATIVE = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;
const INT32_MAX = 2_147_483_647;

export interface HandlerContext extends SpecContext {
  /** The grace period of the pod, which no lifecycle handler may exceed. */
  readonly gracePeriodSeconds: number | undefined;
  readonly os: JsonObject | undefined;
}

/** Validates the lifecycle and the probes of a container that keeps running. */
export function* handlersErrors(container: JsonObject, field: string, context: HandlerContext): Generator<FieldError> {
  const { lifecycle } = container;
  if (isJsonObject(lifecycle)) yield* lifecycleErrors(lifecycle, `${field}.lifecycle`, context);
  for (const name of PROBES) {
    const probe = container[name];
    if (!isJsonObject(probe)) continue;
    const at = `${field}.${name}`;
    yield* probeErrors(probe, at, context);
    if (name === "readinessProbe") {
      if (probe["terminationGracePeriodSeconds"] !== undefined)
        yield invalidValue(
          `${at}.terminationGracePeriodSeconds`,
          probe["terminationGracePeriodSeconds"],
          "must not be set for readinessProbes",
        );
    } else if (numberAt(probe, "successThreshold") !== 1)
      yield invalidValue(`${at}.successThreshold`, numberAt(probe, "successThreshold") ?? 0, "must be 1");
  }
}

/** Rejects lifecycle and probes of a container that runs to completion. */
export function* noHandlersErrors(container: JsonObject, field: string): Generator<FieldError> {
  for (const name of ["lifecycle", ...PROBES])
    if (container[name] !== undefined)
      yield forbiddenField(`${field}.${name}`, "may not be set for init containers without restartPolicy=Always");
}

function* probeErrors(probe: JsonObject, field: string, context: HandlerContext): Generator<FieldError> {
  yield* handlerErrors(probe, field, context);
  for (const name of NON_NEGATIVE) yield* nonNegativeErrors(numberAt(probe, name), `${field}.${name}`);
  const grace = numberAt(probe, "terminationGracePeriodSeconds");
  if (grace !== undefined && grace <= 0)
    yield invalidValue(`${field}.terminationGracePeriodSeconds`, grace, "must be greater than 0");
}

function* lifecycleErrors(lifecycle: JsonObject, field: string, context: HandlerContext): Generator<FieldError> {
  for (const name of ["postStart", "preStop"] as const) {
    const handler = lifecycle[name];
    if (isJsonObject(handler)) yield* handlerErrors(handler, `${field}.${name}`, context);
  }
  const signal = lifecycle["stopSignal"];
  if (typeof signal === "string") yield* stopSignalErrors(signal, `${field}.stopSignal`, context.os);
}

const HANDLERS = {
  exec: execErrors,
  httpGet: httpGetErrors,
  tcpSocket: (action: JsonObject, field: string) => portErrors(action["port"], `${field}.port`),
  grpc: (action: JsonObject, field: string) => portErrors(action["port"], `${field}.port`),
  sleep: sleepErrors,
} as const;

function* handlerErrors(handler: JsonObject, field: string, context: HandlerContext): Generator<FieldError> {
  let count = 0;
  for (const [name, errors] of Object.entries(HANDLERS)) {
    const action = handler[name];
    if (!isJsonObject(action)) continue;
    if (count > 0) yield forbiddenField(`${field}.${name}`, "may not specify more than 1 handler type");
    else yield* errors(action, `${field}.${name}`, context);
    count++;
  }
  if (count === 0) yield required(field, "must specify a handler type");
}

function* execErrors(exec: JsonObject, field: string): Generator<FieldError> {
  if (stringsAt(exec, "command").length === 0) yield required(`${field}.command`);
}

function* httpGetErrors(httpGet: JsonObject, field: string): Generator<FieldError> {
  if (stringAt(httpGet, "path") === "") yield required(`${field}.path`);
  yield* portErrors(httpGet["port"], `${field}.port`);
  const scheme = stringAt(httpGet, "scheme");
  if (!SCHEMES.includes(scheme)) yield unsupportedValue(`${field}.scheme`, scheme, SCHEMES);
  for (const header of objectsAt(httpGet, "httpHeaders"))
    yield* nameErrors(stringAt(header, "name"), `${field}.httpHeaders`, httpHeaderNameErrors);
}

/** Checks a port number or a port name. */
function* portErrors(port: unknown, field: string): Generator<FieldError> {
  if (typeof port === "string") yield* nameErrors(port, field, portNameErrors);
  else yield* portNumberErrors(Number(port ?? 0), field);
}

function* sleepErrors(sleep: JsonObject, field: string, context: HandlerContext): Generator<FieldError> {
  const { gracePeriodSeconds } = context;
  const seconds = numberAt(sleep, "seconds") ?? 0;
  if (gracePeriodSeconds === undefined) return;
  if (context.gates.isOn("PodLifecycleSleepActionAllowZero")) {
    if (seconds < 0 || seconds > gracePeriodSeconds)
      yield invalidValue(
        field,
        seconds,
        `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriodSeconds})`,
      );
  } else if (seconds <= 0 || seconds > gracePeriodSeconds)
    yield invalidValue(
      field,
      seconds,
      `must be greater than 0 and less than terminationGracePeriodSeconds (${gracePeriodSeconds}). Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep.`,
    );
}

/** Checks activeDeadlineSeconds. */
export function* deadlineErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const seconds = numberAt(spec, "activeDeadlineSeconds");
  if (seconds !== undefined && (seconds < 1 || seconds > INT32_MAX))
    yield invalidValue(`${field}.activeDeadlineSeconds`, seconds, `must be between 1 and ${INT32_MAX}, inclusive`);
}

export function handlerContext(spec: JsonObject, context: SpecContext): HandlerContext {
  const { os } = spec;
  return {
    ...context,
    gracePeriodSeconds: numberAt(spec, "terminationGracePeriodSeconds"),
    os: isJsonObject(os) ? objectAt(spec, "os") : undefined,
  };
}
