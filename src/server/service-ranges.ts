/** The ranges from which the numbers of Services are allocated. */
import { asOption } from "../base/option-error.ts";
import { parseIpRanges, type IpRange } from "../cluster/allocation/ip-range.ts";
import type { NumberRange } from "../cluster/allocation/number-range.ts";
import { parsePortRange } from "../cluster/allocation/port-range.ts";
import type { ReleaseName } from "../objects/catalog/release.ts";
import { gatesOf } from "../objects/catalog/release-gates.ts";

export interface ServiceRangeOptions {
  /**
   * Subnet from which cluster IPs are allocated, or two of different IP families, separated by a comma; the first is the
   * default. Default "10.0.0.0/24".
   */
  readonly serviceClusterIpRange?: string;
  /** Port range from which node ports are allocated. Default "30000-32767". */
  readonly serviceNodePortRange?: string;
}

export interface ServiceRanges {
  /** One range, or two of different families; the first is the default. */
  readonly serviceClusterIpRanges: readonly [IpRange, ...IpRange[]];
  readonly serviceNodePortRange: NumberRange;
}

export function resolveServiceRanges(options: ServiceRangeOptions, release: ReleaseName): ServiceRanges {
  const { serviceClusterIpRange = "10.0.0.0/24", serviceNodePortRange = "30000-32767" } = options;
  return {
    serviceClusterIpRanges: asOption(() => parseIpRanges(serviceClusterIpRange, gatesOf(release))),
    serviceNodePortRange: asOption(() => parsePortRange(serviceNodePortRange)),
  };
}
