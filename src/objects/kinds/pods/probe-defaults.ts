/** Default values of probes and lifecycle handlers. */
import { isJsonObject, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { setEmpty } from "../defaults.ts";

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
const HANDLERS = ["postStart", "preStop"] as const;

/** Sets defaults in place. */
export function setProbeDefaults(container: JsonObject): void {
  for (const name of PROBES) {
    const probe = container[name];
    if (isJsonObject(probe)) setOneProbeDefaults(probe);
  }
  const { lifecycle } = container;
  if (!isJsonObject(lifecycle)) return;
  for (const name of HANDLERS) {
    const handler = lifecycle[name];
    if (!isJsonObject(handler)) continue;
    setHttpGetDefaults(handler);
    const { sleep } = handler;
    if (isJsonObject(sleep)) sleep["seconds"] ??= 0;
  }
}

function setOneProbeDefaults(probe: JsonObject): void {
  setEmpty(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
  setHttpGetDefaults(probe);
  const { grpc } = probe;
  if (isJsonObject(grpc)) grpc["service"] ??= "";
}

function setHttpGetDefaults(handler: JsonObject): void {
  const { httpGet } = handler;
  if (!isJsonObject(httpGet)) return;
  setEmpty(httpGet, { path: "/", scheme: "HTTP" });
  for (const header of objectsAt(httpGet, "httpHeaders")) header["value"] ??= "";
}
