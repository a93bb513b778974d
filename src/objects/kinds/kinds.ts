/** The meaning of every built-in kind that has one of its own. */
import type { GroupVersion } from "../../meta/group-version.ts";
import { ACCESS_KINDS } from "./access/kinds.ts";
import { CORE_KINDS } from "./core/kinds.ts";
import type { Kind, KindEntry } from "./kind.ts";
import { NETWORK_KINDS } from "./network/kinds.ts";
import { POD_KINDS } from "./pods/kinds.ts";
import { STORAGE_KINDS } from "./storage/kinds.ts";
import { STORAGE_VERSION_KINDS } from "./storage-versions/kinds.ts";
import { WORKLOAD_KINDS } from "./workloads/kinds.ts";

/** What a kind means beyond its shape; `{}` for a kind with nothing of its own. */
export type KindOf = (groupVersion: GroupVersion, kind: string) => Kind;

const BUILT_IN: readonly KindEntry[] = [
  ...POD_KINDS,
  ...WORKLOAD_KINDS,
  ...CORE_KINDS,
  ...NETWORK_KINDS,
  ...STORAGE_KINDS,
  ...STORAGE_VERSION_KINDS,
  ...ACCESS_KINDS,
];

const NOTHING_SPECIAL: Kind = {};

/** The built-in kinds, and those of higher rooms. */
export function createKinds(more: readonly KindEntry[]): KindOf {
  const kinds: ReadonlyMap<string, Kind> = new Map([...BUILT_IN, ...more]);
  return ({ group, version }, kind) =>
    kinds.get(`${group}/${version}/${kind}`) ?? kinds.get(`${group}/${kind}`) ?? NOTHING_SPECIAL;
}
