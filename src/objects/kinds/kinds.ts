/** Looks up the rules of every built-in kind. */
import type { GroupVersion } from "../../meta/group-version.ts";
import { ACCESS_KINDS } from "./access/kinds.ts";
import { CORE_KINDS } from "./core/kinds.ts";
import type { Kind, KindEntry } from "./kind.ts";
import { NETWORK_KINDS } from "./network/kinds.ts";
import { POD_KINDS } from "./pods/kinds.ts";
import { STORAGE_KINDS } from "./storage/kinds.ts";
import { STORAGE_VERSION_KINDS } from "./storage-versions/kinds.ts";
import { WORKLOAD_KINDS } from "./workloads/kinds.ts";

/** The rules of a kind; `{}` for a kind without rules of its own. */
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

/** Collects the built-in kinds, and the kinds in `more`, which rooms above this one define. */
export function createKinds(more: readonly KindEntry[]): KindOf {
  const kinds: ReadonlyMap<string, Kind> = new Map([...BUILT_IN, ...more]);
  return ({ group, version }, kind) =>
    kinds.get(`${group}/${version}/${kind}`) ?? kinds.get(`${group}/${kind}`) ?? NOTHING_SPECIAL;
}
