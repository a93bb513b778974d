/** The claims in a StatefulSet, from which its pods' claims are made. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { structAt, setRoundedRequirements, setEmpty } from "../defaults.ts";

/** In place: each says what it is, which protobuf has no room for. */
export function setClaimKinds(statefulSet: JsonObject): void {
  changeClaims(objectAt(statefulSet, "spec"), ({ kind: _kind, apiVersion: _version, ...claim }) => ({
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    ...claim,
  }));
}

/** In place: each is a claim as it would be stored. */
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

/** The template as it will be in a pod: with the volumes that the claims become, and names that are not its own to choose. */
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
