/** How `evenkeel serve` handles one flag of kube-apiserver. */
import type { ReleaseName } from "../../../objects/catalog/release.ts";

export type ValueType = "boolean" | "duration" | "integer" | "list" | "number" | "text";

/** A flag that the server does not implement. */
interface Unimplemented {
  readonly type: ValueType;
  /** A clause that says what the server does not do. */
  readonly because: string;
  /** Values that need no warning and no error, because the server behaves as they demand. */
  readonly fine: readonly string[];
}

export type Handling =
  /** `note`: a sentence about the difference from kube-apiserver. The option of the command describes the flag. */
  | { readonly kind: "implemented"; readonly note?: string }
  /** The server accepts the flag and logs a warning. Only for flags whose absence makes the server no less secure. */
  | ({ readonly kind: "ignored" } & Unimplemented)
  /** The server does not start with the flag. */
  | ({ readonly kind: "rejected" } & Unimplemented);

export interface KubeFlag {
  readonly handling: Handling;
  /** The first release with the flag, if it is later than 1.33. */
  readonly since?: ReleaseName;
}

/** One section of the help of kube-apiserver. */
export interface FlagSection {
  readonly title: string;
  /** Keyed by the name of the flag without dashes, in the order of the help. */
  readonly flags: Readonly<Record<string, KubeFlag>>;
}

export function implemented(note?: string): KubeFlag {
  return { handling: { kind: "implemented", ...(note === undefined ? {} : { note }) } };
}

export function ignored(type: ValueType, because: string, ...fine: readonly string[]): KubeFlag {
  return { handling: { kind: "ignored", type, because, fine } };
}

export function rejected(type: ValueType, because: string, ...fine: readonly string[]): KubeFlag {
  return { handling: { kind: "rejected", type, because, fine } };
}

export function since(release: ReleaseName, flag: KubeFlag): KubeFlag {
  return { ...flag, since: release };
}
