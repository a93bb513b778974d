/** Defaults of the volume claim templates of a StatefulSet. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { structAt, setRoundedRequirements, setEmpty } from "../defaults.ts";

/** Sets the kind and apiVersion of each template in place, because protobuf does not transmit them. */
export function setClaimKinds(statefulSet: JsonObject): void {
  changeClaims(objectAt(statefulSet, "spec"), ({ kind: _kind, apiVersion: _version, ...claim }) => ({
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    ...claim,
  }));
}

/** Sets in each template, in place, the defaults that a PersistentVolumeClaim has. */
export function setClaimDefaults(statefulSet: JsonObject): void {
  setClaimKinds(statefulSet);
  changeClaims(objectAt(statefulSet, "spec"), (claim) => {
    structAt(claim, "metadata");
    const spec = structAt(claim, "spec");
    setRoundedRequirements(structAt(spec, "resources"));
    spec["volumeMode"] ??= "Filesystem";
    setEmpty(structAt(claim, "status"), { phase: "Pending" });
    return claim;
  });
}

function changeClaims(spec: JsonObject, change: (claim: JsonObject) => JsonObject): void {
  const claims = spec["volumeClaimTemplates"];
  if (!Array.isArray(claims)) return;
  spec["volumeClaimTemplates"] = claims.map((claim: unknown) => (isJsonObject(claim) ? change(claim) : claim));
}

/**
 * The pod template that the pods of a StatefulSet have: with volumes for the claims, and without hostname and
 * subdomain.
 */
export function templateWithClaims(spec: JsonObject): JsonObject {
  const template = objectAt(spec, "template");
  const { subdomain: _subdomain, hostname: _hostname, ...podSpec } = objectAt(template, "spec");
  const claims = objectsAt(spec, "volumeClaimTemplates");
  if (claims.length === 0) return { ...template, spec: podSpec };
  const names = new Set(claims.map((claim) => stringAt(objectAt(claim, "metadata"), "name")));
  const claimed = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const others = objectsAt(podSpec, "volumes").filter((volume) => !names.has(stringAt(volume, "name")));
  return { ...template, spec: { ...podSpec, volumes: [...claimed, ...others] } };
}
