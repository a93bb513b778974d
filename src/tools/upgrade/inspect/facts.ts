/** Everything that the rules of the findings decide from. */
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import type { FindingSubject } from "../finding.ts";
import type { ClearValues } from "./collect/encrypted-values.ts";
import type { ResourceStat } from "./collect/resource-stats.ts";
import type { CustomDefinition } from "./custom-definitions.ts";
import type {
  ClientTally,
  EncryptionState,
  IdentityLeaseState,
  LargeObject,
  StorageVersionState,
  TerminatingNamespace,
  UnreadableValues,
} from "./inspection.ts";
import type { DetectedRelease } from "./releases/detect-release.ts";
import type { ReleaseView } from "./releases/release-views.ts";
import type { ByteStrings } from "./scan/byte-strings.ts";

export interface Facts {
  readonly prefix: string;
  readonly detected: DetectedRelease;
  /** Undefined if the release is unknown. */
  readonly from: ReleaseView | undefined;
  readonly hops: readonly ReleaseView[];
  readonly resources: readonly ResourceStat[];
  /** Of the apiVersions in `resources`. */
  readonly types: ByteStrings;
  readonly definitions: readonly CustomDefinition[];
  /** Whether all CRDs could be read, so that a custom resource without a CRD is certain. */
  readonly areDefinitionsComplete: boolean;
  /** API groups that other servers serve. */
  readonly aggregatedGroups: ReadonlySet<string>;
  readonly clients: readonly ClientTally[];
  readonly terminating: readonly TerminatingNamespace[];
  readonly missingNamespaces: {
    readonly count: number;
    readonly objects: number;
    readonly subjects: readonly FindingSubject[];
  };
  readonly missingOwners: {
    readonly owners: number;
    readonly dependents: number;
    readonly subjects: readonly FindingSubject[];
  };
  readonly unreadable: UnreadableValues;
  readonly encryption: EncryptionState;
  readonly clearValues: readonly ClearValues[];
  readonly leases: readonly IdentityLeaseState[];
  readonly storageVersions: readonly StorageVersionState[];
  readonly kubelets: readonly { readonly node: string; readonly version: string }[];
  readonly largest: readonly LargeObject[];
  /** Whether a Service such as "shop/converter" exists; undefined if that is not known. */
  readonly hasService: (name: string) => boolean | undefined;
}

/** The release before a hop: that of the previous hop, or the current one. */
export function releaseBefore({ from, hops }: Facts, hop: ReleaseView): ReleaseName | undefined {
  return hops[hops.indexOf(hop) - 1]?.release ?? from?.release;
}
