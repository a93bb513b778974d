/** The meaning of every kind that has one. */
import type { GroupVersion } from "../../meta/group-version.ts";
import { ACCESS_KINDS } from "./access/kinds.ts";
import { CORE_KINDS } from "./core/kinds.ts";
import type { Kind } from "./kind.ts";
import { NETWORK_KINDS } from "./network/kinds.ts";
import { POD_KINDS } from "./pods/kinds.ts";
import { STORAGE_KINDS } from "./storage/kinds.ts";
import { STORAGE_VERSION_KINDS } from "./storage-versions/kinds.ts";
import { WORKLOAD_KINDS } from "./workloads/kinds.ts";

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ...POD_KINDS,
  ...WORKLOAD_KINDS,
  ...CORE_KINDS,
  ...NETWORK_KINDS,
  ...STORAGE_KINDS,
  ...STORAGE_VERSION_KINDS,
  ...ACCESS_KINDS,
]);

const NOTHING_SPECIAL: Kind = {};

export function kindOf({ group, version }: GroupVersion, kind: string): Kind {
  return KINDS.get(`${group}/${version}/${kind}`) ?? KINDS.get(`${group}/${kind}`) ?? NOTHING_SPECIAL;
}
