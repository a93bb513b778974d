/** Seeds a rehearsal with the stored data of a cluster, for example an etcd snapshot. */
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { stringAt, type JsonObject } from "../../meta/json.ts";
import { convertObject } from "../../objects/conversion/convert.ts";
import { decodedObject } from "../upgrade/inspect/collect/special-objects.ts";
import { inspectStoredData } from "../upgrade/inspect/inspect-stored-data.ts";
import type { StoredData, WalkRequest } from "../upgrade/stored-data.ts";
import { CRDS_MAX, toSeed, type Seed } from "./seed.ts";

interface SeedFromData extends Omit<WalkRequest, "prefix"> {
  /** Undefined to find it in the data. */
  readonly from: ReleaseName | undefined;
  readonly to: ReleaseName;
}

const V1 = { group: "apiextensions.k8s.io", version: "v1" } as const;
const V1BETA1 = { group: "apiextensions.k8s.io", version: "v1beta1" } as const;
const CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
/** Only some of the CRDs are played, those with most objects. */
const CRDS_READ_MAX = 100 * CRDS_MAX;

/** Rejects as `StoredData.walk` does. The data stays open. */
export async function seedFromData(data: StoredData, options: SeedFromData): Promise<Seed> {
  const { from, to, signal, onProgress } = options;
  const inspection = await inspectStoredData(data, { from, to: [to], signal, onProgress });
  const crds: JsonObject[] = [];
  await data.walk({ prefix: CRDS, signal, onProgress: () => {} }, ({ value }) => {
    const crd = crds.length < CRDS_READ_MAX ? decodedObject(value) : undefined;
    if (crd !== undefined) crds.push(toV1(crd));
  });
  const live = inspection.identityLeases.filter(({ state }) => state === "live").length;
  return toSeed({ ...inspection, source: data.source, liveServers: live }, crds);
}

/** kube-apiserver stores CRDs in v1beta1. */
function toV1(crd: JsonObject): JsonObject {
  return stringAt(crd, "apiVersion") === "apiextensions.k8s.io/v1beta1" ? convertObject(crd, V1BETA1, V1) : crd;
}
