/** Converts Ingresses: v1beta1 has the service name and port of a backend as flat fields, v1 has them in an object. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { omitMembers, renameMembers, updateItems, updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

export const INGRESS_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["Ingress"],
    hub: ["networking.k8s.io/v1"],
    spokes: [
      {
        versions: ["networking.k8s.io/v1beta1"],
        toHub: (ingress) =>
          updateObject(ingress, "spec", (spec) => {
            const renamed = renameMembers(spec, { backend: "defaultBackend" });
            return updateObject(reshapePaths(renamed, nestBackend), "defaultBackend", nestBackend);
          }),
        fromHub: (ingress) =>
          updateObject(ingress, "spec", (spec) => {
            const renamed = renameMembers(spec, { defaultBackend: "backend" });
            return updateObject(reshapePaths(renamed, flattenBackend), "backend", flattenBackend);
          }),
      },
    ],
  },
]);

function reshapePaths(spec: JsonObject, reshape: (backend: JsonObject) => JsonObject): JsonObject {
  return updateItems(spec, "rules", (rule) =>
    updateObject(rule, "http", (http) => updateItems(http, "paths", (path) => updateObject(path, "backend", reshape))),
  );
}

function nestBackend(backend: JsonObject): JsonObject {
  const { serviceName, servicePort, ...own } = omitMembers(backend, ["service"]);
  const hasPort = servicePort !== undefined && servicePort !== null && servicePort !== 0;
  if (!hasPort && (serviceName === undefined || serviceName === "")) return own;
  const port = typeof servicePort === "string" ? { name: servicePort } : hasPort ? { number: servicePort } : {};
  return { ...own, service: { name: serviceName ?? "", port } };
}

function flattenBackend(backend: JsonObject): JsonObject {
  const { service, ...own } = omitMembers(backend, ["serviceName", "servicePort"]);
  if (!isJsonObject(service)) return own;
  const port = objectAt(service, "port");
  const servicePort = stringAt(port, "name") || (port["number"] ?? 0);
  return { ...own, serviceName: stringAt(service, "name"), servicePort };
}
